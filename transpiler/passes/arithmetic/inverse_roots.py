"""Divides by a square root, or by its cube, through the instruction for one over a square root.

    for j {                                    for j {
        $2 = sqrt $1                               $2 = rsqrt $1
        $3 = mul $1, $2            ->              $3 = mul $2, $2
        $4 = div $v, $3                            $4 = mul $3, $2
    }                                              $5 = mul $v, $4
                                               }

Forces between bodies divide by `r2 * sqrt(r2)` or by `d.norm() ** 3`, directions by `sqrt(d.dot(d))`. A GPU has an
eighth as many units for roots and reciprocals as for products, and they compute one over a root as fast as either. So
loops, and functions that they call, take one such instruction in place of two with `fast_math`, if nothing else needs
the root.
"""

from __future__ import annotations

from functools import partial

from ...ir.builder import Builder
from ...ir.functions import in_loops
from ...ir.nodes import Statement, users_of, walk_blocks
from ...ir.statements import Operation, is_const, repeats
from ...ir.tasks import Kernel
from ...ir.types import Tensor, f32
from ..context import PassContext
from ..rewrite import add_before

Users = dict[Statement, list[Statement]]
"""By value, the statements that have it as an operand."""


def inverse_roots(kernel: Kernel, context: PassContext) -> bool:
    """Replace such divisions of GPUs in loops and functions."""
    capabilities = context.capabilities
    if not capabilities.slow_roots or not context.options.fast_math:
        return False
    users = users_of(kernel.statements())
    inner = dict.fromkeys(block for root in in_loops(kernel.roots(), repeats) for block in walk_blocks(root))
    found = {s: power for block in inner for s in block if (power := _root_and_power(s, users)) is not None}
    for block in inner:
        add_before(block, partial(_replace, found))
    return bool(found)


def _replace(found: dict[Statement, tuple[Operation, int]], builder: Builder, division: Statement) -> None:
    """Make a division a product. found: the root by which each divides, and its power."""
    if division not in found:
        return
    assert isinstance(division, Operation)
    root, power = found[division]
    dividend, (operand,) = division.operands[0], root.operands
    square = builder.op("dot", operand, operand) if root.op == "norm" else operand
    inverse = builder.op("rsqrt", square)
    inverse.hint = "inverse_root"
    factors: list[Statement] = [inverse] * power
    if not is_const(dividend, 1) or isinstance(division.type, Tensor):
        factors.insert(0, dividend)
    if len(factors) == 1:
        division.op, division.operands = "rsqrt", [square]
        return
    while len(factors) > 2:
        factors[-2:] = [builder.op("mul", factors[-2], factors[-1])]
    division.op, division.operands = "mul", factors


def _root_and_power(statement: Statement, users: Users) -> tuple[Operation, int] | None:
    """Return the root by which an operation divides, and its power; None for anything else."""
    if not isinstance(statement, Operation) or statement.op != "div":
        return None
    divisor = statement.operands[1]
    if divisor.type != f32:
        return None
    factors = _factors(divisor)
    roots = [factor for factor in factors if _is_root(factor) and _only_divides(factor, users)]
    if not roots:
        return None
    root = roots[0]
    assert isinstance(root, Operation)
    same = [factor for factor in factors if factor is root]
    squares = [factor for factor in factors if _is_square_of(factor, root)]
    power = len(same) + 2 * len(squares)
    return (root, power) if len(same) + len(squares) == len(factors) and power in (1, 3) else None


def _factors(value: Statement) -> list[Statement]:
    """Return the values of which a number is the product."""
    if isinstance(value, Operation) and value.op == "mul" and value.type == f32:
        return [factor for operand in value.operands for factor in _factors(operand)][:4]
    return [value]


def _is_root(value: Statement) -> bool:
    return isinstance(value, Operation) and value.op in ("sqrt", "norm") and value.type == f32


def _only_divides(value: Statement, users: Users) -> bool:
    """Return whether nothing is done with a number but to divide by it, or by a product of it."""
    for user in users.get(value, ()):
        if not isinstance(user, Operation):
            return False
        is_divisor = user.op == "div" and user.operands[0] is not value
        if not is_divisor and not (user.op == "mul" and user.type == f32 and _only_divides(user, users)):
            return False
    return True


def _is_square_of(value: Statement, root: Operation) -> bool:
    """Return whether a value is what the root is of."""
    (operand,) = root.operands
    if root.op == "sqrt":
        return value is operand
    return isinstance(value, Operation) and value.op == "dot" and all(factor is operand for factor in value.operands)
