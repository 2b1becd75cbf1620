"""Speculation: what may be computed although a branch, which is not taken, would leave it out."""

from __future__ import annotations

from collections.abc import Collection

from ...ir.constants import constant_range
from ...ir.functions import Call, Function, called, reachable
from ...ir.nodes import Block, Effect, Statement, operands
from ...ir.statements import (
    Alloca,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    If,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixPtr,
    Operation,
    RangeFor,
    StructPtr,
    While,
    base_pointer,
    is_const,
)
from ...ir.types import Scalar
from .existence import is_existing

CHEAP = frozenset({"abs", "neg", "add", "sub", "mul", "min", "max", "lt", "le", "gt", "ge", "eq", "ne", "select"})
"""Operations on floats that are one instruction of x86."""
DIVISIONS = frozenset({"floordiv", "mod", "raw_div", "raw_mod", "plain_div", "plain_mod"})
"""Operations that a processor may trap if they are of integers, and divide by 0."""


def continues(branch: If) -> bool:
    """Return whether a branch does nothing else than to end the iteration: `if i == j: continue`."""
    return len(branch.then.statements) == 1 and isinstance(branch.then.statements[0], Continue)


def guarded(block: Block, branch: If) -> list[Statement]:
    """Return the statements that a branch of a block decides about: its own, or those behind one that continues."""
    return block.statements[block.statements.index(branch) + 1 :] if continues(branch) else branch.then.statements


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
        return is_existing(pointer) or (isinstance(pointer, GlobalPtr) and pointer.array.is_shared)
    if isinstance(statement, Operation) and statement.op in ("plain_div", "plain_mod"):
        return is_const(statement.operands[1])  # of a positive number, as the branch may say; processors trap zeros
    if isinstance(statement, Call) and not is_total(statement.function):
        return False
    is_pointer = isinstance(statement, (GlobalPtr, MatrixPtr, StructPtr))
    return is_pointer or (
        statement.EFFECT == Effect.NONE and not statement.BLOCKS and not isinstance(statement, Alloca)
    )


def may_be_in_vain(statement: Statement, own: Collection[Statement] = ()) -> bool:
    """Return whether a statement may run where the program does not reach it, in its place.

    It reads elements that surely exist, ends, and changes no variables but `own`, which nothing else uses.
    """
    if isinstance(statement, GlobalLoad):
        return is_existing(statement.pointer)
    if isinstance(statement, Call):
        return statement.EFFECT == Effect.NONE and is_total(statement.function)
    if isinstance(statement, LocalStore):
        return base_pointer(statement.pointer) in own
    return statement.EFFECT & ~Effect.READ == Effect.NONE and not statement.BLOCKS


def is_total(function: Function) -> bool:
    """Return whether a function surely ends for all arguments, also those that a branch keeps from it, with a result.

    Not with a loop whose end they decide, a call of itself, a division, or an index that they may move outside.
    """
    inside = list(reachable(function.body))
    return not calls_itself(function) and not any(map(_depends_on_branches, inside))


def _depends_on_branches(statement: Statement) -> bool:
    """Return whether a statement may not end, or be out of its range, where no branch is taken."""
    if isinstance(statement, Operation) and statement.op in DIVISIONS:
        divisor, is_float = statement.operands[1], isinstance(statement.type, Scalar) and statement.type.is_float
        return not is_float and not (isinstance(divisor, Const) and divisor.value not in (0, -1))
    if isinstance(statement, (MatrixElement, MatrixPtr)):
        return not all(isinstance(index, Const) or _is_of_known_loop(index) for index in statement.indices)
    return isinstance(statement, While) or (isinstance(statement, Call) and calls_itself(statement.function))


def calls_itself(function: Function) -> bool:
    """Return whether a function calls itself, directly or indirectly."""
    return function in called(function.body)


def _is_of_known_loop(index: Statement) -> bool:
    if not isinstance(index, LoopIndex) or not isinstance(index.loop, RangeFor):
        return False
    return constant_range(index.loop, index.axis) is not None


def takes_one_instruction(statement: Statement) -> bool:
    """Return whether an operation on floats and conditions, or a constant, costs no more than to branch around it."""
    if isinstance(statement, Operation):
        return statement.op in CHEAP and all(map(is_float_or_condition, [statement, *statement.operands]))
    return isinstance(statement, Const)


def is_float_or_condition(value: Statement) -> bool:
    """Return whether a value is one float or one condition."""
    return isinstance(value.type, Scalar) and value.type.kind in ("float", "bool")
