import pytest

from shadesmith.transpiler.errors import TaichiSyntaxError
from shadesmith.transpiler.ir.nodes import Block
from shadesmith.transpiler.ir.statements import Break, Continue, If, Return, StructFor
from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.passes.cleanup.dead_code import dead_code
from shadesmith.transpiler.passes.cleanup.forward_stores import forward_stores
from shadesmith.transpiler.passes.lowering.lower import lower


def leave(sketch, *values):
    return sketch.add(Return(list(values)))


def test_return_at_the_end_stays(sketch):
    sketch.returns = [f32]
    leave(sketch, sketch.arg("w"))
    assert sketch.apply(lower).splitlines()[-1].strip() == "return $0"


def test_plain_return_at_the_end_goes(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    leave(sketch)
    assert "return" not in sketch.apply(lower)


def test_rest_after_a_returning_branch_becomes_its_else(sketch):
    sketch.returns = [f32]
    with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
        leave(sketch, sketch.const(1.0, f32))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    leave(sketch, sketch.const(2.0, f32))
    text = sketch.apply(lower, forward_stores, dead_code)
    assert "} else {" in text and "returned" not in text and text.count("return $") == 1
    assert text.index("else") < text.index("global store")


def test_return_in_a_serial_loop_sets_a_flag_and_breaks(sketch):
    sketch.returns = [f32]
    outer = sketch.loop(4, serialize=True)
    with sketch.into(outer.body):
        with sketch.into(sketch.loop(4).body):
            with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
                leave(sketch, sketch.const(1.0, f32))
    leave(sketch, sketch.const(2.0, f32))
    text = sketch.apply(lower)
    assert text.count("break") == 2 and "returned: u1 = alloca" in text and "logical_not" in text


def test_return_in_a_parallel_loop_ends_the_iteration(sketch):
    with sketch.into(sketch.loop(4).body):
        with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
            leave(sketch)
        sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    text = sketch.apply(lower)
    assert "continue" in text and "returned" not in text


def test_return_in_a_loop_within_a_parallel_loop_leaves_both(sketch):
    with sketch.into(sketch.loop(4).body):
        with sketch.into(sketch.loop(4).body):
            leave(sketch)
        sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    text = sketch.apply(lower)
    assert "break" in text and "continue" in text and "returned: u1 = alloca" in text


def test_value_from_a_parallel_loop_is_refused(sketch):
    sketch.returns = [f32]
    with sketch.into(sketch.loop(4).body):
        leave(sketch, sketch.arg("w"))
    with pytest.raises(TaichiSyntaxError, match="parallel loop"):
        sketch.apply(lower)


def test_loop_after_an_early_return_stays_parallel(sketch):
    with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
        leave(sketch)
    with sketch.into(sketch.loop(sketch.arg("n")).body):
        sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    text = sketch.apply(lower)
    assert "\n  $" in text and "select" in text
    assert any(line.startswith("  $") and " = for " in line for line in text.splitlines())


def test_break_out_of_two_axes_makes_a_nest(sketch):
    loop = sketch.loop(4, 5, serialize=True)
    with sketch.into(loop.body):
        j = sketch.index(loop, 1)
        with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
            sketch.add(Break())
        sketch.store(sketch.ptr(sketch.a, j), sketch.arg("w"))
    text = sketch.apply(lower)
    assert text.count(" = for ") == 2 and text.count("break") == 2 and "left: u1 = alloca" in text


def test_continue_in_two_axes_makes_no_nest(sketch):
    with sketch.into(sketch.loop(4, 5, serialize=True).body):
        sketch.add(Continue())
    assert sketch.apply(lower).count(" = for ") == 1


def test_break_out_of_a_loop_over_an_array_makes_range_loops(sketch):
    with sketch.into(sketch.add(StructFor(sketch.m, ["i", "j"], serialize=True)).body):
        sketch.add(Break())
    assert "shape m 1" in sketch.apply(lower)


def test_update_of_an_outer_variable_in_a_parallel_loop_becomes_atomic(sketch):
    total = sketch.var("total", sketch.const(0.0, f32))
    with sketch.into(sketch.loop(4).body):
        sketch.store(total, sketch.op("add", sketch.load(total), sketch.arg("d")))
    assert "atomic add" in sketch.apply(lower)


def test_update_in_a_serial_loop_stays_plain(sketch):
    total = sketch.var("total", sketch.const(0.0, f32))
    with sketch.into(sketch.loop(4, serialize=True).body):
        sketch.store(total, sketch.op("add", sketch.load(total), sketch.arg("w")))
    assert "atomic" not in sketch.apply(lower)


def test_nothing_follows_a_return_in_both_branches(sketch):
    branch = sketch.add(If(sketch.arg("flag"), Block(), Block()))
    for block in (branch.then, branch.otherwise):
        with sketch.into(block):
            leave(sketch)
    sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    assert "global store" not in sketch.apply(lower)
