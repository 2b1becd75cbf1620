"""Removes unused values and empty control statements.

$0 = load a[$i]        (removed: not used)
if c { }               (removed: empty)
for i in 0..n { }      (removed: a range loop always ends)
"""

from __future__ import annotations

from ...ir.nodes import Block, Effect, Statement, blocks, count_uses_in, operands
from ...ir.remarks import remark_dropped_task
from ...ir.statements import If, LocalLoad, RangeFor, StructFor
from ...ir.tasks import Kernel
from ...ir.threads import ThreadFor
from ..context import PassContext

STRUCTURAL = (If, RangeFor, StructFor, ThreadFor)
"""Statements whose only effects are those of their bodies."""


def dead_code(kernel: Kernel, context: PassContext) -> bool:
    """Drop statements without effects whose value is unused.

    One backward walk is enough: the uses of a value follow it, so they are removed before the value is visited.
    """
    sweep = _Sweep(kernel)
    sweep.explains = context.options.why_comments and not kernel.tasks
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

    drops_reads: one of them read a variable or had blocks: `forward_stores` may find more then.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.uses = count_uses_in(kernel.roots())
        self.changed = False
        self.drops_reads = False
        self.kernel = kernel
        self.explains = False
        for task in kernel.tasks:
            if task.loop is not None:
                self.uses.update(operands(task.loop))

    def _release(self, statement: Statement) -> None:
        """Subtract the uses by `statement` and the statements inside it."""
        read = operands(statement)
        for operand in read:
            self.uses[operand] -= 1
        if statement.BLOCKS or statement.EFFECT or any(isinstance(operand, LocalLoad) for operand in read):
            self.drops_reads = True
        for attribute in statement.BLOCKS:
            inner = getattr(statement, attribute)
            if inner is None:
                continue
            for nested in inner.statements:
                self._release(nested)
            if inner.result is not None:
                self.uses[inner.result] -= 1

    def _explain(self, dropped: Statement, block: Block) -> None:
        if self.explains and block is self.kernel.body:
            remark_dropped_task(self.kernel, dropped, "dead_code")

    def block(self, block: Block) -> None:
        remaining: list[Statement] = []
        for statement in reversed(block.statements):
            if statement.BLOCKS:
                if self.uses.get(statement, 0) == 0 and not _has_outside_effect(statement):
                    self._release(statement)
                    self._explain(statement, block)
                    self.changed = True
                    continue
                for attribute in reversed(statement.BLOCKS):
                    inner = getattr(statement, attribute)
                    if inner is not None:
                        self.block(inner)
                if _is_empty(statement):
                    self._release(statement)
                    self._explain(statement, block)
                    self.changed = True
                    continue
            elif not statement.EFFECT & (Effect.WRITE | Effect.CONTROL) and not self.uses.get(statement):
                self._release(statement)
                self.changed = True
                continue
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
