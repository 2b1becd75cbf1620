from shadesmith.transpiler.ir.statements import If
from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.passes.cleanup.common_subexpressions import common_subexpressions


def both(sketch, first, second):
    sketch.store(sketch.ptr(sketch.b, 6), first)
    sketch.store(sketch.ptr(sketch.b, 7), second)
    return sketch.apply(common_subexpressions)


def test_equal_operations_become_one(sketch):
    first, second = (sketch.op("mul", sketch.arg("w"), sketch.arg("w")) for _ in range(2))
    assert both(sketch, first, second).count("mul") == 1


def test_order_of_operands_matters_only_where_it_does(sketch):
    w, n = sketch.arg("w"), sketch.arg("n")
    n = sketch.cast(n, f32)
    assert both(sketch, sketch.op("add", w, n), sketch.op("add", n, w)).count("add $") == 1
    assert both(sketch, sketch.op("sub", w, n), sketch.op("sub", n, w)).count("sub $") == 2


def test_zero_and_negative_zero_stay_apart(sketch):
    text = both(sketch, sketch.const(0.0, f32), sketch.const(-0.0, f32))
    assert "const 0.0" in text and "const -0.0" in text


def test_named_constant_is_not_merged_with_an_equal_number(sketch):
    named = sketch.const(2.0, f32)
    named.name = "scale"
    assert both(sketch, named, sketch.const(2.0, f32)).count("const 2.0") == 2


def test_branch_uses_the_value_of_the_block_around_it(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("mul", sketch.arg("w"), sketch.arg("w")))
    with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
        sketch.store(sketch.ptr(sketch.a, 1), sketch.op("mul", sketch.arg("w"), sketch.arg("w")))
    assert sketch.apply(common_subexpressions).count("mul") == 1


def test_values_of_a_branch_are_not_used_after_it(sketch):
    with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
        sketch.store(sketch.ptr(sketch.a, 1), sketch.op("mul", sketch.arg("w"), sketch.arg("w")))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("mul", sketch.arg("w"), sketch.arg("w")))
    assert sketch.apply(common_subexpressions).count("mul") == 2


def test_loads_of_one_cell_become_one(sketch):
    assert (
        both(sketch, sketch.op("mul", sketch.read(sketch.a, 0), sketch.read(sketch.a, 0)), sketch.arg("w")).count(
            "load"
        )
        == 1
    )


def test_a_write_to_the_cell_keeps_loads_apart(sketch):
    first = sketch.read(sketch.a, sketch.arg("n"))
    sketch.store(sketch.ptr(sketch.a, 3), first)
    sketch.store(sketch.ptr(sketch.b, 0), sketch.read(sketch.a, sketch.arg("n")))
    assert sketch.apply(common_subexpressions).count("global load") == 2


def test_a_write_to_the_next_cell_does_not(sketch):
    n = sketch.arg("n")
    sketch.store(sketch.ptr(sketch.a, sketch.op("add", n, sketch.const(1))), sketch.read(sketch.a, n))
    sketch.store(sketch.ptr(sketch.b, 0), sketch.read(sketch.a, n))
    assert sketch.apply(common_subexpressions).count("global load") == 1


def test_the_name_of_a_merged_value_is_kept(sketch):
    first, second = (sketch.op("mul", sketch.arg("w"), sketch.arg("w")) for _ in range(2))
    second.name = "square"
    assert "square: f32 = mul" in both(sketch, first, second)


def test_loads_of_variables_stay_as_written(sketch):
    x = sketch.var("x", sketch.arg("w"))
    assert both(sketch, sketch.op("mul", sketch.load(x), sketch.load(x)), sketch.arg("w")).count("load $") == 2
