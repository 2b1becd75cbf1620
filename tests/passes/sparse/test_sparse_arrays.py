import pytest

from shadesmith.transpiler.ir.sparse import Activate, Append, IsActive, Length
from shadesmith.transpiler.ir.types import i32, u1, u32
from shadesmith.transpiler.passes.sparse.sparse_arrays import sparse_arrays


def added(sketch):
    """Return the names of the arrays that the pass adds."""
    kernel = sketch.kernel()
    before = len(kernel.arrays)
    assert sparse_arrays(kernel, sketch.context) == (len(kernel.arrays) > before)
    names = [array.name for array in kernel.arrays[before:]]
    assert [array.binding for array in kernel.arrays] == list(range(len(kernel.arrays)))
    assert not sparse_arrays(kernel, sketch.context), "once"
    return names


def ask(sketch, name, *indices):
    sketch.add(IsActive(sketch.nodes[name], [sketch.const(i) for i in indices], type=u1))


POOL = ["taken", "freed", "full", "cells"]


def test_a_question_needs_numbers_alone(sketch):
    sketch.field_below(("pointer", "block", 8), ("dense", "cells", 4))
    ask(sketch, "block", 3)
    assert added(sketch) == ["block_numbers"]


def test_reading_an_element_needs_the_numbers_of_all_pools_above(sketch):
    x = sketch.field_below(("pointer", "outer", 4), ("dense", "middle", 2), ("pointer", "inner", 2))
    sketch.read(x, 3)
    assert added(sketch) == ["outer_numbers", "inner_numbers"]


def test_activating_needs_the_pool(sketch):
    sketch.field_below(("pointer", "block", 8))
    sketch.add(Activate(sketch.nodes["block"], [sketch.const(1)], type=u32))
    assert added(sketch) == ["block_numbers", *(f"block_{role}" for role in POOL)]


def test_bits_need_their_mask(sketch):
    sketch.field_below(("bitmasked", "bits", 8))
    ask(sketch, "bits", 1)
    assert added(sketch) == ["bits_mask"]


@pytest.mark.parametrize(("appends", "wanted"), [(False, []), (True, POOL)])
def test_lists_need_their_lengths_and_a_pool_where_they_grow(sketch, appends, wanted):
    sketch.field_below(("dynamic", "items", 16))
    sketch.add((Append if appends else Length)(sketch.nodes["items"], [], type=i32))
    assert added(sketch) == ["items_lengths", *(f"items_{role}" for role in wanted)]


def test_a_kernel_without_sparse_trees_needs_nothing(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    assert added(sketch) == []


def test_a_dense_tree_needs_nothing(sketch):
    x = sketch.field_below(("dense", "blocks", 4), ("dense", "cells", 4))
    sketch.store(sketch.ptr(x, 0), sketch.arg("w"))
    assert added(sketch) == []
