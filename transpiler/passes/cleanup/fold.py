"""Constant folding: operations and casts of constants, extents of fields.

    $2 = add 1, 2    ->    3

It evaluates the meanings of the op table on NumPy scalars of the operands' types. An integer division by zero is not
folded, since its result depends on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.nodes import Statement
from ...ir.ops import OPS
from ...ir.statements import ArrayShape, Cast, Const, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i32
from ..context import PassContext
from ..rewrite import Rewriter

DIVISIONS = frozenset({"floordiv", "mod", "raw_div", "raw_mod", "plain_div", "plain_mod"})


def fold(kernel: Kernel, context: PassContext) -> bool:
    """Replace operations on constants by their value."""
    with np.errstate(all="ignore"):
        return Rewriter({Operation: _operation, Cast: _cast, ArrayShape: _shape}).run(kernel)


def _operation(rewriter: Rewriter, operation: Statement) -> Statement | None:
    assert isinstance(operation, Operation)
    for operand in operation.operands:
        if operand.__class__ is not Const:
            return None
    if not isinstance(operation.type, Scalar) or not _is_defined(operation):
        return None
    values = [_number(operand) for operand in operation.operands]
    return _constant(rewriter, operation, OPS[operation.op].meaning(*values), operation.type)


def _is_defined(operation: Operation) -> bool:
    """Return whether the result is the same on every device."""
    first, last = operation.operands[0], operation.operands[-1]
    assert isinstance(first, Const) and isinstance(last, Const) and isinstance(first.type, Scalar)
    if operation.op in DIVISIONS and first.type.is_integral:
        return last.value != 0
    return not (operation.op == "pow" and first.type.is_integral and last.value < 0)


def _cast(rewriter: Rewriter, cast: Statement) -> Statement | None:
    assert isinstance(cast, Cast)
    value = cast.value
    if not isinstance(value, Const) or not isinstance(cast.type, Scalar) or not isinstance(value.type, Scalar):
        return None
    if cast.bits:
        return _constant(rewriter, cast, _number(value).view(cast.type.numpy), cast.type)
    if cast.type.is_float or value.type.is_integral:
        return _constant(rewriter, cast, cast.type(value.value), cast.type)
    if cast.type.kind == "bool":
        return _constant(rewriter, cast, value.value != 0, cast.type)
    low, high = np.iinfo(cast.type.numpy).min, np.iinfo(cast.type.numpy).max
    # Casts of NaN and of numbers out of range are not folded: devices differ.
    return _constant(rewriter, cast, int(value.value), cast.type) if low <= value.value <= high else None


def _shape(rewriter: Rewriter, shape: Statement) -> Statement | None:
    assert isinstance(shape, ArrayShape)
    if shape.array.shape is None:
        return None
    return _constant(rewriter, shape, shape.array.shape[shape.axis], i32)


def _number(constant: Statement) -> Any:
    assert isinstance(constant, Const) and isinstance(constant.type, Scalar)
    return constant.type.numpy.type(constant.value)


def _constant(rewriter: Rewriter, origin: Statement, value: Any, type: Scalar) -> Statement:
    """Emit the constant, as the Python number that the type represents exactly."""
    return rewriter.emit(Const(type.numpy.type(value).item(), type=type), origin)
