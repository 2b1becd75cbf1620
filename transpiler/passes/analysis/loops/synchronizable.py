"""Loops in which all threads of a block may wait for each other."""

from __future__ import annotations

from ....ir.functions import reachable
from ....ir.nodes import Effect, walk
from ....ir.statements import RECORDS, Rand, Return
from ....ir.tasks import Task, TaskKind
from ....ir.threads import depends_on_block
from ..queries import ends_iteration


def may_synchronize(task: Task, *, reduces: bool = False) -> bool:
    """Return whether all threads of a block that have an iteration run all top-level statements of the task.

    reduces: its iterations may add to reductions, or to copies of blocks, whose loop whole blocks run then.
    """
    if task.kind is not TaskKind.RANGE_FOR or ((task.reductions or task.block_sums) and not reduces):
        return False
    excluded = (*RECORDS, Rand)
    statements = list(reachable(task.body))
    if any(isinstance(s, excluded) or depends_on_block(s) or s.EFFECT & Effect.FENCE for s in statements):
        return False
    if any(isinstance(statement, Return) for statement in walk(task.body)):
        return False
    return not any(ends_iteration(statement) for statement in task.body.statements)
