"""Barriers must be reached by all threads of a block; shared arrays must have room."""

import pytest

from shadesmith.transpiler.errors import TaichiSyntaxError, UnsupportedError
from shadesmith.transpiler.ir.statements import Continue, If
from shadesmith.transpiler.ir.threads import Barrier, Collective
from shadesmith.transpiler.ir.types import i32
from shadesmith.transpiler.passes import Stage
from shadesmith.transpiler.passes.tasks.offload import offload
from shadesmith.transpiler.passes.threads.check_threads import check_threads


def is_low(sketch, loop):
    """A condition about which threads disagree."""
    return sketch.op("lt", sketch.index(loop), sketch.const(3))


def barriers(sketch):
    sketch.text = sketch.apply(offload, check_threads, stage=Stage.TASKS)
    return [s for task in sketch.result.tasks for s in task.body if isinstance(s, (Barrier, Collective))]


def test_a_loop_with_a_barrier_cooperates(sketch):
    with sketch.into(sketch.loop(128).body):
        sketch.add(Barrier("block"))
    with sketch.into(sketch.loop(128).body):
        sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    (barrier,) = barriers(sketch)
    assert barrier.converged and [task.synchronizes for task in sketch.result.tasks] == [True, False]


def test_a_barrier_under_a_condition_that_differs_is_refused(sketch):
    loop = sketch.loop(128)
    with sketch.into(loop.body), sketch.into(sketch.add(If(is_low(sketch, loop))).then):
        sketch.add(Barrier("block"))
    with pytest.raises(TaichiSyntaxError, match="Barrier in divergent control flow: threads may diverge at the `if`"):
        barriers(sketch)


def test_a_barrier_under_an_argument_is_taken(sketch):
    with sketch.into(sketch.loop(128).body), sketch.into(sketch.add(If(sketch.arg("flag"))).then):
        barrier = sketch.add(Barrier("block"))
    barriers(sketch)
    assert barrier.converged


def test_a_barrier_behind_an_end_of_some_threads_is_refused(sketch):
    loop = sketch.loop(128)
    with sketch.into(loop.body):
        with sketch.into(sketch.add(If(is_low(sketch, loop))).then):
            sketch.add(Continue())
        sketch.add(Barrier("block"))
    with pytest.raises(TaichiSyntaxError, match="some threads may have ended"):
        barriers(sketch)


def test_a_question_where_threads_parted_is_not_converged(sketch):
    sketch.set_options("cuda")
    loop = sketch.loop(128)
    with sketch.into(loop.body), sketch.into(sketch.add(If(is_low(sketch, loop))).then):
        question = sketch.add(Collective("any", [sketch.arg("flag")], type=i32))
    barriers(sketch)
    assert not question.converged


def test_threads_in_turn_cannot_ask_a_subgroup_in_a_loop_that_ends_at_other_times(sketch):
    loop = sketch.loop(128)
    with sketch.into(loop.body), sketch.into(sketch.loop(sketch.index(loop)).body):
        sketch.add(Collective("any", [sketch.arg("flag")], type=i32))
    with pytest.raises(UnsupportedError, match="Threads of a subgroup cannot synchronize here on this target"):
        barriers(sketch)


def test_shared_arrays_that_nothing_reads_are_not_stored(sketch):
    with sketch.into(sketch.loop(128).body):
        sketch.store(sketch.ptr(sketch.tile, 0), sketch.arg("w"))
        sketch.add(Barrier("block"))
    barriers(sketch)
    assert "global store" not in sketch.text


def test_shared_arrays_larger_than_a_block_has_are_refused(sketch):
    sketch.set_options(capabilities={"max_shared_bytes": 16})
    with sketch.into(sketch.loop(128).body):
        sketch.store(sketch.ptr(sketch.tile, 0), sketch.read(sketch.tile, 1))
    with pytest.raises(UnsupportedError, match=r"take 32 bytes \(`tile` 32\); a block of this device has 16"):
        barriers(sketch)
