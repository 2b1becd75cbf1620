import pytest

from shadesmith.transpiler.ir.nodes import Block
from shadesmith.transpiler.ir.statements import Break, If
from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.passes.loops.hoist_loads import hoist_loads


def static_loop(sketch):
    loop = sketch.loop(3)
    loop.unroll = True
    return loop


def order(text: str, *parts: str) -> bool:
    found = [text.find(part) for part in parts]
    return -1 not in found and found == sorted(found)


def test_load_that_no_iteration_changes_moves_before_the_loop(sketch):
    loop = static_loop(sketch)
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(sketch.b, sketch.index(loop)), sketch.read(sketch.a, 2))
    assert order(sketch.apply(hoist_loads), "global load", "for ")


def test_load_of_a_stored_array_stays(sketch):
    loop = static_loop(sketch)
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(sketch.a, sketch.index(loop)), sketch.read(sketch.a, 2))
    assert order(sketch.apply(hoist_loads), "for ", "global load")


def test_load_of_an_array_that_may_alias_a_stored_one_stays(sketch):
    loop = static_loop(sketch)
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(sketch.p, sketch.index(loop)), sketch.read(sketch.q, 2))
    assert order(sketch.apply(hoist_loads), "for ", "global load")


def test_load_at_the_index_of_the_loop_stays(sketch):
    loop = static_loop(sketch)
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(sketch.b, 0), sketch.load(sketch.ptr(sketch.a, sketch.index(loop))))
    assert order(sketch.apply(hoist_loads), "for ", "global load")


def test_load_in_a_branch_and_in_a_loop_with_break_stays(sketch):
    for with_break in (False, True):
        loop = static_loop(sketch)
        with sketch.into(loop.body):
            branch = sketch.add(If(sketch.arg("flag"), Block()))
            with sketch.into(branch.then):
                sketch.add(Break()) if with_break else sketch.store(sketch.ptr(sketch.b, 0), sketch.read(sketch.a, 2))
            if with_break:
                sketch.store(sketch.ptr(sketch.b, 0), sketch.read(sketch.a, 2))
    assert order(sketch.apply(hoist_loads), "for ", "global load")


def test_run_time_loops_are_left_alone(sketch):
    loop = sketch.loop(3)
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(sketch.b, sketch.index(loop)), sketch.read(sketch.a, 2))
    assert order(sketch.apply(hoist_loads), "for ", "global load")


@pytest.mark.parametrize(("of_index", "parts"), [(False, ("mod ", "for ")), (True, ("for ", "mod "))])
def test_remainder_that_is_the_same_in_all_iterations_moves_before_the_loop(sketch, of_index, parts):
    loop = static_loop(sketch)
    with sketch.into(loop.body):
        i = sketch.index(loop)
        remainder = sketch.op("mod", i if of_index else sketch.arg("n"), sketch.const(9))
        with sketch.into(sketch.add(If(sketch.op("eq", i, remainder), Block())).then):
            sketch.store(sketch.ptr(sketch.b, i), sketch.const(1.0, f32))
    assert order(sketch.apply(hoist_loads), *parts)
