"""Each access has a check of its indices before it, unless they cannot be wrong."""

import pytest

from shadesmith.transpiler.ir.statements import Array, If, StructFor
from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.passes.checks.bounds import bounds


@pytest.fixture
def checked(sketch):
    sketch.set_options(check_out_of_bound=True)
    return sketch


def checks(sketch):
    """The checks in the kernel after the pass, as text without numbers of values."""
    return [line.strip() for line in sketch.apply(bounds).splitlines() if line.strip().startswith("check")]


def test_without_the_option_nothing_changes(sketch):
    sketch.read(sketch.a, sketch.arg("n"))
    assert not bounds(sketch.kernel(), sketch.context)


def test_the_check_stands_before_the_access(checked):
    checked.store(checked.ptr(checked.a, checked.arg("n")), checked.arg("w"))
    text = checked.apply(bounds)
    assert text.index("ptr a") < text.index("check a") < text.index("global store")


def test_a_pointer_that_nothing_uses_is_not_checked(checked):
    checked.ptr(checked.a, checked.arg("n"))
    assert checks(checked) == []


def test_an_extent_of_a_launch_is_asked_of_the_array(checked):
    checked.read(checked.p, checked.arg("n"))
    text = checked.apply(bounds)
    assert "shape p 0" in text and "check p" in text


@pytest.mark.parametrize(("index", "count"), [(0, 0), (7, 0), (8, 1), (-1, 1)])
def test_a_constant_is_checked_where_it_lies_outside(checked, index, count):
    checked.read(checked.a, index)
    assert len(checks(checked)) == count


def test_indices_of_a_loop_over_the_array_are_safe(checked):
    loop = checked.add(StructFor(checked.p, ["i"]))
    with checked.into(loop.body):
        checked.read(checked.p, checked.index(loop))
        checked.read(checked.q, checked.index(loop))
    assert len(checks(checked)) == 1, "that of q, which may be shorter"


@pytest.mark.parametrize(("extent", "count"), [(8, 0), (9, 1)])
def test_a_range_within_the_extent_is_safe(checked, extent, count):
    loop = checked.loop(extent)
    with checked.into(loop.body):
        checked.read(checked.a, checked.index(loop))
    assert len(checks(checked)) == count


def test_the_same_index_is_checked_once_in_a_block_and_those_inside(checked):
    n = checked.arg("n")
    checked.read(checked.a, n)
    with checked.into(checked.add(If(checked.arg("flag"))).then):
        checked.read(checked.a, n)
    checked.read(checked.b, n)
    assert len(checks(checked)) == 1, "b has the same extent"


def test_a_check_in_a_branch_says_nothing_behind_it(checked):
    n = checked.arg("n")
    with checked.into(checked.add(If(checked.arg("flag"))).then):
        checked.read(checked.a, n)
    checked.read(checked.a, n)
    assert len(checks(checked)) == 2


def test_elements_of_vectors_are_checked_after_the_array(checked):
    pointer = checked.element_ptr(checked.ptr(checked.v, checked.arg("n")), [checked.arg("n")])
    checked.load(pointer)
    assert [line.split(" ")[1] for line in checks(checked)] == ["v", "v"]
    kinds = [s.message for s in checked.result.body if type(s).__name__ == "IndexCheck"]
    assert "Accessing field (v)" in kinds[0] and "vector of shape" in kinds[1]


def test_an_offset_moves_the_extent(checked):
    array = Array("o", f32, 1, 6, (8,), offset=(-4,))
    checked.placed.append(array)
    checked.read(array, -4)
    checked.read(array, 4)
    assert len(checks(checked)) == 1
