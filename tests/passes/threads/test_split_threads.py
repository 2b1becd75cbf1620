"""Bodies are cut at barriers: into loops over the threads in C, under a condition in a last block that is not full."""

import pytest

from shadesmith.transpiler.ir.threads import Barrier, ThreadFor
from shadesmith.transpiler.passes import Stage
from shadesmith.transpiler.passes.tasks.offload import offload
from shadesmith.transpiler.passes.threads.check_threads import check_threads
from shadesmith.transpiler.passes.threads.split_threads import split_threads


def exchange(sketch, extent, target):
    """Store to the tile, wait, read from it; return the kinds of the body's statements after the pass."""
    sketch.set_options(target)
    loop = sketch.loop(extent)
    with sketch.into(loop.body):
        i = sketch.index(loop)
        place = sketch.op("mod", i, sketch.const(8))
        sketch.store(sketch.ptr(sketch.tile, place), sketch.read(sketch.a, place))
        sketch.add(Barrier("block"))
        sketch.store(sketch.ptr(sketch.a, place), sketch.read(sketch.tile, 0))
    sketch.text = sketch.apply(offload, check_threads, split_threads, stage=Stage.TASKS)
    (task,) = sketch.result.tasks
    kinds = [type(s).__name__ for s in task.body if isinstance(s, (Barrier, ThreadFor))]
    return task, kinds


def test_threads_in_turn_run_up_to_the_barrier_and_from_it(sketch):
    task, kinds = exchange(sketch, 128, "c")
    assert task.is_split and kinds == ["ThreadFor", "Barrier", "ThreadFor"]


def test_what_costs_little_is_computed_again_on_the_other_side(sketch):
    exchange(sketch, 128, "c")
    assert sketch.text.count(" mod ") == 2 and "per_thread" not in sketch.text


def test_what_costs_much_is_kept_one_a_thread(sketch):
    sketch.set_options("c")
    with sketch.into(sketch.loop(128).body):
        value = sketch.read(sketch.a, sketch.arg("n"))
        sketch.add(Barrier("block"))
        sketch.store(sketch.ptr(sketch.a, 0), value)
    sketch.apply(offload, check_threads, split_threads, stage=Stage.TASKS)
    kept = [s for s in sketch.result.tasks[0].body if type(s).__name__ == "Alloca"]
    assert [variable.per_thread for variable in kept] == [True]


@pytest.mark.parametrize(("extent", "is_split"), [(256, False), (200, True)])
def test_a_gpu_cuts_where_a_last_block_is_not_full(sketch, extent, is_split):
    task, kinds = exchange(sketch, extent, "vulkan")
    assert task.is_split == is_split and ("ThreadFor" in kinds) == is_split


def test_a_target_in_lockstep_cuts_nothing(sketch):
    task, kinds = exchange(sketch, 200, "python")
    assert not task.is_split and kinds == ["Barrier"]


def test_a_loop_around_a_barrier_runs_once_a_block(sketch):
    sketch.set_options("c")
    with sketch.into(sketch.loop(128).body):
        inner = sketch.loop(4)
        with sketch.into(inner.body):
            sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
            sketch.add(Barrier("block"))
    sketch.apply(offload, check_threads, split_threads, stage=Stage.TASKS)
    assert [type(s).__name__ for s in inner.body if isinstance(s, (Barrier, ThreadFor))] == ["ThreadFor", "Barrier"]
