"""Tasks in place of one: several that run the same loop, or parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import chain

from ....ir.nodes import Block, Statement, clone, clone_block, walk
from ....ir.statements import LoopIndex, RangeFor
from ....ir.tasks import Apart, AtLeast, Choice, Condition, Kernel, Reaches, Task


def copy_of(task: Task) -> Task:
    """Return a copy of a task with a loop of its own."""
    loop, mapping = task.loop, dict[Statement, Statement]()
    assert loop is not None
    made = copy(task)
    made.reductions, made.private, made.block_sums = [*task.reductions], [*task.private], [*task.block_sums]
    made.join, made.epilogue, made.tables = (copy_of_block(b, {}) for b in (task.join, task.epilogue, task.tables))
    made.prologue, made.body = clone_block(task.prologue, mapping), Block()
    loop.body, body = made.body, loop.body
    made.loop = clone(loop, mapping)  # type: ignore[assignment]
    loop.body = body
    assert isinstance(made.loop, RangeFor)
    made.loop.body = made.body
    made.body.statements += copy_of_block(task.body, mapping).statements
    return made


def split(task: Task, *conditions: Condition) -> Task:
    """Let a launch start a task when all conditions hold, and unless they do a copy of it, which is returned."""
    choice, other = Choice(list(conditions)), copy_of(task)
    task.when, other.unless = [*task.when, choice], [*task.unless, choice]
    return other


def copy_of_block(block: Block, mapping: dict[Statement, Statement]) -> Block:
    """Return a copy of a block as `clone_block` does, with the indices of the copies of loops."""
    copied = clone_block(block, mapping)
    for statement in walk(copied):
        if isinstance(statement, LoopIndex):
            statement.loop = mapping.get(statement.loop, statement.loop)  # type: ignore[assignment]
    return copied


def put_in_place(kernel: Kernel, task: Task, tasks: Sequence[Task]) -> None:
    """Replace a task of a kernel by others; all are numbered anew."""
    position = kernel.tasks.index(task)
    kernel.tasks[position : position + 1] = tasks
    for number, each in enumerate(kernel.tasks):
        each.name = f"{kernel.name}_{number}"


def say_when(
    task: Task, other: Task, conditions: Sequence[Condition], rows: str = "rows", others: str = "shorter rows"
) -> None:
    """Say of a task and of another one which launches start them, behind what is said of both.

    rows, others: of which of the two, if more is to be said of them.
    """
    lengths = [condition.least for condition in conditions if isinstance(condition, AtLeast)]
    pairs = [(condition.first, condition.second) for condition in conditions if isinstance(condition, Apart)]
    *first, last = [array.name for array in dict.fromkeys(chain.from_iterable(pairs))] or [""]
    names = f"{', '.join(first)} and {last}"
    arrays = list(dict.fromkeys(c.array.name for c in conditions if isinstance(c, Reaches)))
    reached = f"{' and '.join(arrays)} {'are' if arrays[1:] else 'is'}"
    long = [f"for {rows} of {least:,} and more" for least in lengths]
    short = [f"for {others}" for _ in lengths]
    before = [task.launches] if task.launches else []
    long += [f"if {names} do not overlap"] if pairs else []
    short += [f"if {names} overlap"] if pairs else []
    long += [f"{'and ' if pairs else 'if '}{reached} as long as the loop"] if arrays else []
    short += [f"{'' if pairs else 'if '}{reached} shorter than the loop"] if arrays else []
    task.launches, other.launches = ("; ".join([*before, text]) for text in (" ".join(long), " or ".join(short)))
