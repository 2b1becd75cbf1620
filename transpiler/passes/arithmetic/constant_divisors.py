"""Strength reduction: multiplies by the reciprocals of constants in place of dividing f64 by them, on GPUs.

    $2 = div $x, 12.0    ->    $2 = mul $x, (div 1.0, 12.0)

A quotient of f64 takes some thirty instructions, a product one; the target's compiler computes the reciprocal, and the
product is within one unit in the last place. With `fast_math` only; of powers of two compilers do this by themselves.
"""

from __future__ import annotations

from math import frexp

from ...ir.builder import Builder
from ...ir.nodes import Block
from ...ir.statements import Const, Operation
from ...ir.tasks import Kernel
from ...ir.types import f64
from ..context import PassContext

LEAST, MOST = 2.0**-1020, 2.0**1020
"""Divisors whose reciprocals are normal numbers."""


def constant_divisors(kernel: Kernel, context: PassContext) -> bool:
    """Replace divisions of f64 by constants."""
    capabilities = context.capabilities
    if not context.options.fast_math or not capabilities.slow_f64_divisions:
        return False
    if f64 not in context.scalars(kernel):
        return False
    changed = False
    for block in context.blocks(kernel):
        for statement in [s for s in block.statements if isinstance(s, Operation) and _is_by_constant(s)]:
            dividend, divisor = statement.operands
            builder = Builder(Block(), statement.location)
            statement.op, statement.operands = "mul", [dividend, builder.op("div", builder.const(1.0, f64), divisor)]
            block.insert_before(statement, builder.block)
            changed = True
    return changed


def _is_by_constant(operation: Operation) -> bool:
    """Return whether an operation divides by a constant whose reciprocal is rounded."""
    dividend, divisor = operation.operands if operation.op == "div" else (None, None)
    if not isinstance(divisor, Const) or divisor.type != f64 or isinstance(dividend, Const):
        return False
    return LEAST < abs(divisor.value) < MOST and abs(frexp(divisor.value)[0]) != 0.5
