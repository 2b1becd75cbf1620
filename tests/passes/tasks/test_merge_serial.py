from shadesmith.transpiler.ir.statements import Print, Rand
from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.passes import Stage
from shadesmith.transpiler.passes.tasks.merge_serial import merge_serial
from shadesmith.transpiler.passes.tasks.offload import offload


def tasks(sketch):
    sketch.apply(offload, merge_serial, stage=Stage.TASKS)
    return [task.kind.value for task in sketch.result.tasks]


def store(sketch, array, value=1.0):
    sketch.store(sketch.ptr(array, 0), sketch.const(value, f32))


def loop_over(sketch, array, read=None):
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        value = sketch.arg("w") if read is None else sketch.read(read, 0)
        sketch.store(sketch.ptr(array, sketch.index(loop)), value)


def test_a_store_moves_before_a_loop_that_does_not_see_it(sketch):
    store(sketch, sketch.b)
    loop_over(sketch, sketch.a)
    store(sketch, sketch.b, 2.0)
    assert tasks(sketch) == ["serial", "range_for"]
    assert [task.name for task in sketch.result.tasks] == ["k_0", "k_1"]


def test_it_moves_behind_a_loop_if_what_is_there_may_not_move_before_it(sketch):
    store(sketch, sketch.b)
    loop_over(sketch, sketch.a)
    sketch.store(sketch.ptr(sketch.p, 0), sketch.read(sketch.a, 3))
    assert tasks(sketch) == ["range_for", "serial"]


def test_what_the_loop_reads_or_writes_stays(sketch):
    store(sketch, sketch.b)
    loop_over(sketch, sketch.a, read=sketch.b)
    store(sketch, sketch.b, 2.0)
    loop_over(sketch, sketch.a, read=sketch.b)
    store(sketch, sketch.a, 2.0)
    assert tasks(sketch) == ["serial", "range_for", "serial", "range_for", "serial"]


def test_ndarrays_may_be_the_same_memory(sketch):
    store(sketch, sketch.p)
    loop_over(sketch, sketch.q)
    store(sketch, sketch.p, 2.0)
    assert tasks(sketch) == ["serial", "range_for", "serial"]


def test_output_stays(sketch):
    sketch.add(Print([], ["begin"]))
    loop_over(sketch, sketch.a)
    sketch.add(Print([], ["end"]))
    assert tasks(sketch) == ["serial", "range_for", "serial"]


def test_numbers_of_tasks_matter_to_random_numbers(sketch):
    store(sketch, sketch.b)
    loop_over(sketch, sketch.a)
    sketch.store(sketch.ptr(sketch.b, 0), sketch.add(Rand(type=f32)))
    assert tasks(sketch) == ["serial", "range_for", "serial"]
