from shadesmith.transpiler.ir.nodes import Block
from shadesmith.transpiler.ir.statements import Break, If, While
from shadesmith.transpiler.ir.types import Tensor, f32, i32
from shadesmith.transpiler.passes.cleanup.dead_code import dead_code
from shadesmith.transpiler.passes.cleanup.forward_stores import forward_stores

PASSES = (forward_stores, dead_code)


def test_variable_assigned_once_becomes_a_value_of_its_name(sketch):
    x = sketch.var("x", sketch.op("mul", sketch.arg("w"), sketch.arg("w")))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(x))
    text = sketch.apply(*PASSES)
    assert "x: f32 = mul" in text and "alloca" not in text and "load" not in text


def test_last_store_of_a_straight_line_takes_the_name(sketch):
    x = sketch.var("x", sketch.op("mul", sketch.arg("w"), sketch.arg("w")))
    sketch.store(x, sketch.op("add", sketch.load(x), sketch.arg("w")))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(x))
    text = sketch.apply(*PASSES)
    assert "x: f32 = add" in text and "x: f32 = mul" not in text and "alloca" not in text


def test_variable_changed_in_a_loop_stays(sketch):
    x = sketch.var("x", sketch.arg("w"))
    with sketch.into(sketch.loop(4, serialize=True).body):
        sketch.store(x, sketch.op("add", sketch.load(x), sketch.arg("w")))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(x))
    assert sketch.apply(*PASSES).count("load $") == 2


def test_variable_changed_in_one_branch_stays_after_it(sketch):
    x = sketch.var("x", sketch.arg("w"))
    with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
        sketch.store(x, sketch.op("neg", sketch.arg("w")))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(x))
    assert "x: f32 = alloca" in sketch.apply(*PASSES)


def test_variable_stored_twice_in_a_loop_stays_as_it_is_in_python(sketch):
    with sketch.into(sketch.loop(4, serialize=True).body):
        x = sketch.var("x", sketch.arg("w"))
        sketch.store(x, sketch.op("add", sketch.load(x), sketch.arg("w")))
        sketch.store(sketch.ptr(sketch.a, 0), sketch.load(x))
    assert "x: f32 = alloca" in sketch.apply(*PASSES)


def test_branch_that_leaves_the_loop_does_not_count(sketch):
    with sketch.into(sketch.loop(4, serialize=True).body):
        x = sketch.var(None, sketch.op("neg", sketch.arg("w")))
        with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
            sketch.store(x, sketch.arg("w"))
            sketch.store(sketch.ptr(sketch.b, 0), sketch.load(x))
            sketch.add(Break())
        sketch.store(sketch.ptr(sketch.a, 0), sketch.load(x))
    assert "alloca" not in sketch.apply(*PASSES)


def test_value_made_in_a_branch_is_not_used_outside(sketch):
    x = sketch.var("x")
    branch = sketch.add(If(sketch.arg("flag"), Block(), Block()))
    with sketch.into(branch.then):
        sketch.store(x, sketch.op("neg", sketch.arg("w")))
    with sketch.into(branch.otherwise):
        sketch.store(x, sketch.op("abs", sketch.arg("w")))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(x))
    assert "alloca" in sketch.apply(*PASSES)


def test_condition_of_a_while_sees_what_the_body_stores(sketch):
    x = sketch.var("x", sketch.const(0))
    loop = sketch.add(While(Block()))
    with sketch.into(loop.condition):
        loop.condition.result = sketch.op("lt", sketch.load(x), sketch.const(3))
    with sketch.into(loop.body):
        sketch.store(x, sketch.op("add", sketch.load(x), sketch.const(1)))
    assert sketch.apply(*PASSES).count("load $") == 2


def test_variable_never_stored_is_zero(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(sketch.var("x", type=f32)))
    text = sketch.apply(*PASSES)
    assert "const 0.0" in text and "alloca" not in text


def test_stores_that_nothing_reads_go(sketch):
    x = sketch.var("x", sketch.arg("w"))
    with sketch.into(sketch.loop(4, serialize=True).body):
        sketch.store(x, sketch.const(1.0, f32))
    assert "store" not in sketch.apply(*PASSES)


def test_store_overwritten_before_a_read_goes(sketch):
    x = sketch.var("x", sketch.op("neg", sketch.arg("w")))
    sketch.store(x, sketch.op("abs", sketch.arg("w")))
    with sketch.into(sketch.loop(4, serialize=True).body):
        sketch.store(x, sketch.op("add", sketch.load(x), sketch.arg("w")))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(x))
    text = sketch.apply(*PASSES)
    assert "neg" not in text and "abs" in text


def test_element_of_a_known_vector_is_read_from_the_value(sketch):
    vector = sketch.op("mul", sketch.read(sketch.v, 0), sketch.arg("w"))
    x = sketch.var("x", vector)
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(sketch.element_ptr(x, [sketch.const(1)])))
    text = sketch.apply(*PASSES)
    assert "element $" in text and "alloca" not in text


def test_vector_with_an_element_stored_stays_a_variable(sketch):
    x = sketch.var("x", type=Tensor((3,), f32))
    sketch.store(sketch.element_ptr(x, [sketch.const(1)]), sketch.arg("w"))
    sketch.store(sketch.ptr(sketch.v, 0), sketch.load(x))
    assert "x: f32[3] = alloca" in sketch.apply(*PASSES)


def test_constant_is_put_in_place_of_a_read_though_the_variable_stays(sketch):
    x = sketch.var("x", sketch.const(0))
    sketch.store(sketch.ptr(sketch.a, sketch.load(x)), sketch.const(1.0, f32))
    with sketch.into(sketch.loop(4, serialize=True).body):
        sketch.store(x, sketch.op("add", sketch.load(x), sketch.const(1)))
    sketch.store(sketch.ptr(sketch.a, sketch.load(x)), sketch.const(2.0, f32))
    assert sketch.apply(*PASSES).count("load $") == 2


def test_types_of_a_zero_vector(sketch):
    sketch.store(sketch.ptr(sketch.v, 0), sketch.cast(sketch.load(sketch.var("x", type=Tensor((3,), i32))), f32))
    assert "i32[3] = tensor" in sketch.apply(*PASSES)


def test_copy_called_like_its_variable_is_the_variable(sketch):
    x = sketch.var("x", sketch.arg("w"))
    with sketch.into(sketch.loop(4, serialize=True).body):
        copy = sketch.load(x)
        copy.name = "x"
        sketch.store(x, sketch.op("mul", copy, copy))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(x))
    assert "x: f32 = load" not in sketch.apply(forward_stores)


def test_copy_that_outlives_a_change_keeps_its_name(sketch):
    with sketch.into(sketch.loop(2, serialize=True).body):
        x = sketch.var("x", sketch.arg("w"))
        with sketch.into(sketch.loop(4).body):
            copy = sketch.load(x)
            copy.name = "x"
            sketch.store(x, sketch.op("neg", copy))
            sketch.store(sketch.ptr(sketch.a, 0), copy)
        sketch.store(sketch.ptr(sketch.a, 1), sketch.load(x))
    assert "x: f32 = load" in sketch.apply(forward_stores)
