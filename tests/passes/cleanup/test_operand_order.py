"""A number and a vector are in one order where a kernel has both."""

import pytest

from shadesmith.transpiler.ir.statements import GlobalLoad, Operation
from shadesmith.transpiler.ir.types import Scalar, Tensor, f32
from shadesmith.transpiler.passes.cleanup.operand_order import operand_order

VEC3 = Tensor((3,), f32)


def product(sketch, number_first: bool, op: str = "mul") -> Operation:
    vector = sketch.add(GlobalLoad(sketch.ptr(sketch.v, 0), type=VEC3))
    pair = [sketch.arg("w"), vector] if number_first else [vector, sketch.arg("w")]
    value = sketch.add(Operation(op, pair, type=VEC3))
    sketch.store(sketch.ptr(sketch.v, 1), value)
    return value


def is_number_first(operation: Operation) -> bool:
    return isinstance(operation.operands[0].type, Scalar)


@pytest.mark.parametrize("op", ["mul", "add"])
def test_both_orders_become_one(sketch, op: str) -> None:
    values = [product(sketch, first, op) for first in (True, False)]
    sketch.apply(operand_order)
    assert all(map(is_number_first, values))


def test_one_order_stays(sketch) -> None:
    values = [product(sketch, False) for _ in range(2)]
    sketch.apply(operand_order)
    assert not any(map(is_number_first, values))


def test_differences_do_not_commute(sketch) -> None:
    values = [product(sketch, first, "sub") for first in (True, False)]
    sketch.apply(operand_order)
    assert [is_number_first(value) for value in values] == [True, False]


def test_compound_assignments_stay(sketch) -> None:
    product(sketch, True)
    pointer = sketch.ptr(sketch.v, 0)
    scaled = sketch.add(Operation("mul", [sketch.add(GlobalLoad(pointer, type=VEC3)), sketch.arg("w")], type=VEC3))
    sketch.store(pointer, scaled)
    sketch.apply(operand_order)
    assert not is_number_first(scaled)
