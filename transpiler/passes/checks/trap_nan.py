"""Traps the operation that makes a NaN of numbers that are none, under `trap_nan`.

    $3 = div $1, $2    ->    $3 = div $1, $2
                             assert not isnan($3) or isnan($1) or isnan($2), "NaN detected: {0} / {1}"

A NaN that is passed on, or loaded from memory, is not trapped: the error names where it began. It is one of the first
passes: operations that later passes add are not the user's.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from ...ir.builder import Builder
from ...ir.nodes import Statement
from ...ir.ops import OPS
from ...ir.statements import Assert, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, element_of
from ..context import PassContext
from ..rewrite import surround

HARMLESS = frozenset({"neg", "abs", "min", "max", "select", "floor", "ceil", "round", "trunc", "transpose"})
"""Operations on floats whose result is a NaN only if an operand is."""


def trap_nan(kernel: Kernel, context: PassContext) -> bool:
    """Insert an Assert behind each operation on floats, under `trap_nan`."""
    changed = [surround(root, after=_check) for root in kernel.roots()] if context.options.trap_nan else []
    return any(changed)


def _is_float(value: Statement) -> bool:
    return isinstance(value.type, (Scalar, Tensor)) and element_of(value.type).is_float


def _check(builder: Builder, operation: Statement) -> None:
    """Add the Assert that an operation on floats makes no NaN of other numbers."""
    if not isinstance(operation, Operation) or operation.op in HARMLESS or not _is_float(operation):
        return
    allowed = builder.op("logical_not", _any_nan(builder, operation))
    for operand in filter(_is_float, operation.operands):
        allowed = builder.op("logical_or", allowed, _any_nan(builder, operand))
    entry, shown = OPS[operation.op], [f"{{{k}}}" for k in range(len(operation.operands))]
    is_infix = entry.symbol and len(shown) == 2
    text = f"{shown[0]} {entry.symbol} {shown[1]}" if is_infix else f"{operation.op}({', '.join(shown)})"
    builder.add(Assert(allowed, f"NaN detected: {text}", list(operation.operands), "overflow"))


def _any_nan(builder: Builder, value: Statement) -> Statement:
    if not isinstance(value.type, Tensor):
        return builder.op("isnan", value)
    found: list[Statement] = []
    for index in np.ndindex(value.type.shape):
        indices: list[Statement] = [builder.const(k) for k in index]
        found.append(builder.op("isnan", builder.element(value, indices)))
    return reduce(lambda a, b: builder.op("logical_or", a, b), found)
