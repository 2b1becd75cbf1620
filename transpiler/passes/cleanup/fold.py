"""Constant folding: operations and casts of constants, items of lists, extents of fields, calls that return a constant.

    $2 = add 1, 2           ->    3
    $3 = [4, 5, 6][1]       ->    5
    $4 = call scale()       ->    0.5, where it is `function scale() { return 0.5 }`

It evaluates the meanings of the op table on NumPy scalars of the operands' types. An integer division by zero is not
folded, since its result depends on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.functions import Call, Function, called
from ...ir.nodes import Effect, Statement
from ...ir.ops import OPS
from ...ir.origins import Origin, extent_of, literal, settled
from ...ir.origins import operation as origin_of
from ...ir.statements import (
    Alloca,
    ArrayShape,
    Cast,
    Const,
    ListInit,
    ListItem,
    LocalLoad,
    LocalStore,
    Operation,
    Return,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i32
from ..context import PassContext
from ..rewrite import Rewriter

DIVISIONS = frozenset({"floordiv", "mod", "raw_div", "raw_mod", "plain_div", "plain_mod"})


def fold(kernel: Kernel, context: PassContext) -> bool:
    """Replace operations on constants by their value."""
    if not any(_may_fold(block.statements) for block in context.blocks(kernel)):
        return False
    with np.errstate(all="ignore"):
        rules = {Operation: _operation, Cast: _cast, ListItem: _item, ArrayShape: _shape, Call: _call}
        changed = Rewriter(rules).run(kernel)
    if any(_returned(function) is not None for function in kernel.functions):
        used = set(called(*kernel.roots()[: -len(kernel.functions)]))
        kernel.functions = [function for function in kernel.functions if function in used]
    return changed


def _may_fold(statements: Sequence[Statement]) -> bool:
    """Return whether one of the statements has only constants as operands, or is an item or an extent."""
    for statement in statements:
        kind = statement.__class__
        if kind is Operation:
            operands = statement.operands  # type: ignore[attr-defined]
            if operands[0].__class__ is Const and operands[-1].__class__ is Const:
                return True
        elif kind is Cast:
            if statement.value.__class__ is Const:  # type: ignore[attr-defined]
                return True
        elif kind is ListItem:
            if statement.index.__class__ is Const:  # type: ignore[attr-defined]
                return True
        elif kind is ArrayShape or (kind is Call and _returned(statement.function) is not None):  # type: ignore[attr-defined]
            return True
    return False


def _returned(function: Function) -> Const | None:
    """Return the number that each call of a function returns, whatever it computes besides; None if there is none."""
    last = function.body.statements[-1] if function.body.statements else None
    if not isinstance(last, Return) or len(last.values) != 1 or function.snippets:
        return None
    others = function.body.statements[:-1]
    if any(s.BLOCKS or not (s.EFFECT == Effect.NONE or isinstance(s, (LocalLoad, LocalStore))) for s in others):
        return None
    value = last.values[0]
    is_local = all(isinstance(base_pointer(s.pointer), Alloca) for s in others if isinstance(s, LocalStore))
    return value if isinstance(value, Const) and is_local else None


def _call(rewriter: Rewriter, call: Statement) -> Statement | None:
    assert isinstance(call, Call)
    value = _returned(call.function)
    if value is None:
        return None
    folded = Const(value.value, value.origin, value.notation, type=value.type)
    rewriter.emit(folded, call)
    return folded


def _operation(rewriter: Rewriter, operation: Statement) -> Statement | None:
    assert isinstance(operation, Operation)
    for operand in operation.operands:
        if operand.__class__ is not Const:
            return None
    if not isinstance(operation.type, Scalar) or not _is_defined(operation):
        return None
    values = [_number(operand) for operand in operation.operands]
    folded = _constant(rewriter, operation, OPS[operation.op].meaning(*values), operation.type)
    folded.origin = _origin(operation, folded)
    return folded


def _origin(operation: Operation, folded: Const) -> Origin | None:
    """Return how the result is made of numbers that have names, None if no operand has one."""
    constants = [operand for operand in operation.operands if isinstance(operand, Const)]
    if all(constant.origin is None for constant in constants):
        return None
    parts = [(constant.origin, constant.value, constant.type) for constant in constants]
    operands = tuple(origin or literal(value, type) for origin, value, type in parts if isinstance(type, Scalar))
    if not isinstance(folded.type, Scalar):
        return None
    return settled(origin_of(operation.op, operands, folded.value, folded.type), folded.value, folded.type)


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
    folded = _converted(rewriter, cast, value, cast.type, value.type)
    if folded is not None and not cast.bits:
        folded.origin, folded.notation = settled(value.origin, folded.value, cast.type), value.notation
    return folded


def _converted(rewriter: Rewriter, cast: Cast, value: Const, new: Scalar, old: Scalar) -> Const | None:
    if cast.bits:
        return _constant(rewriter, cast, _number(value).view(new.numpy), new)
    if new.is_float or old.is_integral:
        return _constant(rewriter, cast, new(value.value), new)
    if new.kind == "bool":
        return _constant(rewriter, cast, value.value != 0, new)
    low, high = np.iinfo(new.numpy).min, np.iinfo(new.numpy).max
    # Casts of NaN and of numbers out of range are not folded: devices differ.
    return _constant(rewriter, cast, int(value.value), new) if low <= value.value <= high else None


def _item(rewriter: Rewriter, item: Statement) -> Statement | None:
    assert isinstance(item, ListItem)
    if not isinstance(item.index, Const) or not isinstance(item.origin, ListInit):
        return None
    number = int(item.index.value)
    return item.origin.items[number] if 0 <= number < len(item.origin.items) else None


def _shape(rewriter: Rewriter, shape: Statement) -> Statement | None:
    assert isinstance(shape, ArrayShape)
    if shape.array.shape is None:
        return None
    folded = _constant(rewriter, shape, shape.array.shape[shape.axis], i32)
    folded.origin = extent_of(shape.array, shape.axis)
    return folded


def _number(constant: Statement) -> Any:
    assert isinstance(constant, Const) and isinstance(constant.type, Scalar)
    return constant.type.numpy.type(constant.value)


def _constant(rewriter: Rewriter, replaced: Statement, value: Any, type: Scalar) -> Const:
    """Emit the constant, as the Python number that the type represents exactly."""
    constant = Const(type.numpy.type(value).item(), type=type)
    rewriter.emit(constant, replaced)
    return constant
