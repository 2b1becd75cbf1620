"""Finds the values that are the same in all iterations of the serial loop that they are in.

for j in range(n) {
    w = min(p.x1, q[j].x1)         `p.x1` is steady
    v = overlap(p, q[j])           and so is the first parameter of `overlap`
"""

from __future__ import annotations

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Statement, operands, walk
from ...ir.statements import Alloca, ArgLoad, AtomicOp, GlobalLoad, GlobalStore, LoopIndex, RangeFor, While, repeats
from ...ir.tasks import Kernel


class SteadyValues:
    """The steady values of a kernel.

    loop_of: the innermost serial loop around a statement. found: steady values that are computed inside of it.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.loop_of: dict[Statement, Statement] = {}
        self.found: set[Statement] = set()
        self.storing: set[Statement] = set()
        self.parameters: dict[object, bool] = {}
        count = len(kernel.functions)
        roots = list(kernel.roots())
        for root in [*roots[: len(roots) - count], *(function.body for function in reversed(kernel.functions))]:
            self._visit(root)

    def has(self, value: Statement, user: Statement) -> bool:
        """Return whether a value is steady where a statement uses it."""
        return value in self.found or self.loop_of.get(value) is not self.loop_of.get(user)

    def _visit(self, root: Block) -> None:
        """Find those of a body, whose callers were visited before."""
        statements = list(walk(root))
        for loop in statements:
            if isinstance(loop, (RangeFor, While)) and repeats(loop):
                inside = list(walk(loop.body))
                self.loop_of.update(dict.fromkeys(inside, loop))
                if any(isinstance(s, (GlobalStore, AtomicOp, Call)) and s.EFFECT & Effect.WRITE for s in inside):
                    self.storing.add(loop)
        for statement in statements:
            if self._is_steady(statement):
                self.found.add(statement)
            if isinstance(statement, Call):
                for parameter, argument in zip(statement.function.parameters, statement.arguments, strict=True):
                    is_steady = self.has(argument, statement)
                    self.parameters[parameter] = self.parameters.get(parameter, True) and is_steady

    def _is_steady(self, value: Statement) -> bool:
        loop = self.loop_of.get(value)
        if isinstance(value, LoopIndex):
            return value.loop is not loop
        if isinstance(value, ArgLoad):
            return self.parameters.get(value.parameter, loop is not None)
        if isinstance(value, GlobalLoad):
            return loop is not None and loop not in self.storing and self.has(value.pointer, value)
        if value.EFFECT != Effect.NONE or value.BLOCKS or isinstance(value, (Alloca, Call)):
            return False
        return all(self.has(operand, value) for operand in operands(value))
