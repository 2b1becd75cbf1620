"""Dead code elimination: removes unused values and empty control statements.

$0 = load a[$i]        (removed: not used)
if c { }               (removed: empty)
for i in 0..n { }      (removed: a range loop always ends)
"""

from __future__ import annotations

from ...ir.nodes import READERS, Block, Effect, Statement, blocks, operands
from ...ir.remarks import remark_dropped_task
from ...ir.statements import Const, If, LocalLoad, RangeFor, StructFor
from ...ir.tasks import Kernel
from ...ir.threads import ThreadFor
from ..context import PassContext

EFFECTS = Effect.WRITE | Effect.CONTROL
STRUCTURAL = (If, RangeFor, StructFor, ThreadFor)
"""Statements whose only effects are those of their bodies."""


def dead_code(kernel: Kernel, context: PassContext) -> bool:
    """Drop statements without effects whose value is unused.

    One backward walk is enough: the uses of a value follow it, so they are removed before the value is visited.
    """
    sweep = _Sweep(kernel)
    for function in kernel.functions:
        sweep.block(function.body)
    if not kernel.tasks:
        sweep.block(kernel.body)
    for task in kernel.tasks:
        for root in reversed(task.roots()):
            sweep.block(root)
    if not sweep.drops_reads:
        context.left = frozenset()
    return sweep.changed


class _Sweep:
    """Drops statements.

    used: what the remaining statements read: the walk goes backward, and uses follow their value.
    drops_reads: a dropped statement read a variable or had blocks: `forward_stores` may find more then.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.used: set[Statement] = set()
        self.changed = False
        self.drops_reads = False
        self.kernel = kernel
        for task in kernel.tasks:
            if task.loop is not None:
                self.used.update(operands(task.loop))

    def _drop(self, statement: Statement, block: Block) -> None:
        self.changed = True
        if statement.BLOCKS:
            self.drops_reads = True
            if block is self.kernel.body and not self.kernel.tasks:
                remark_dropped_task(self.kernel, statement, "dead_code")
        elif statement.EFFECT or any(operand.__class__ is LocalLoad for operand in operands(statement)):
            self.drops_reads = True

    def block(self, block: Block) -> None:
        if not block.statements and block.result is None:
            return
        remaining: list[Statement] = []
        used, readers = self.used, READERS
        if block.result is not None:
            used.add(block.result)
        for statement in reversed(block.statements):
            if statement.BLOCKS:
                if statement not in used and not _has_outside_effect(statement):
                    self._drop(statement, block)
                    continue
                for attribute in reversed(statement.BLOCKS):
                    inner = getattr(statement, attribute)
                    if inner is not None:
                        self.block(inner)
                if _is_empty(statement):
                    self._drop(statement, block)
                    continue
            elif statement not in used and not statement.EFFECT & EFFECTS:
                self._drop(statement, block)
                continue
            if statement.__class__ is not Const:
                used.update(readers[statement.__class__](statement))
            remaining.append(statement)
        if len(remaining) != len(block.statements):
            remaining.reverse()
            block.statements = remaining


def _has_outside_effect(statement: Statement) -> bool:
    """Return whether a statement with blocks may have an effect outside them."""
    if not isinstance(statement, STRUCTURAL) and statement.EFFECT:
        return True
    pending = blocks(statement)
    while pending:
        for inner in reversed(pending.pop().statements):  # most end with a store
            if inner.EFFECT & (Effect.WRITE | Effect.CONTROL) and not isinstance(inner, STRUCTURAL):
                return True
            if inner.BLOCKS:
                pending += blocks(inner)
    return False


def _is_empty(statement: Statement) -> bool:
    if isinstance(statement, If):
        if statement.otherwise is not None and not statement.otherwise.statements:
            statement.otherwise = None
        return not statement.then.statements and statement.otherwise is None
    return isinstance(statement, (RangeFor, StructFor, ThreadFor)) and not statement.body.statements
