"""Speculation: what may be computed although a branch, which is not taken, would leave it out."""

from __future__ import annotations

from ...ir.nodes import Effect, Statement, operands
from ...ir.statements import (
    Alloca,
    Continue,
    GlobalLoad,
    GlobalPtr,
    If,
    MatrixPtr,
    Operation,
    StructPtr,
    base_pointer,
    is_const,
)
from .queries import surely_exists


def continues(branch: If) -> bool:
    """Return whether a branch does nothing else than to end the iteration: `if i == j: continue`."""
    return len(branch.then.statements) == 1 and isinstance(branch.then.statements[0], Continue)


def divided(statements: list[Statement]) -> tuple[list[Statement], list[Statement]]:
    """Return the statements that may be computed where the branch is not taken, and the others."""
    moved: list[Statement] = []
    rest = dict.fromkeys(statements)
    for statement in statements:
        if may_be_early(statement) and not any(operand in rest for operand in operands(statement)):
            moved.append(statement)
            del rest[statement]
    return moved, list(rest)


def may_be_early(statement: Statement) -> bool:
    """Return whether a statement may be computed where the branch is not taken."""
    if isinstance(statement, GlobalLoad):
        pointer = base_pointer(statement.pointer)
        return isinstance(pointer, GlobalPtr) and (pointer.array.is_shared or surely_exists(pointer))
    if isinstance(statement, Operation) and statement.op in ("plain_div", "plain_mod"):
        return is_const(statement.operands[1])  # of a positive number, as the branch may say; processors trap zeros
    is_pointer = isinstance(statement, (GlobalPtr, MatrixPtr, StructPtr))
    return is_pointer or (
        statement.EFFECT == Effect.NONE and not statement.BLOCKS and not isinstance(statement, Alloca)
    )


CHEAP = frozenset({"abs", "neg", "add", "sub", "mul", "min", "max", "lt", "le", "gt", "ge", "eq", "ne", "select"})
