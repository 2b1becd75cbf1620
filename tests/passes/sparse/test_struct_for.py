"""Loops over arrays become loops over ranges; those over sparse trees are in test_active_cells.py."""

from shadesmith.transpiler.ir.statements import Array, RangeFor, StructFor
from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.passes.sparse.struct_for import struct_for


def lowered(sketch, array, names=("i",), **options):
    """Lower a loop over an array that stores its last index; return the new loop."""
    loop = sketch.add(StructFor(array, list(names), **options))
    with sketch.into(loop.body):
        last = sketch.index(loop, max(0, array.ndim - 1))
        sketch.store(sketch.ptr(sketch.a, last), sketch.arg("w"))
    sketch.text = sketch.apply(struct_for)
    (new,) = (s for s in sketch.result.body if isinstance(s, RangeFor))
    assert new.over is array
    return new


def test_extents_of_a_field_are_constants(sketch):
    loop = lowered(sketch, sketch.a)
    assert [begin.value for begin in loop.starts] == [0] and [end.value for end in loop.ends] == [8]


def test_extents_of_an_ndarray_come_with_the_launch(sketch):
    loop = lowered(sketch, sketch.m, ["i", "j"])
    assert [(end.array, end.axis) for end in loop.ends] == [(sketch.m, 0), (sketch.m, 1)]


def test_an_offset_moves_the_range(sketch):
    array = Array("o", f32, 1, 6, (8,), offset=(-4,))
    sketch.placed.append(array)
    loop = lowered(sketch, array)
    assert (loop.starts[0].value, loop.ends[0].value) == (-4, 4)


def test_a_field_without_axes_has_one_iteration(sketch):
    array = Array("o", f32, 0, 6, ())
    sketch.placed.append(array)
    loop = lowered(sketch, array)
    assert [end.value for end in loop.ends] == [1]


def test_what_the_user_asked_of_the_loop_stays(sketch):
    loop = lowered(sketch, sketch.a, block_dim=64, serialize=True)
    assert loop.block_dim == 64 and loop.serialize


def test_the_body_and_its_indices_belong_to_the_new_loop(sketch):
    loop = lowered(sketch, sketch.a)
    (index,) = (s for s in loop.body if type(s).__name__ == "LoopIndex")
    assert index.loop is loop and "global store" in sketch.text


def test_nothing_changes_without_such_a_loop(sketch):
    sketch.loop(4)
    assert not struct_for(sketch.kernel(), sketch.context)
