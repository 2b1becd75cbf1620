"""Builds the condition that an operation on integers overflows."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from ....ir.builder import Builder
from ....ir.nodes import Statement
from ....ir.statements import MatrixElement
from ....ir.types import Scalar, Tensor, Type, element_of, i32, u32

TITLES = {"add": "Addition", "sub": "Subtraction", "mul": "Multiplication", "pow": "Power", "shl": "Shift left"}
"""Operations of two operands that may overflow: Taichi's name."""
SHAPED = {
    "sum": ("Sum", "sum({0})"),
    "dot": ("Dot product", "dot({0}, {1})"),
    "cross": ("Cross product", "cross({0}, {1})"),
    "matmul": ("Matrix product", "{0} @ {1}"),
    "outer_product": ("Outer product", "outer_product({0}, {1})"),
}
"""Operations of many steps, each of which may overflow: name and format in messages."""
Values = list[Statement]
Condition = Callable[[Builder, Values], Statement]
"""Builds, from scalar operands, the condition that must hold."""


def _are_integers(*types: Scalar) -> bool:
    return all(type.kind in ("int", "uint") for type in types)


def _by_elements(builder: Builder, values: Values, condition_of: Condition, joined: str) -> Statement:
    tensor = next((value.type for value in values if isinstance(value.type, Tensor)), None)
    conditions = [
        condition_of(builder, [_element(builder, value, index) for value in values])
        for index in ([()] if tensor is None else np.ndindex(tensor.shape))
    ]
    return reduce(lambda a, b: builder.op(joined, a, b), conditions)


def _element(builder: Builder, value: Statement, index: tuple[int, ...]) -> Statement:
    if not isinstance(value.type, Tensor):
        return value
    indices: list[Statement] = [builder.const(i) for i in index]
    return builder.add(MatrixElement(value, indices, type=value.type.element))


def _number(builder: Builder, value: int, kind: Scalar) -> Statement:
    return builder.const(value, kind)


def overflows(builder: Builder, name: str, values: Values, kind: Scalar) -> Statement:
    """Return the condition that an operation of `TITLES` or `SHAPED` overflows; kind: of its elements."""
    if name in SHAPED:
        return builder.op(f"{name}_overflows", *values)
    if kind.bits >= 32 or name not in ("shl", "pow"):
        return _by_elements(builder, values, lambda b, v: b.op(f"{name}_overflows", *v), "logical_or")
    fits = _by_elements(builder, values, lambda b, v: _result_fits(b, name, v, kind), "logical_and")
    return builder.op("logical_not", fits)


def integers_of(type: Type | None) -> Scalar | None:
    """Return the type of the elements of a value of integers; None for others."""
    kind = element_of(type) if isinstance(type, (Scalar, Tensor)) else None
    return kind if kind is not None and _are_integers(kind) else None


def _result_fits(builder: Builder, name: str, values: Values, kind: Scalar) -> Statement:
    if kind.bits >= 32 or name not in ("shl", "pow"):
        return builder.op("logical_not", builder.op(f"{name}_overflows", *values))
    wide = i32 if kind.kind == "int" else u32
    widened = [builder.cast(value, wide) for value in values]
    fits = _narrow_fits(builder, builder.op(name, *widened), kind)
    if name == "pow":
        return builder.op("logical_and", builder.op("logical_not", builder.op("pow_overflows", *widened)), fits)
    count = builder.cast(values[1], u32)  # a negative count is a large u32
    return builder.op("logical_and", builder.op("lt", count, builder.const(kind.bits, u32)), fits)


def _narrow_fits(builder: Builder, wide: Statement, kind: Scalar) -> Statement:
    """Return the condition that a number of 32 bits is in the range of `kind`."""
    assert isinstance(wide.type, Scalar)
    fits = builder.op("le", wide, builder.const(int(np.iinfo(kind.numpy).max), wide.type))
    if kind.kind == "uint":
        return fits
    return builder.op("logical_and", builder.op("ge", wide, builder.const(_lowest(kind), wide.type)), fits)


def _lowest(kind: Scalar) -> int:
    return int(np.iinfo(kind.numpy).min)
