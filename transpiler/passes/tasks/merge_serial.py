"""Fusion of serial tasks: moves statements of one into an earlier or a later one, if nothing in between can tell.

    task 0: store temp total, 0                        task 0: store temp total, 0; store count[], 0
    task 1: for i in x { atomic add temp total, x[i] } task 1: for i in x { ... }
    task 2: store count[], 0                    ->     task 2: for i in y { ... }
    task 3: for i in y { ... }

A serial task is a launch of one thread. Statements move past loops that share no memory with them, neither print nor
fail. Loops stay where they are, since one thread may run them for long while the others wait.
"""

from __future__ import annotations

from itertools import pairwise

from ...ir.nodes import walk
from ...ir.statements import Rand
from ...ir.tasks import Kernel, Task
from ..analysis.task_order import Memory, is_movable, may_be_crossed, memory_of
from ..context import PassContext
from .parts.task_names import set_tasks


def merge_serial(kernel: Kernel, context: PassContext) -> bool:
    """Merge serial tasks across the loops between them."""
    serial = [task for task in kernel.tasks if task.loop is None]
    if len(serial) < 2 or context.may_have(kernel, (Rand,)):
        return False
    merging = _Merging(kernel.tasks)
    remaining = merging.into_later(merging.into_earlier(serial))
    if len(remaining) == len(serial):
        return False
    set_tasks(kernel, [task for task in kernel.tasks if task.loop is not None or task in remaining])
    return True


class _Merging:
    """Merges serial tasks.

    Attributes:
        tasks: those of the kernel. positions: by task.
        movable: the serial tasks whose statements may move.
        known: what tasks read and write, None for a loop that nothing may cross.
    """

    def __init__(self, tasks: list[Task]) -> None:
        self.tasks = tasks
        self.positions = {task: position for position, task in enumerate(tasks)}
        self.movable = {task for task in tasks if task.loop is None and all(map(is_movable, walk(task.body)))}
        self.known: dict[Task, Memory | None] = {}

    def into_earlier(self, serial: list[Task]) -> list[Task]:
        """Move the statements of tasks into the serial task before them, where that is possible; return the others."""
        remaining = serial[:1]
        for task in serial[1:]:
            if self._may_cross(task, remaining[-1], task):
                self._join(remaining[-1], task, remaining[-1])
            else:
                remaining.append(task)
        return remaining

    def into_later(self, serial: list[Task]) -> dict[Task, None]:
        """Move them likewise into the serial task after them."""
        remaining: dict[Task, None] = {}
        for task, following in pairwise(serial):
            if self._may_cross(task, task, following):
                self._join(task, following, following)
            else:
                remaining[task] = None
        return {**remaining, serial[-1]: None}

    def _join(self, first: Task, second: Task, joined: Task) -> None:
        """Give one of two tasks the statements of both."""
        joined.body.statements = first.body.statements + second.body.statements
        self.known.pop(joined, None)

    def _may_cross(self, task: Task, first: Task, last: Task) -> bool:
        """Return whether nothing between two tasks can tell when the statements of `task`, one of them, run."""
        if task not in self.movable:
            return False
        known = self.known
        own = known.get(task)
        if own is None:
            own = known[task] = memory_of(task.body)
        for loop in self.tasks[self.positions[first] + 1 : self.positions[last]]:
            if loop.loop is None:
                continue  # it has been moved
            if loop not in known:
                known[loop] = memory_of(*loop.roots()) if may_be_crossed(loop) else None
            memory = known[loop]
            if memory is None or not own.is_independent_of(memory):
                return False
        return True
