from shadesmith.transpiler.ir.nodes import Block
from shadesmith.transpiler.ir.statements import Const, If, IfExp, Rand
from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.passes.cleanup.dead_code import dead_code


def test_chain_of_unused_values_goes_in_one_walk(sketch):
    sketch.op("mul", sketch.op("add", sketch.arg("w"), sketch.arg("w")), sketch.read(sketch.a, 0))
    sketch.apply(dead_code)
    assert sketch.body.statements == []


def test_random_numbers_and_atomics_stay(sketch):
    sketch.add(Rand(type=f32))
    sketch.atomic("add", sketch.ptr(sketch.a, 0), sketch.const(1.0, f32))
    text = sketch.apply(dead_code)
    assert "random" in text and "atomic add" in text


def test_empty_branches_and_loops_go(sketch):
    with sketch.into(sketch.loop(4).body):
        branch = sketch.add(If(sketch.arg("flag"), Block(), Block()))
        with sketch.into(branch.otherwise):
            sketch.read(sketch.a, 0)
    sketch.apply(dead_code)
    assert sketch.body.statements == []


def test_branch_with_an_effect_keeps_only_that_branch(sketch):
    branch = sketch.add(If(sketch.arg("flag"), Block(), Block()))
    with sketch.into(branch.then):
        sketch.store(sketch.ptr(sketch.a, 0), sketch.const(1.0, f32))
    assert "else" not in sketch.apply(dead_code)


def test_unused_conditional_goes_unless_a_branch_has_an_effect(sketch):
    one = Const(1.0, type=f32)
    sketch.add(IfExp(sketch.arg("flag"), Block([one], one), Block([two := Const(2.0, type=f32)], two), type=f32))
    number = Rand(type=f32)
    sketch.add(IfExp(sketch.arg("flag"), Block([number], number), Block([x := Const(2.0, type=f32)], x), type=f32))
    assert sketch.apply(dead_code).count("yield") == 2
