"""The initial zero of a variable as a store, for passes that move variables to where a declaration does not run."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, operands
from ....ir.statements import Alloca, LocalStore


def is_stored_next(variable: Alloca, following: list[Statement]) -> bool:
    """Return whether the first use of `variable` in `following` is a store to all of it."""
    for statement in following:
        if isinstance(statement, LocalStore) and statement.pointer is variable:
            return True
        if statement.BLOCKS or variable in operands(statement):
            return False
    return False


def store_zero(variable: Alloca) -> list[Statement]:
    """Return statements that store zero in `variable`."""
    assert variable.type is not None
    builder = Builder(Block(), variable.location)
    builder.store(variable, builder.zero(variable.type))
    return builder.block.statements
