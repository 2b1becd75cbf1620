"""Moves the statements of a serial task into an earlier or a later serial task, if nothing in between can tell.

    task 0: store temp total, 0                        task 0: store temp total, 0; store count[], 0
    task 1: for i in x { atomic add temp total, x[i] } task 1: for i in x { ... }
    task 2: store count[], 0                    ->     task 2: for i in y { ... }
    task 3: for i in y { ... }

A serial task is a launch of one thread. Statements move past loops that share no memory with them, neither print nor
fail. Loops stay where they are, since one thread may run them for long while the others wait.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.nodes import walk
from ...ir.statements import Rand
from ...ir.tasks import Kernel, Task
from ..analysis.task_order import Memory, is_movable, may_be_crossed, memory_of
from ..context import PassContext

Known = dict[Task, Memory | None]
"""What tasks read and write, None for a loop that nothing may cross."""


def merge_serial(kernel: Kernel, context: PassContext) -> bool:
    """Merge serial tasks across the loops between them."""
    serial = [task for task in kernel.tasks if task.loop is None]
    if len(serial) < 2 or context.may_have(kernel, (Rand,)):
        return False
    remaining = list(kernel.tasks)
    movable = [task for task in serial if all(map(is_movable, walk(task.body)))]
    known: Known = {}
    for is_later, task in [*((False, task) for task in movable), *((True, task) for task in movable)]:
        if task in remaining:
            _move(task, remaining, is_later, known)
    if len(remaining) == len(kernel.tasks):
        return False
    set_tasks(kernel, remaining)
    return True


def _move(task: Task, tasks: list[Task], is_later: bool, known: Known) -> None:
    """Move the statements of a task into the serial task before it, or after it, if they may cross what is between."""
    position = tasks.index(task)
    numbers = range(position + 1, len(tasks)) if is_later else range(position - 1, -1, -1)
    other = next((k for k in numbers if tasks[k].loop is None), None)
    if other is None or not _may_cross(task, tasks[min(position, other) + 1 : max(position, other)], known):
        return
    body = tasks[other].body
    body.statements = task.body.statements + body.statements if is_later else body.statements + task.body.statements
    known.pop(tasks[other], None)
    tasks.remove(task)


def _may_cross(task: Task, between: Sequence[Task], known: Known) -> bool:
    own = known.get(task)
    if own is None:
        own = known[task] = memory_of(task.body)
    for loop in between:
        if loop not in known:
            known[loop] = memory_of(*loop.roots()) if may_be_crossed(loop) else None
        memory = known[loop]
        if memory is None or not own.is_independent_of(memory):
            return False
    return True


def draws_numbers(kernel: Kernel) -> bool:
    """Return whether the numbers of tasks matter: random numbers depend on them."""
    return any(isinstance(statement, Rand) for root in kernel.roots() for statement in walk(root))


def set_tasks(kernel: Kernel, tasks: list[Task]) -> None:
    """Replace the tasks of a kernel, and name them by their new numbers."""
    kernel.tasks = tasks
    for number, task in enumerate(tasks):
        task.name = f"{kernel.name}_{number}" if len(tasks) > 1 else kernel.name
