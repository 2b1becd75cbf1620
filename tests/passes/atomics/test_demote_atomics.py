import pytest

from shadesmith.transpiler.ir.nodes import Block
from shadesmith.transpiler.ir.statements import If
from shadesmith.transpiler.ir.types import Tensor, f32
from shadesmith.transpiler.passes import Stage
from shadesmith.transpiler.passes.atomics.demote_atomics import demote_atomics
from shadesmith.transpiler.passes.tasks.offload import offload


def after(sketch):
    return sketch.apply(offload, demote_atomics, stage=Stage.TASKS)


def one(sketch):
    return sketch.const(1.0, f32)


def test_update_of_the_cell_of_the_iteration_is_plain(sketch):
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        sketch.atomic("add", sketch.ptr(sketch.a, sketch.index(loop)), one(sketch))
    text = after(sketch)
    assert "atomic" not in text and "add" in text and "global store" in text


def test_second_update_by_the_same_iteration_is_plain(sketch):
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        for _ in range(2):
            sketch.atomic("add", sketch.ptr(sketch.a, sketch.index(loop)), one(sketch))
    assert "atomic" not in after(sketch)


def test_update_of_one_cell_by_all_stays_atomic(sketch):
    with sketch.into(sketch.loop(8).body):
        sketch.atomic("add", sketch.ptr(sketch.a, 0), one(sketch))
    assert "atomic" in after(sketch)


def test_old_value_is_the_result(sketch):
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        i = sketch.index(loop)
        old = sketch.atomic("add", sketch.ptr(sketch.a, i), one(sketch))
        old.name = "old"
        sketch.store(sketch.ptr(sketch.b, i), old)
    text = after(sketch)
    name = next(line.split()[0] for line in text.splitlines() if "old: f32 = global load" in line)
    assert text.rstrip(" }\n").endswith(name)


def test_reading_neighbours_does_not_matter_and_writing_them_does(sketch):
    def update(write):
        loop = sketch.loop(8)
        with sketch.into(loop.body):
            i = sketch.index(loop)
            next_cell = sketch.ptr(sketch.a, sketch.op("add", i, sketch.const(1)))
            sketch.atomic("add", sketch.ptr(sketch.a, i), sketch.load(next_cell))
            if write:
                sketch.store(next_cell, one(sketch))

    update(False)
    update(True)
    first, second = after(sketch).split("task k_1")
    assert "atomic" not in first and "atomic" in second


@pytest.mark.parametrize(("axes", "plain"), [((0, 1), True), ((1, 0), True), ((0, 0), False)])
def test_all_indices_of_the_loop_must_appear(sketch, axes, plain):
    loop = sketch.loop(4, 4)
    with sketch.into(loop.body):
        indices = [sketch.index(loop, axis) for axis in axes]
        sketch.atomic("add", sketch.ptr(sketch.m, *indices), one(sketch))
    assert ("atomic" not in after(sketch)) is plain


def test_row_of_the_iteration_is_its_own(sketch):
    loop = sketch.loop(4)
    with sketch.into(loop.body):
        i = sketch.index(loop)
        inner = sketch.loop(4)
        with sketch.into(inner.body):
            sketch.atomic("add", sketch.ptr(sketch.m, i, sketch.index(inner)), one(sketch))
    assert "atomic" not in after(sketch)


def test_index_of_an_inner_loop_alone_is_shared(sketch):
    with sketch.into(sketch.loop(4).body):
        inner = sketch.loop(4)
        with sketch.into(inner.body):
            sketch.atomic("add", sketch.ptr(sketch.a, sketch.index(inner)), one(sketch))
    assert "atomic" in after(sketch)


def test_arrays_that_may_be_one_count_together_only_if_both_are_written(sketch):
    """Of parts that overlap, an iteration would load or store what another one changes, unless all is atomic."""
    for case in ("read", "stored", "stored elsewhere", "added to"):
        loop = sketch.loop(8)
        with sketch.into(loop.body):
            i = sketch.index(loop)
            value = sketch.read(sketch.q, i) if case != "added to" else one(sketch)
            sketch.atomic("add", sketch.ptr(sketch.p, i), value)
            if case == "added to":
                sketch.atomic("add", sketch.ptr(sketch.q, i), one(sketch))
            elif case != "read":
                place = i if case == "stored" else sketch.op("add", i, sketch.const(1))
                sketch.store(sketch.ptr(sketch.q, place), one(sketch))
    tasks = after(sketch).split("task k_")
    assert ["atomic" in task for task in tasks[-4:]] == [False, False, True, True]


def test_serial_task_needs_no_atomics(sketch):
    sketch.atomic("add", sketch.ptr(sketch.a, 0), one(sketch))
    assert "atomic" not in after(sketch)


@pytest.mark.parametrize(("iterations", "is_loaded", "plain"), [(1, True, True), (1, False, False), (2, True, False)])
def test_loop_of_one_iteration_adds_plainly_to_what_it_loads(sketch, iterations, is_loaded, plain):
    with sketch.into(sketch.loop(iterations).body):
        inner = sketch.loop(4)
        with sketch.into(inner.body):
            i = sketch.index(inner)
            value = sketch.read(sketch.a if is_loaded else sketch.b, i)
            sketch.atomic("add", sketch.ptr(sketch.a, sketch.op("add", i, sketch.const(1))), value)
    assert ("atomic" not in after(sketch)) is plain


def test_variable_of_the_iteration_is_plain_before_offload(sketch):
    with sketch.into(sketch.loop(8).body):
        sketch.atomic("max", sketch.var("x", one(sketch)), sketch.arg("w"))
    assert "max $" in sketch.apply(demote_atomics)


def test_variable_shared_by_iterations_stays_atomic(sketch):
    x = sketch.var("x", one(sketch))
    with sketch.into(sketch.loop(8).body):
        with sketch.into(sketch.add(If(sketch.arg("flag"), Block())).then):
            sketch.atomic("max", x, sketch.arg("w"))
    assert "atomic max" in sketch.apply(demote_atomics)
    assert "atomic max" in after(sketch)


def test_tensors_stay_whole(sketch):
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        sketch.atomic("add", sketch.ptr(sketch.v, sketch.index(loop)), one(sketch))
    assert isinstance(sketch.v.element, Tensor) and "f32[3] = add" in after(sketch)
