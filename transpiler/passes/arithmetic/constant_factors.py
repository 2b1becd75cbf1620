"""Reassociation: multiplies constant factors of a product with each other, for GPUs.

    for j {                                for j {
        $2 = mul $1, 0.2                       $2 = mul 0.2, 0.25
        $3 = mul $2, 0.25         ->           $3 = mul $1, $2
    }                                      }

`h * h * k * 0.25` has two products by constants, of which NVRTC makes one only where they are next to each other. So it
is with `fast_math` in loops and in functions that they call; other iterations wait for memory.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from ...ir.builder import Builder
from ...ir.functions import in_loops
from ...ir.nodes import Statement, count_uses_in, walk_blocks
from ...ir.statements import Const, Operation, repeats
from ...ir.tasks import Kernel
from ...ir.types import Scalar, element_of, f32, f64
from ..context import PassContext
from ..rewrite import add_before

LEAST, GREATEST = 2.0**-100, 2.0**100
"""Bounds of products of constants: far from where they would be subnormal or infinite."""


def constant_factors(kernel: Kernel, context: PassContext) -> bool:
    """Join such factors in loops and functions of GPUs."""
    capabilities = context.capabilities
    if not capabilities.keeps_factors or not context.options.fast_math:
        return False
    inner = dict.fromkeys(block for root in in_loops(kernel.roots(), repeats) for block in walk_blocks(root))
    uses = count_uses_in(kernel.roots()) if inner else Counter()
    changed = False
    for block in inner:
        changed |= add_before(block, partial(_join, uses))
    return changed


def _join(uses: Counter[Statement], builder: Builder, outer: Statement) -> None:
    """Make an operation with two constant factors one of the other factor and of one constant."""
    found = _factor_and_constant(outer)
    if found is None:
        return
    product, last = found
    if uses[product] != 1 or product.type != outer.type or (found := _factor_and_constant(product)) is None:
        return
    assert isinstance(outer, Operation) and isinstance(product, Operation)
    factor, first = found
    ops = (product.op, outer.op)
    both, left, right = {
        ("mul", "mul"): ("mul", first, last),
        ("mul", "div"): ("div", first, last),
        ("div", "mul"): ("div", last, first),
        ("div", "div"): ("mul", first, last),
    }[ops]
    one, other = _value(left), _value(right)
    if not one or not other or not LEAST < abs(_combined(both, one, other)) < GREATEST:
        return
    outer.operands = [factor, builder.op(both, left, right)]
    outer.op = "div" if ops == ("div", "div") else "mul"


def _factor_and_constant(operation: Statement) -> tuple[Statement, Statement] | None:
    """Return the operand of a product or a quotient that is no constant, and the other, None if it has no such two."""
    if not isinstance(operation, Operation) or operation.op not in ("mul", "div"):
        return None
    if operation.type is None or element_of(operation.type) not in (f32, f64):
        return None
    first, second = operation.operands
    if _value(second) is not None and _value(first) is None:
        return first, second
    if operation.op == "mul" and _value(first) is not None and _value(second) is None:
        return second, first
    return None


def _value(statement: Statement) -> float | None:
    """Return the number that a constant, or an operation on two, is, None for anything else."""
    if not isinstance(statement.type, Scalar) or not statement.type.is_float:
        return None
    if isinstance(statement, Const):
        return float(statement.value)
    if isinstance(statement, Operation) and statement.op in ("mul", "div"):
        left, right = map(_value, statement.operands)
        return _combined(statement.op, left, right) if left and right else None
    return None


def _combined(op: str, left: float, right: float) -> float:
    return left * right if op == "mul" else left / right
