from shadesmith.transpiler.ir.nodes import Block
from shadesmith.transpiler.ir.statements import Break, Cast, Const, Continue, If, IfExp, While
from shadesmith.transpiler.ir.types import f32, f64, i32, u1, u8, u32
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes import PassContext
from shadesmith.transpiler.passes.cleanup.dead_code import dead_code
from shadesmith.transpiler.passes.cleanup.simplify import simplify


def stored(sketch, value):
    """Return the text form after simplifying a store of `value`."""
    sketch.store(sketch.ptr(sketch.a, 0), value)
    return sketch.apply(simplify, dead_code)


def test_integer_identities(sketch):
    n = sketch.arg("n")
    value = sketch.op("mul", sketch.op("sub", sketch.op("add", n, sketch.const(0)), sketch.const(0)), sketch.const(1))
    text = stored(sketch, value)
    assert not any(op in text for op in ("add", "sub", "mul"))


def test_bits_that_change_nothing_go(sketch):
    value = sketch.op("bit_and", sketch.op("bit_or", sketch.arg("n"), sketch.const(0)), sketch.const(-1))
    text = stored(sketch, sketch.op("bit_xor", sketch.const(0), value))
    assert "bit_" not in text
    assert "store $1, $2" not in stored(sketch, sketch.op("bit_and", sketch.arg("n"), sketch.const(0)))


def test_adding_zero_to_a_float_stays_because_of_negative_zero(sketch):
    assert "add" in stored(sketch, sketch.op("add", sketch.arg("w"), sketch.const(0.0, f32)))


def test_adding_zero_to_a_float_goes_with_fast_math(sketch):
    sketch.context = PassContext(CompileOptions(fast_math=True), sketch.context.capabilities)
    assert "add" not in stored(sketch, sketch.op("add", sketch.arg("w"), sketch.const(0.0, f32)))


def test_adding_a_negative_constant_subtracts(sketch):
    text = stored(sketch, sketch.op("add", sketch.arg("n"), sketch.const(-1)))
    assert "sub $" in text and "const 1" in text


def test_subtracting_negative_zero_stays(sketch):
    assert "sub" in stored(sketch, sketch.op("sub", sketch.arg("w"), sketch.const(-0.0, f32)))


def test_double_negation_goes(sketch):
    assert "neg" not in stored(sketch, sketch.op("neg", sketch.op("neg", sketch.arg("w"))))


def test_not_of_a_float_comparison_stays_because_of_nan(sketch):
    w = sketch.arg("w")
    test = sketch.op("logical_not", sketch.op("lt", w, sketch.const(1.0, f32)))
    assert "logical_not" in stored(sketch, test)


def test_not_of_an_integer_comparison_is_the_negated_comparison(sketch):
    test = sketch.op("logical_not", sketch.op("lt", sketch.arg("n"), sketch.const(1)))
    assert "ge $" in stored(sketch, test)


def test_scalar_times_tensor_of_ones_keeps_the_shape(sketch):
    ones = sketch.tensor([sketch.const(1.0, f32)] * 3, (3,), f32)
    sketch.store(sketch.ptr(sketch.v, 0), sketch.op("mul", ones, sketch.const(1.0, f32)))
    assert "f32[3] = " in sketch.apply(simplify)


def test_element_of_a_tensor_just_made_is_the_element(sketch):
    tensor = sketch.tensor([sketch.arg("w")] * 3, (3,), f32)
    from shadesmith.transpiler.ir.statements import MatrixElement

    element = sketch.add(MatrixElement(tensor, [sketch.const(1)], type=f32))
    assert "tensor" not in stored(sketch, element)


def test_lossless_cast_before_a_cast_goes_and_a_lossy_one_stays(sketch):
    n = sketch.arg("n")
    assert stored(sketch, sketch.cast(sketch.add(Cast(n, type=f64)), i32)).count("cast") == 1
    assert stored(sketch, sketch.cast(sketch.add(Cast(n, type=f32)), i32)).count(": i32 = cast") == 1


def test_integers_are_converted_by_their_low_bits(sketch):
    n = sketch.arg("n")
    assert "i32 = cast" not in stored(sketch, sketch.cast(sketch.add(Cast(n, type=u32)), i32))
    assert "u8 = cast" in stored(sketch, sketch.cast(sketch.add(Cast(n, type=u8)), i32)), "which drops bits"


def test_branch_of_a_constant_condition_is_inlined(sketch):
    branch = sketch.add(If(sketch.const(True, u1), Block(), Block()))
    with sketch.into(branch.then):
        sketch.store(sketch.ptr(sketch.a, 1), sketch.const(1.0, f32))
    with sketch.into(branch.otherwise):
        sketch.store(sketch.ptr(sketch.b, 1), sketch.const(2.0, f32))
    text = sketch.apply(simplify, dead_code)
    assert "ptr a" in text and "ptr b" not in text and "if" not in text


def test_conditional_of_a_constant_condition_is_its_branch(sketch):
    one, two = Const(1.0, type=f32), Const(2.0, type=f32)
    value = sketch.add(IfExp(sketch.const(False, u1), Block([one], one), Block([two], two), type=f32))
    text = stored(sketch, value)
    assert "const 2.0" in text and "yield" not in text


def test_empty_then_branch_negates_the_condition(sketch):
    branch = sketch.add(If(sketch.arg("flag"), Block(), Block()))
    with sketch.into(branch.otherwise):
        sketch.store(sketch.ptr(sketch.a, 1), sketch.const(1.0, f32))
    text = sketch.apply(simplify)
    assert "logical_not" in text and "else" not in text


def test_code_after_break_and_a_last_continue_go(sketch):
    loop = sketch.loop(4, serialize=True)
    with sketch.into(loop.body):
        branch = sketch.add(If(sketch.arg("flag")))
        with sketch.into(branch.then):
            sketch.add(Break())
            sketch.store(sketch.ptr(sketch.a, 1), sketch.const(1.0, f32))
        sketch.store(sketch.ptr(sketch.b, 1), sketch.const(1.0, f32))
        sketch.add(Continue())
    text = sketch.apply(simplify, dead_code)
    assert "ptr a" not in text and "ptr b" in text and "continue" not in text


def test_while_false_and_empty_ranges_go(sketch):
    never = Const(False, type=u1)
    sketch.add(While(Block([never], never)))
    with sketch.into(sketch.loop(0).body):
        sketch.store(sketch.ptr(sketch.a, 1), sketch.const(1.0, f32))
    text = sketch.apply(simplify)
    assert "while" not in text and "for" not in text
