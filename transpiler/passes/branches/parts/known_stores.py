"""Stores of integers under a condition, whose numbers are known without it: performed in any case."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Remark, Statement
from ....ir.statements import Alloca, LocalLoad, LocalStore
from ....ir.types import i32


def store_if(builder: Builder, statement: Statement, condition: Statement, remark: Remark) -> None:
    """Add what a branch does, without the branch: a constant, or what is stored in an integer, with a remark."""
    if not isinstance(statement, LocalStore):
        builder.add(statement)
        return
    earlier = builder.add(LocalLoad(statement.pointer, type=i32))
    change = builder.op("mul", builder.op("sub", statement.value, earlier), builder.cast(condition, i32))
    builder.add(LocalStore(statement.pointer, builder.op("add", earlier, change), remarks=(remark,)))


def stores_integer(store: LocalStore) -> bool:
    """Return whether a store is to an i32 variable."""
    return isinstance(store.pointer, Alloca) and store.pointer.type == i32
