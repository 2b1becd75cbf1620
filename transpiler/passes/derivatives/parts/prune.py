"""Removes what no result needs: the counterpart of `dead_code` for sweeps that compute more than the gradients use.

A statement is live if it writes memory, or if a live statement needs it: its operands, the stores to a variable that it
loads, and the branches and loops around it. So a loop is removed although it updates a variable that nothing reads
afterwards, and the values of a variable that a loop keeps for the backward sweep, if that does not read them.
"""

from __future__ import annotations

from ....ir.nodes import Block, Effect, Statement, blocks, operands, walk, walk_blocks
from ....ir.statements import Alloca, AtomicOp, Break, LocalLoad, LocalStore, RangeFor, StructFor, While, base_pointer

LOOPS = (RangeFor, StructFor, While)


def prune(body: Block) -> None:
    """Remove the statements of `body` that have no effect outside it."""
    for block in walk_blocks(body):
        _drop_last_stores(block)
    live = _Liveness(body).find()
    for block in list(walk_blocks(body)):
        block.statements = [statement for statement in block.statements if statement in live]
    for block in list(walk_blocks(body)):
        block.statements = [s for s in block.statements if not _is_empty_loop(s)]


def _drop_last_stores(block: Block) -> None:
    """Drop the stores to variables of a block after the last statement that loads them."""
    variables = {statement for statement in block.statements if isinstance(statement, Alloca)}
    if not variables:
        return
    read: set[Statement] = set()
    remaining: list[Statement] = []
    for statement in reversed(block.statements):
        if isinstance(statement, LocalStore):
            base = base_pointer(statement.pointer)
            if base in variables and base not in read:
                continue
        for inner in walk(Block([statement])):
            if isinstance(inner, (LocalLoad, AtomicOp)):
                read.add(base_pointer(inner.pointer))
        remaining.append(statement)
    block.statements = remaining[::-1]


def _is_empty_loop(statement: Statement) -> bool:
    return isinstance(statement, (RangeFor, StructFor)) and not statement.body.statements


class _Liveness:
    def __init__(self, body: Block) -> None:
        self.body = body
        self.around: dict[Statement, Statement] = {}
        self.breaks: dict[Statement, list[Statement]] = {}
        self.stores: dict[Statement, list[Statement]] = {}
        self._find_structure(body, None, None)

    def _find_structure(self, block: Block, outer: Statement | None, loop: Statement | None) -> None:
        for statement in block.statements:
            if outer is not None:
                self.around[statement] = outer
            if isinstance(statement, Break) and loop is not None:
                self.breaks.setdefault(loop, []).append(statement)
            if isinstance(statement, (LocalStore, AtomicOp)):
                self.stores.setdefault(base_pointer(statement.pointer), []).append(statement)
            for inner in blocks(statement):
                self._find_structure(inner, statement, statement if isinstance(statement, LOOPS) else loop)

    def find(self) -> set[Statement]:
        """Return the live statements."""
        pending = [s for s in walk(self.body) if self._is_root(s)]
        live: set[Statement] = set()
        while pending:
            statement = pending.pop()
            if statement in live:
                continue
            live.add(statement)
            pending += operands(statement)
            pending += [block.result for block in blocks(statement) if block.result is not None]
            pending += self.breaks.get(statement, ())
            if statement in self.around:
                pending.append(self.around[statement])
            if isinstance(statement, (LocalLoad, AtomicOp)):
                pending += self.stores.get(base_pointer(statement.pointer), ())
        return live

    def _is_root(self, statement: Statement) -> bool:
        if isinstance(statement, (LocalStore, AtomicOp)):
            return not isinstance(base_pointer(statement.pointer), Alloca)
        return bool(statement.EFFECT & Effect.WRITE) and statement.type is None  # a random number is a value
