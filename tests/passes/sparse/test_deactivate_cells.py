import pytest

from shadesmith.transpiler.ir.sparse import Deactivate
from shadesmith.transpiler.ir.statements import RangeFor
from shadesmith.transpiler.passes.sparse.deactivate_cells import deactivate_cells


def deactivate(sketch, name, index):
    sketch.add(Deactivate(sketch.nodes[name], [index]))


def deactivate_all(sketch, name, extent):
    """Add a loop that deactivates each cell of a node."""
    loop = sketch.loop(extent)
    with sketch.into(loop.body):
        deactivate(sketch, name, sketch.index(loop))
    return loop


def tasks(sketch):
    """Return the purposes of the loops of the kernel."""
    sketch.text = sketch.apply(deactivate_cells)
    return [statement.purpose or "the user's" for statement in sketch.result.body if isinstance(statement, RangeFor)]


def test_a_bitmasked_cell_is_emptied_by_who_cleared_its_bit(sketch):
    sketch.field_below(("bitmasked", "bits", 8))
    deactivate_all(sketch, "bits", 8)
    assert tasks(sketch) == ["the user's"]
    lines = [line.strip() for line in sketch.text.splitlines()]
    made = next(k for k, line in enumerate(lines) if ": u1 = deactivate bits" in line)
    assert lines[made + 1].startswith("if $") and "ptr x" in lines[made + 2] and "global store" in lines[made + 4]


def test_all_cells_below_a_bitmasked_one_are_emptied(sketch):
    sketch.field_below(("bitmasked", "bits", 8), ("dense", "cells", 4), ("bitmasked", "inner", 2))
    deactivate_all(sketch, "bits", 8)
    assert tasks(sketch) == ["the user's"]
    assert sketch.text.index("deactivate bits") < sketch.text.index("deactivate inner") < sketch.text.index("ptr x")
    assert sketch.text.count("for i in") == 3


def test_cells_of_a_pool_are_collected_behind_the_loop(sketch):
    sketch.field_below(("pointer", "block", 8), ("dense", "cells", 4))
    deactivate_all(sketch, "block", 8)
    assert tasks(sketch) == ["the user's", "zeroes the freed cells of block", "releases the freed cells of block"]
    assert "ptr x" not in sketch.text and "field block_words: words[u32" in sketch.text
    counters = sketch.text.split("ptr block_taken")[1]
    assert counters.count("global store") == 3


def test_what_lies_in_freed_cells_is_deactivated_first(sketch):
    sketch.field_below(("pointer", "outer", 4), ("pointer", "inner", 4), ("dense", "cells", 4))
    deactivate_all(sketch, "outer", 4)
    assert tasks(sketch) == [
        "the user's",
        "deactivates cells of inner in freed cells of outer",
        "releases the freed cells of outer",
        "zeroes the freed cells of inner",
        "releases the freed cells of inner",
    ]
    assert "deactivate_entry inner" in sketch.text


@pytest.mark.parametrize(("kind", "words"), [("bitmasked", "inner_mask"), ("dynamic", "inner_lengths")])
def test_what_says_that_inner_cells_are_active_is_zeroed(sketch, kind, words):
    sketch.field_below(("pointer", "block", 4), (kind, "inner", 8))
    deactivate_all(sketch, "block", 4)
    assert tasks(sketch)[1] == f"zeroes {words} in freed cells of block"


def test_an_inner_pool_alone_is_collected_alone(sketch):
    sketch.field_below(("pointer", "outer", 4), ("pointer", "inner", 4))
    deactivate_all(sketch, "inner", 16)
    assert not any("outer" in purpose for purpose in tasks(sketch))


def test_each_loop_that_frees_is_followed_by_its_own_tasks(sketch):
    sketch.field_below(("pointer", "block", 8))
    deactivate_all(sketch, "block", 8)
    sketch.loop(8)
    deactivate_all(sketch, "block", 8)
    collected = ["zeroes the freed cells of block", "releases the freed cells of block"]
    assert tasks(sketch) == ["the user's", *collected, "the user's", "the user's", *collected]


def test_what_serial_statements_free_is_collected_before_the_next_loop(sketch):
    sketch.field_below(("pointer", "block", 8))
    deactivate(sketch, "block", sketch.const(3))
    sketch.loop(8)
    assert tasks(sketch) == ["zeroes the freed cells of block", "releases the freed cells of block", "the user's"]


def test_a_list_loses_its_chunks(sketch):
    sketch.field_below(("dense", "rows", 4), ("dynamic", "items", 16))
    deactivate_all(sketch, "items", 4)
    assert tasks(sketch)[1:] == ["zeroes the freed cells of items", "releases the freed cells of items"]


def test_a_kernel_that_deactivates_nothing_is_left_alone(sketch):
    x = sketch.field_below(("pointer", "block", 8))
    sketch.store(sketch.ptr(x, 0), sketch.arg("w"))
    assert not deactivate_cells(sketch.kernel(), sketch.context)
