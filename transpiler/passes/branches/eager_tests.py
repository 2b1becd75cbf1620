"""If conversion on CUDA: computes short tests together, where threads of a warp would branch from one to the next.

    if a < -r || b > r { .. }             ->    if (a < -r) | (b > r) { .. }
    if hit { if f(x) { hit = false } }    ->    if hit & f(x) { hit = false }
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from ...ir.functions import Call, Function
from ...ir.nodes import Block, Effect, Statement, blocks, operands, walk, walk_blocks
from ...ir.statements import (
    Alloca,
    Cast,
    Const,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    ArgLoad,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, count_scalars
from ..context import PassContext
from .parts.comparisons import EAGER

MOST_IN_TEST = int(os.environ.get("MT", 12))
MOST_IN_BRANCH = int(os.environ.get("MB", 64))
CHEAP = frozenset(
    {
        "abs", "neg", "add", "sub", "mul", "min", "max", "lt", "le", "gt", "ge", "eq", "ne", "select", "dot", "cross",
        "logical_and", "logical_or", "logical_not", "bit_and", "bit_or", "bit_xor", "shl", "shr", "sar", "wrapping_add",
        "wrapping_sub", "sum", "floor", "fma",
    }
)  # fmt: skip


def eager_tests(kernel: Kernel, context: PassContext) -> bool:
    """Convert such branches and conditions."""
    if not context.capabilities.has_warps or not context.capabilities.has_launch_bounds:
        return False
    changed = False
    costs = _Costs()
    for root in kernel.roots():
        for block in list(walk_blocks(root)):
            for branch in [s for s in block if isinstance(s, If)]:
                changed |= _join(block, branch, costs)
        for statement in walk(root):
            if isinstance(statement, Operation) and statement.op in EAGER and isinstance(statement.type, Scalar):
                first, *others = statement.operands
                if all(costs.of_tree(other) <= MOST_IN_TEST for other in others):
                    statement.op = EAGER[statement.op]
                    changed = True
    return changed


def _join(block: Block, branch: If, costs: _Costs) -> bool:
    """Make one branch of a branch that only computes the condition of another one."""
    if branch.otherwise is not None and branch.otherwise.statements:
        return False
    statements = branch.then.statements
    if len(statements) < 1 or not isinstance(inner := statements[-1], If):
        return False
    if inner.otherwise is not None and inner.otherwise.statements:
        return False
    own = {s for s in statements if isinstance(s, Alloca)}
    if not all(_is_private(s, own) for s in statements[:-1]):
        return False
    if sum(map(costs.of, statements[:-1])) > MOST_IN_BRANCH or costs.of_tree(inner.condition) > MOST_IN_BRANCH:
        return False
    found = Operation("bit_and", [branch.condition, inner.condition], type=branch.condition.type, location=branch.location)
    branch.condition = found
    branch.then = inner.then
    index = block.statements.index(branch)
    block.statements[index:index] = [*statements[:-1], found]
    return True


def _is_private(statement: Statement, own: set[Statement]) -> bool:
    """Return whether a statement has no effect outside of a block whose variables are `own`."""
    if isinstance(statement, LocalStore):
        return base_pointer(statement.pointer) in own
    if statement.BLOCKS:
        return False
    return isinstance(statement, Alloca) or statement.EFFECT == Effect.NONE or _is_local(statement)


def _is_local(statement: Statement) -> bool:
    return isinstance(statement, LocalLoad) or (isinstance(statement, Call) and statement.EFFECT == Effect.NONE)


class _Costs:
    """Instructions of statements, about; `HUGE` for what should not be computed in vain."""

    HUGE = 10_000

    def __init__(self) -> None:
        self.of_functions: dict[Function, int] = {}

    def of(self, statement: Statement) -> int:
        if isinstance(statement, (Const, LoopIndex, ArgLoad, LocalLoad, LocalStore, Alloca, MatrixPtr, MatrixElement, MatrixInit)):
            return 0
        if isinstance(statement, Cast):
            return 1
        if isinstance(statement, Operation) and statement.op in CHEAP:
            most = max([statement, *statement.operands], key=lambda s: count_scalars(s.type) if s.type else 1)
            return count_scalars(most.type) if most.type is not None else 1
        if isinstance(statement, Call):
            return self._of_function(statement.function)
        return self.HUGE

    def of_tree(self, value: Statement) -> int:
        """Return the cost of a value with what it is computed from and has no name."""
        if value.name is not None:
            return 0
        return self.of(value) + sum(map(self.of_tree, operands(value)))

    def _of_function(self, function: Function) -> int:
        if function not in self.of_functions:
            self.of_functions[function] = self.HUGE
            inside = list(function.body)
            if any(s.BLOCKS for s in inside):
                return self.HUGE
            from ...ir.statements import Return
            self.of_functions[function] = sum(0 if isinstance(s, Return) else self.of(s) for s in inside)
        return self.of_functions[function]
