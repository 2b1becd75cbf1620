"""Finds reciprocal square roots of numbers that cannot be subnormal, for GPUs where those take more instructions.

    $3 = dot $1, $1                 $3 = dot $1, $1
    $4 = add $3, 1e-4               $4 = add $3, 1e-4
    $5 = rsqrt $4             ->    $5 = normal_rsqrt $4    (CUDA C: `rsqrt.approx.ftz.f32`)

`rsqrtf` scales a subnormal number before its instruction, and the result after it: a comparison and two products of 17
instructions that a pair of bodies takes. A square to which a program adds a softening is never so small. The bits of
the result are the same.
"""

from __future__ import annotations

from ...ir.nodes import Statement, walk
from ...ir.statements import Const, Operation
from ...ir.tasks import Kernel
from ...ir.types import element_of, f32
from ..context import PassContext

LEAST = 2.0**-126
"""The smallest normal number."""
NEVER_NEGATIVE = frozenset({"abs", "sqrt", "exp", "norm"})


def normal_rsqrt(kernel: Kernel, context: PassContext) -> bool:
    """Replace the reciprocal square roots of numbers that are certainly normal."""
    if not context.capabilities.slow_subnormals:
        return False
    operations = [s for root in kernel.roots() for s in walk(root) if isinstance(s, Operation) and s.op == "rsqrt"]
    found = [s for s in operations if s.type == f32 and _is_normal(s.operands[0])]
    for operation in found:
        operation.op = "normal_rsqrt"
    return bool(found)


def _is_normal(value: Statement) -> bool:
    """Return whether a value is at least `LEAST`, infinite or no number."""
    if isinstance(value, Const):
        return float(value.value) >= LEAST
    if not isinstance(value, Operation):
        return False
    if value.op == "max":
        return any(map(_is_normal, value.operands))
    return value.op == "add" and any(map(_is_normal, value.operands)) and all(map(_is_not_negative, value.operands))


def _is_not_negative(value: Statement) -> bool:
    """Return whether a value, or each element of a tensor, is at least 0, or no number."""
    if isinstance(value, Const):
        return float(value.value) >= 0
    if not isinstance(value, Operation) or value.type is None or not element_of(value.type).is_float:
        return False
    match value.op:
        case "mul" | "dot":
            first, second = value.operands
            return first is second
        case "add":
            return all(map(_is_not_negative, value.operands))
        case "max":
            return any(map(_is_not_negative, value.operands))
        case "sum":
            return _is_not_negative(value.operands[0])
    return value.op in NEVER_NEGATIVE
