from shadesmith.transpiler.ir.statements import ArrayShape, If, Return
from shadesmith.transpiler.ir.types import f32, i32
from shadesmith.transpiler.passes import Stage
from shadesmith.transpiler.passes.atomics.demote_atomics import demote_atomics
from shadesmith.transpiler.passes.tasks.offload import offload


def tasks(sketch, *steps):
    text = sketch.apply(offload, *steps, stage=Stage.TASKS)
    return text, [(task.name, task.kind.value) for task in sketch.result.tasks]


def fill(sketch, loop):
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(sketch.a, sketch.index(loop)), sketch.arg("w"))


def test_each_top_level_loop_is_a_task(sketch):
    fill(sketch, sketch.loop(8))
    fill(sketch, sketch.loop(8))
    assert tasks(sketch)[1] == [("k_0", "range_for"), ("k_1", "range_for")]


def test_single_task_has_the_name_of_the_kernel(sketch):
    fill(sketch, sketch.loop(8))
    assert tasks(sketch)[1] == [("k", "range_for")]


def test_bound_from_arguments_and_shapes_costs_no_task(sketch):
    n = sketch.op("mul", sketch.arg("n"), sketch.add(ArrayShape(sketch.m, 0, type=i32)))
    fill(sketch, sketch.loop(n))
    text, names = tasks(sketch)
    assert names == [("k", "range_for")] and "temporary" not in text and "shape m 0" in text


def test_bound_from_memory_is_a_temporary_of_a_serial_task(sketch):
    end = sketch.cast(sketch.read(sketch.a, 0), i32)
    end.name = "end"
    fill(sketch, sketch.loop(end))
    text, names = tasks(sketch)
    assert names == [("k_0", "serial"), ("k_1", "range_for")] and "temporary end: i32" in text


def test_uniform_value_is_copied_into_each_task_under_its_name(sketch):
    scale = sketch.op("mul", sketch.arg("w"), sketch.const(2.0, f32))
    scale.name = "scale"
    for _ in range(2):
        loop = sketch.loop(8)
        with sketch.into(loop.body):
            sketch.store(sketch.ptr(sketch.a, sketch.index(loop)), scale)
    text, names = tasks(sketch)
    assert text.count("scale: f32 = mul") == 2 and len(names) == 2 and "temporary" not in text


def test_variable_across_tasks_is_a_temporary_of_its_name(sketch):
    sketch.returns = [f32]
    total = sketch.var("total", sketch.const(0.0, f32))
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        sketch.atomic("add", total, sketch.read(sketch.a, sketch.index(loop)))
    sketch.add(Return([sketch.load(total)]))
    text, names = tasks(sketch, demote_atomics)
    assert [kind for _, kind in names] == ["serial", "range_for", "serial"]
    assert "temporary total: f32" in text and "alloca" not in text and "atomic add" in text


def test_variable_that_is_read_before_a_store_is_zeroed(sketch):
    total = sketch.var("total", type=i32)
    with sketch.into(sketch.loop(8).body):
        sketch.atomic("add", total, sketch.const(1))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(total))
    text, _ = tasks(sketch)
    assert text.index("const 0") < text.index("global store") < text.index("range_for")


def test_pointers_are_copied_not_stored(sketch):
    pointer = sketch.ptr(sketch.a, sketch.cast(sketch.read(sketch.b, 0), i32))
    with sketch.into(sketch.loop(8).body):
        sketch.atomic("add", pointer, sketch.const(1.0, f32))
    text, names = tasks(sketch)
    assert len(names) == 2 and text.count("ptr a") == 2 - 1 + text.split("task k_1")[0].count("ptr a")
    assert "temporary value: i32" in text


def test_serial_loop_and_neighbours_are_one_task(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    fill(sketch, sketch.loop(8, serialize=True))
    sketch.store(sketch.ptr(sketch.a, 1), sketch.arg("w"))
    assert tasks(sketch)[1] == [("k", "serial")]


def test_loop_inside_a_branch_is_serial(sketch):
    with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
        fill(sketch, sketch.loop(8))
    assert tasks(sketch)[1] == [("k", "serial")]


def test_serial_statements_without_outcome_make_no_task(sketch):
    sketch.read(sketch.a, 0)
    fill(sketch, sketch.loop(8))
    sketch.var("x", sketch.arg("w"))
    assert tasks(sketch)[1] == [("k", "range_for")]


def test_block_size_comes_from_the_loop_then_the_options_within_the_device(sketch):
    fill(sketch, sketch.loop(8, block_dim=64))
    fill(sketch, sketch.loop(8))
    fill(sketch, sketch.loop(8, block_dim=4096))
    tasks(sketch)
    assert [task.block_dim for task in sketch.result.tasks] == [64, 128, 1024]


def test_names_of_temporaries_are_distinct(sketch):
    values = []
    for place in range(2):
        value = sketch.op("mul", sketch.read(sketch.b, place), sketch.arg("w"))
        value.name = "x"
        values.append(value)
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(sketch.a, sketch.index(loop)), sketch.op("add", *values))
    text, _ = tasks(sketch)
    assert "temporary x: f32" in text and "temporary x_1: f32" in text


def test_kernel_without_outcome_has_no_task(sketch):
    sketch.var("x", sketch.arg("w"))
    assert tasks(sketch)[1] == []
