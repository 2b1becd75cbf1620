"""Rounds numbers of 16 bits that are computed in 32 and used in 32, for drivers that skip such a rounding.

    $2 = cast f16 $1               $2 = cast f16 $1
    $3 = cast f32 $2               $3 = rounded_half $2          (GLSL: a function that packs two numbers)
                             ->    $4 = cast f32 $3

NVIDIA's driver 580 leaves out `float16_t(x)` in `float(float16_t(x))`, also where variables, `packHalf2x16` or bits are
in between; what is stored in memory is rounded. Roots, quotients and functions of f16 are computed in 32 bits, too.
"""

from __future__ import annotations

from functools import partial

from ...ir.builder import Builder
from ...ir.nodes import Block, Statement, map_operands, operands, walk, walk_blocks
from ...ir.statements import Cast, GlobalStore, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, element_of, f16
from ..context import PassContext

IN_16_BITS = frozenset({"add", "sub", "mul", "neg", "abs", "min", "max", "floor", "ceil", "round", "sign", "select"})
"""Operations that GPUs compute in f16, or whose results are numbers that they are given."""


def rounded_halves(kernel: Kernel, context: PassContext) -> bool:
    """Add a rounding after each such number, for its uses but stores."""
    if not context.capabilities.skips_roundings:
        return False
    found = {s for root in kernel.roots() for s in walk(root) if _is_wide(s)}
    if not found:
        return False
    users: dict[Statement, list[Statement]] = {s: [] for s in found}
    for root in kernel.roots():
        for user in walk(root):
            for operand in {*operands(user)} & found:
                if not isinstance(user, GlobalStore):
                    users[operand].append(user)
    for block in {block: None for root in kernel.roots() for block in walk_blocks(root)}:
        _round_in(block, users)
    return any(users.values())


def _is_wide(statement: Statement) -> bool:
    """Return whether a value is an f16, or a tensor of these, that is computed in 32 bits."""
    if not isinstance(statement.type, (Scalar, Tensor)) or element_of(statement.type) != f16:
        return False
    if isinstance(statement, Cast):
        return not statement.bits
    return isinstance(statement, Operation) and statement.op not in IN_16_BITS


def _round_in(block: Block, users: dict[Statement, list[Statement]]) -> None:
    """Add the roundings of a block's values. users: what is to take the rounded number, by value."""
    builder = Builder(Block())
    for statement in block.statements:
        builder.block.statements.append(statement)
        if users.get(statement):
            builder.location = statement.location
            rounded = builder.op("rounded_half", statement)
            replaced = partial(_either, statement, rounded)
            for user in users[statement]:
                map_operands(user, replaced)
    block.statements = builder.block.statements


def _either(old: Statement, new: Statement, value: Statement) -> Statement:
    return new if value is old else value
