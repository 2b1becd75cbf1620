"""Rounds numbers of 16 bits that are computed in 32 and used in 32, for drivers that skip such a rounding.

    $2 = cast f16 $1               $2 = cast f16 $1
    $3 = cast f32 $2               $3 = rounded_half $2          (GLSL: a function that packs two numbers)
                             ->    $4 = cast f32 $3

NVIDIA's driver 580 leaves out `float16_t(x)` in `float(float16_t(x))`, also where variables, `packHalf2x16` or bits are
in between; what is stored in memory is rounded. Roots, quotients and functions of f16 are computed in 32 bits, too.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.nodes import Statement, blocks, map_operands, operands
from ...ir.statements import Cast, GlobalStore, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, element_of, f16
from ..context import PassContext
from ..rewrite import surround

IN_16_BITS = frozenset({"add", "sub", "mul", "neg", "abs", "min", "max", "floor", "ceil", "round", "sign", "select"})
"""Operations that GPUs compute in f16, or whose results are numbers that they are given."""


def rounded_halves(kernel: Kernel, context: PassContext) -> bool:
    """Add a rounding after each such number, for its uses but stores."""
    if not context.capabilities.skips_roundings or f16 not in context.scalars(kernel):
        return False
    statements = list(kernel.statements())
    users = [s for s in statements if not isinstance(s, GlobalStore)]
    branches = [block for s in statements for block in blocks(s) if block.result is not None and _is_wide(block.result)]
    wide = {operand for user in users for operand in operands(user) if _is_wide(operand)}
    wide |= {block.result for block in branches if block.result is not None}
    rounded: dict[Statement, Statement] = {}

    def add_rounding(builder: Builder, number: Statement) -> None:
        if number in wide:
            rounded[number] = builder.op("rounded_half", number)

    for root in kernel.roots() if wide else ():
        surround(root, after=add_rounding)
    for user in users if wide else ():
        map_operands(user, lambda operand: rounded.get(operand, operand))
    for block in branches:
        block.result = rounded.get(block.result, block.result) if block.result is not None else None
    return bool(wide)


def _is_wide(statement: Statement) -> bool:
    """Return whether a value is an f16, or a tensor of these, that is computed in 32 bits."""
    if not isinstance(statement.type, (Scalar, Tensor)) or element_of(statement.type) != f16:
        return False
    if isinstance(statement, Cast):
        return not statement.bits
    return isinstance(statement, Operation) and statement.op not in IN_16_BITS
