"""Exits of inlined functions and unrolled loops, lowered to flags since the IR has no statement for them."""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.nodes import Statement
from ...ir.statements import Alloca
from ...ir.types import u1
from .scope import Exit


class Exits:
    """Creates, takes and tests exits in the builder's current block."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def new(self, name: str, loops: int) -> Exit:
        """Return an exit for the code that follows in the current block. loops: how many run-time loops enclose it."""
        block = self.builder.block
        return Exit(name, block, len(block), loops)

    def take(self, leave: Exit) -> None:
        """Record, at run time, that `leave` is taken; out of a run-time loop this breaks it."""
        if leave.flag is None:
            leave.flag = Alloca(type=u1, name=leave.name, location=self.builder.location)
            leave.block.statements.insert(leave.position, leave.flag)
        before = len(self.builder.block)
        self.builder.store(leave.flag, self.builder.const(True, u1))
        leave.stores += [(self.builder.block, store) for store in self.builder.block.statements[before:]]

    def is_taken(self, leave: Exit) -> Statement:
        """Return whether `leave` was taken."""
        assert leave.flag is not None
        leave.stores_read = len(leave.stores)
        return self.builder.load(leave.flag)

    def close(self, leave: Exit) -> None:
        """Drop the stores to the flag of an exit after its last read, and the flag if nothing reads it."""
        for block, store in leave.stores[leave.stores_read :]:
            block.statements.remove(store)
        if leave.flag is not None and not leave.stores_read:
            leave.block.statements.remove(leave.flag)

    def any_taken(self, exits: list[Exit]) -> Statement:
        """Return whether one of `exits` was taken."""
        taken = self.is_taken(exits[0])
        for leave in exits[1:]:
            taken = self.builder.op("logical_or", taken, self.is_taken(leave))
        return taken
