"""Indices of 64 bits and u32 are checked before they are cut to i32."""

import pytest

from shadesmith.transpiler.ir.statements import Cast
from shadesmith.transpiler.ir.types import i16, i32, i64, u32
from shadesmith.transpiler.passes.checks.bounds import bounds
from shadesmith.transpiler.passes.checks.check_wide_indices import check_wide_indices


def read_at(sketch, wide):
    """Read a at an index that was `wide` and is cut; return the index."""
    sketch.set_options(check_out_of_bound=True)
    index = sketch.cast(sketch.arg("n"), wide)
    sketch.read(sketch.a, sketch.add(Cast(index, type=i32)))
    return index


@pytest.mark.parametrize("wide", [i64, u32], ids=str)
def test_the_whole_value_is_checked(sketch, wide):
    index = read_at(sketch, wide)
    text = sketch.apply(check_wide_indices)
    (check,) = (s for s in sketch.result.body if type(s).__name__ == "IndexCheck")
    assert check.indices == [index] and text.index("check a") < text.index("global load")


def test_a_narrow_index_is_left_to_bounds(sketch):
    read_at(sketch, i16)
    assert "check" not in sketch.apply(check_wide_indices)
    assert "check a" in sketch.apply(bounds)


def test_bounds_leaves_wide_indices_alone(sketch):
    read_at(sketch, i64)
    assert sketch.apply(check_wide_indices, bounds).count("check a") == 1


def test_without_the_option_nothing_changes(sketch):
    read_at(sketch, i64)
    sketch.set_options()
    assert not check_wide_indices(sketch.kernel(), sketch.context)
