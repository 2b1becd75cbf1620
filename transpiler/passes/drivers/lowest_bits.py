"""Replaces `x & 1` where it is used as a number, for drivers that take 1 for 0 there.

    $3 = bit_and $1, 1             $3 = lowest_bit $1            (GLSL: a function that extracts the bit)
    $4 = mul $3, 9          ->     $4 = mul $3, 9

NVIDIA's driver 580.159 makes a condition of `x & 1`, and a choice of its product: `j[(x & 1) * 9]` reads `j[9]` of an x
of 0 in some shaders with 64-bit numbers. It sees through `% 2`, shifts, and conversions between widths. Comparisons,
`(x & 1) == 0`, are right and stay.
"""

from __future__ import annotations

from ...ir.nodes import Statement, operands
from ...ir.ops import COMPARISONS
from ...ir.statements import Operation, is_const
from ...ir.tasks import Kernel
from ...ir.types import element_of
from ..context import PassContext

REMAINDERS = frozenset({"mod", "plain_mod"})
WITH_LOWEST_BIT = REMAINDERS | {"bit_and", "raw_mod"}


def lowest_bits(kernel: Kernel, context: PassContext) -> bool:
    """Replace the lowest bits of integers that are numbers: indices, factors, terms, stored values."""
    if not context.capabilities.miscompiles_integers:
        return False
    statements = list(kernel.statements())
    operations = [s for s in statements if s.__class__ is Operation and s.op in WITH_LOWEST_BIT]
    found = {operation: number for operation in operations if (number := _number_of(operation)) is not None}
    if not found:
        return False
    numbers = {
        operand
        for statement in statements
        if not (isinstance(statement, Operation) and statement.op in COMPARISONS)
        for operand in operands(statement)
    }
    replaced = [operation for operation in found if operation in numbers]
    for operation in replaced:
        operation.op, operation.operands = "lowest_bit", [found[operation]]
    return bool(replaced)


def _number_of(operation: Operation) -> Statement | None:
    """Return x of `x & 1` and of `x % 2`, None for all other operations."""
    if operation.type is None or element_of(operation.type).is_float:
        return None
    if operation.op == "bit_and":
        first, second = operation.operands
        return first if is_const(second, 1) else second if is_const(first, 1) else None
    if operation.op in REMAINDERS or (operation.op == "raw_mod" and element_of(operation.type).kind == "uint"):
        return operation.operands[0] if is_const(operation.operands[1], 2) else None
    return None
