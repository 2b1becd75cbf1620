"""Vectors and matrices made of elements: conversions, sums with numbers, a number times the identity."""

import pytest

from shadesmith.transpiler.ir.statements import Cast
from shadesmith.transpiler.ir.types import Tensor, f32, i32
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes import PassContext
from shadesmith.transpiler.passes.cleanup.dead_code import dead_code
from shadesmith.transpiler.passes.cleanup.simplify import simplify


def fast(sketch) -> None:
    sketch.context = PassContext(CompileOptions(fast_math=True), sketch.context.capabilities)


def matrix(sketch, *elements) -> object:
    return sketch.tensor([sketch.const(e, f32) if isinstance(e, float) else e for e in elements], (2, 2), f32)


def item(sketch, value, column: int) -> object:
    return sketch.element(value, [sketch.const(0), sketch.const(column)])


def simplified(sketch, value, array="v"):
    sketch.store(sketch.ptr(getattr(sketch, array), 0), value)
    return sketch.apply(simplify, dead_code)


def test_a_conversion_of_names_converts_each(sketch) -> None:
    n = sketch.arg("n")
    vector = sketch.tensor([n, n, sketch.const(1)], (3,), i32)
    assert simplified(sketch, sketch.add(Cast(vector, type=Tensor((3,), f32)))).count("cast") == 3


def test_a_conversion_of_computed_numbers_stays_one(sketch) -> None:
    sums = [sketch.op("add", sketch.arg("n"), sketch.const(k + 1)) for k in range(3)]
    vector = sketch.tensor(sums, (3,), i32)
    assert simplified(sketch, sketch.add(Cast(vector, type=Tensor((3,), f32)))).count("cast") == 1


def test_a_number_is_added_to_each_element(sketch) -> None:
    w = sketch.arg("w")
    vector = sketch.tensor([w, sketch.const(2.0, f32), w], (3,), f32)
    text = simplified(sketch, sketch.op("add", vector, sketch.const(0.5, f32)))
    assert "f32[3] = add" not in text and text.count(" = add ") == 3


def test_a_named_vector_stays_one(sketch) -> None:
    w = sketch.arg("w")
    vector = sketch.tensor([w, sketch.const(2.0, f32), w], (3,), f32)
    vector.name = "p"
    assert "f32[3] = add" in simplified(sketch, sketch.op("add", vector, sketch.const(0.5, f32)))


@pytest.mark.parametrize("number_first", [True, False])
def test_the_identity_times_a_number_is_a_diagonal(sketch, number_first: bool) -> None:
    fast(sketch)
    pair = [matrix(sketch, 1.0, 0.0, 0.0, 1.0), sketch.arg("w")]
    product = sketch.op("mul", *(reversed(pair) if number_first else pair))
    twice = sketch.op("mul", product, sketch.arg("w"))
    text = simplified(sketch, item(sketch, twice, 0), "a")
    assert "f32[2x2] = mul" not in text


def test_zero_times_nan_is_nan_without_fast_math(sketch) -> None:
    product = sketch.op("mul", matrix(sketch, 1.0, 0.0, 0.0, 1.0), sketch.arg("w"))
    assert "f32[2x2] = mul" in simplified(sketch, item(sketch, product, 1), "a")


def test_other_matrices_keep_their_products(sketch) -> None:
    fast(sketch)
    for elements in ((1.0, 0.0, 0.5, 1.0), (1.0, 0.0, 0.0, 2.0)):
        product = sketch.op("mul", matrix(sketch, *elements), sketch.arg("w"))
        assert "f32[2x2] = mul" in simplified(sketch, item(sketch, product, 1), "a")
