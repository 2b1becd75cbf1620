"""Strength reduction: divides a vector by a number through one reciprocal, where a division takes several instructions.

    for j { $3 = div $v, $s }    ->    for j {
                                           $2 = div 1.0, $s
                                           $3 = mul $v, $2
                                       }

A quotient takes eight instructions in CUDA, of f64 about twenty, a product one. Only loops and functions wait for them:
other iterations wait for memory. The reciprocal of an f32 is within one unit in the last place and the product rounds
once more, which is as exact as a quotient is with `fast_math`; of f64 both together are within 1.5. Beyond 2^126 a
divisor has a reciprocal of fewer digits, and below 2^-128 an infinite one (f64: 2^1022, 2^-1024).
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.nodes import Statement, blocks, walk, walk_blocks
from ...ir.statements import Const, Operation, repeats, scalar_type
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, f32, f64
from ..context import PassContext
from ..rewrite import add_before


def reciprocals(kernel: Kernel, context: PassContext) -> bool:
    """Replace divisions of vectors and matrices by numbers that only the device knows, in loops and functions."""
    if not context.options.fast_math or not context.capabilities.slow_divisions:
        return False
    outer = [function.body for function in kernel.functions]
    outer += [body for task in kernel.tasks for s in walk(task.body) if repeats(s) for body in blocks(s)]
    inner = dict.fromkeys(block for root in outer for block in walk_blocks(root))
    found = [block for block in inner if any(isinstance(s, Operation) and _divides_all(s) for s in block)]
    for block in found:
        add_before(block, _replace)
    return bool(found)


def _divides_all(operation: Operation) -> bool:
    """Return whether all elements of a tensor are divided by one number."""
    if operation.op != "div" or not isinstance(operation.type, Tensor):
        return False
    dividend, divisor = operation.operands
    return isinstance(dividend.type, Tensor) and divisor.type in (f32, f64) and not isinstance(divisor, Const)


def _replace(builder: Builder, division: Statement) -> None:
    """Make such a division a product with a reciprocal."""
    if isinstance(division, Operation) and _divides_all(division):
        dividend, divisor = division.operands
        assert isinstance(divisor.type, Scalar)
        division.op = "mul"
        division.operands = [dividend, builder.op("div", builder.const(1.0, scalar_type(divisor)), divisor)]
