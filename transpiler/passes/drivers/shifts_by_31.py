"""Replaces `x << 31` of 64-bit integers, for drivers that multiply by -2^31 there.

    $2 = cast i64 $1               $2 = cast i64 $1
    $3 = shl $2, 31         ->     $3 = shl_31 $2            (GLSL: a function that joins two words)

NVIDIA's driver 580.159 multiplies where x was a 32-bit number, as in `int64_t(i) << 31`, and takes 0x80000000 for
negative: of 2 it makes 0xFFFFFFFF00000000. A product by 2^31 is the same operation.
"""

from __future__ import annotations

from ...ir.nodes import Statement, walk
from ...ir.statements import MatrixInit, Operation, is_const
from ...ir.tasks import Kernel
from ...ir.types import element_of
from ..context import PassContext

COUNT = 31


def shifts_by_31(kernel: Kernel, context: PassContext) -> bool:
    """Rename the left shifts of 64-bit integers by 31 bits, and the products by 2^31."""
    if not context.capabilities.miscompiles_integers:
        return False
    operations = [s for root in kernel.roots() for s in walk(root) if isinstance(s, Operation) and _is_wide(s)]
    found = {operation: shifted for operation in operations if (shifted := _shifted(operation)) is not None}
    for operation, shifted in found.items():
        operation.op, operation.operands = "shl_31", [shifted]
    return bool(found)


def _is_wide(operation: Operation) -> bool:
    """Return whether a value is an integer of 64 bits, or a tensor of these."""
    if operation.type is None:
        return False
    scalar = element_of(operation.type)
    return scalar.kind in ("int", "uint") and scalar.bits == 64


def _shifted(operation: Operation) -> Statement | None:
    """Return x of `x << 31`, `x * 2**31` and `2**31 * x`, None for all other operations."""
    if operation.op == "shl":
        value, count = operation.operands
        return value if _is_all(count, COUNT) else None
    if operation.op == "mul":
        first, second = operation.operands
        return first if _is_all(second, 1 << COUNT) else second if _is_all(first, 1 << COUNT) else None
    return None


def _is_all(value: Statement, number: int) -> bool:
    """Return whether a value is this number, or a tensor whose elements all are."""
    parts = value.elements if isinstance(value, MatrixInit) else [value]
    return all(is_const(part, number) for part in parts)
