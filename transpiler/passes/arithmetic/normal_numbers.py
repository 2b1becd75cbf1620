"""Takes the short instructions for roots, on GPUs where subnormal numbers take more of them.

    $3 = dot $1, $1                 $3 = dot $1, $1
    $4 = add $3, 1e-4               $4 = add $3, 1e-4
    $5 = rsqrt $4             ->    $5 = normal_rsqrt $4    (CUDA C: `rsqrt.approx.ftz.f32`)

`rsqrtf` scales a subnormal number before its instruction, and the result after it: a comparison and two products of 17
instructions that a pair of bodies takes. A square to which a program adds a softening is never so small, and the bits
of the result are the same.

With `fast_math`, in loops and in functions that they call (nothing else waits for arithmetic), the short instruction is
taken whatever the operand of a square root is, as NVIDIA's Vulkan driver does: that of a subnormal number is 0. So are
the lengths of vectors.
"""

from __future__ import annotations

from math import inf, sqrt

from ...ir.functions import in_loops
from ...ir.nodes import Statement, walk
from ...ir.statements import Const, Operation, RangeFor, While
from ...ir.tasks import Kernel
from ...ir.types import element_of, f32
from ..context import PassContext

LOOPS = (RangeFor, While)
LEAST = 2.0**-126
"""The smallest normal number."""
NEVER_NEGATIVE = frozenset({"abs", "exp", "norm"})
BOUNDED = frozenset({"add", "dot", "max", "mul", "normal_sqrt", "sqrt", "sum"})
ROUNDING = 1 - 2.0**-20
"""The factor of a bound that allows for rounding: more than its operations round together."""


def normal_numbers(kernel: Kernel, context: PassContext) -> bool:
    """Replace roots of numbers that are certainly normal, and in loops all roots."""
    if not context.capabilities.slow_subnormals:
        return False
    known: dict[Statement, float] = {}
    repeated: set[Statement] = set()
    changed = False
    if context.options.fast_math:
        bodies = in_loops(kernel.roots(), lambda statement: isinstance(statement, LOOPS))
        repeated = {statement for body in bodies for statement in walk(body)}
    lengths: list[Operation] = []
    for statement in kernel.statements():
        if isinstance(statement, Operation) and statement.type == f32:
            changed |= _shorten(statement, statement in repeated, known)
            if statement.op == "norm":
                lengths.append(statement)
    if not repeated.isdisjoint(lengths):  # all of them: a source has one function `length`
        for length in lengths:
            length.op = "normal_norm"
        changed = True
    return changed


def _shorten(operation: Operation, is_in_loop: bool, known: dict[Statement, float]) -> bool:
    """Make an operation the short one, if its operand allows it; return whether it is."""
    operand = operation.operands[-1]
    if isinstance(operand, Const):
        return False
    if operation.op == "sqrt" and not is_in_loop:
        return False
    if operation.op not in ("rsqrt", "sqrt") or (operation.op == "rsqrt" and not _is_normal(operand, known)):
        return False
    operation.op = f"normal_{operation.op}"
    return True


def _is_normal(value: Statement, known: dict[Statement, float]) -> bool:
    return _least(value, known) >= LEAST


def _least(value: Statement, known: dict[Statement, float]) -> float:
    """Return a bound that a value, or each element of a tensor, is not below, unless it is no number.

    known: the bounds of earlier calls.
    """
    if isinstance(value, Const):
        return float(value.value)
    if not isinstance(value, Operation) or value.type is None or not element_of(value.type).is_float:
        return -inf
    if value not in known:
        known[value] = 0.0 if value.op in NEVER_NEGATIVE else -inf
        if value.op in BOUNDED:
            known[value] = _least_of(value, [_least(operand, known) for operand in value.operands])
    return known[value]


def _least_of(value: Operation, operands: list[float]) -> float:
    """Return the bound of a value from those of its operands."""
    match value.op:
        case "mul" if min(operands) >= 0:
            return operands[0] * operands[1] * ROUNDING
        case "mul" | "dot":
            return 0.0 if value.operands[0] is value.operands[1] else -inf
        case "add":
            return sum(operands) * ROUNDING if min(operands) >= 0 else -inf
        case "max":
            return max(operands)
        case "sum":
            return 0.0 if operands[0] >= 0 else -inf
    return sqrt(max(operands[0], 0.0)) * ROUNDING
