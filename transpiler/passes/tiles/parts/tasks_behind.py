"""What an iteration does behind its columns, as a task of its own.

    for n in x {                            for n in x {
        for k in m { ... at = k }               for k in m { ... at = k }
        for d in D { r += ... }     ->          at_of[n] = at
        loss[None] += r                     }
    }                                       for n in x { at = at_of[n], for d in D { r += ... }, loss[None] += r }

The threads of a block wait for each other in the columns, which those of a task with reductions do not, and a row has
one thread behind them. In: a task. Out: two of them, and the memory for what the second one has of the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.builder import Builder
from ....ir.functions import Reference
from ....ir.nodes import Block, Statement, operands, reads, walk
from ....ir.statements import (
    Alloca,
    GlobalLoad,
    GlobalPtr,
    GlobalTemporary,
    LoopIndex,
    MatrixPtr,
    RangeFor,
    Temporary,
    is_const,
    repeats,
)
from ....ir.tasks import Task
from ....ir.types import Scalar, Tensor, i32
from ...analysis.aliasing import may_alias, written_objects
from ...analysis.queries import base_array, count_along, product_of
from ...tasks.parts.copies import copy_of
from .arranged_loops import VALUES

MOST_ROWS = 1 << 22
"""Rows of which the memory between the tasks has values."""


def with_task_behind(task: Task, last: RangeFor | None = None) -> tuple[Task, Task, list[Temporary]] | None:
    """Return a task up to a serial loop, one for what is behind it, and what they share; None if it is one.

    last: the serial loop; else the first one, if it has sums inside.
    """
    columns = last or next((s for s in task.body.statements if repeats(s)), None)
    counts = counts_of(task)
    if columns is None or counts is None or not isinstance(columns, RangeFor):
        return None
    if last is None and not any(map(repeats, walk(columns.body))):  # no sums inside, and copies take time
        return None
    position = task.body.statements.index(columns) + 1
    behind = task.body.statements[position:]
    if not task.reductions and not any(map(repeats, walk(Block(behind)))):
        return None
    again = _computed_again(task, position)
    crossing = _crossing(task.body.statements[:position], behind, again)
    if crossing is None:
        return None
    first, second = copy_of(task), copy_of(task)
    first.reductions, first.join, first.epilogue, first.blocks_done = [], Block(), Block(), None
    first.ends_alone = False
    memory = [Temporary(f"{_name(task, number)}_of_rows", _array(task, number, counts)) for number in crossing]
    own = first.body.statements[:position]
    first.body.statements[:] = [s for s in own if not isinstance(s, Reference)]
    builder = Builder(first.body, columns.location)
    for number, temporary in zip(crossing, memory, strict=True):
        value = builder.load(own[number])
        builder.store(place_of_iteration(builder, first.loop, temporary, counts), value)
    start = Builder(Block(), columns.location)
    before = second.body.statements[:position]
    start.block.statements += [s for n, s in enumerate(before) if isinstance(s, Reference) or n in {*again, *crossing}]
    for number, temporary in zip(crossing, memory, strict=True):
        start.location = before[number].location
        start.store(before[number], start.load(place_of_iteration(start, second.loop, temporary, counts)))
    second.body.statements[:position] = start.block.statements
    return first, second, memory


def counts_of(task: Task) -> list[int] | None:
    """Return the lengths of the axes of a loop from 0 on, None if they are not known, or there are too many rows."""
    loop = task.loop
    if loop is None or loop.cells is not None or task.private or task.block_sums:
        return None
    if not all(is_const(start, 0) for start in loop.starts) or not all(is_const(step, 1) for step in loop.steps):
        return None
    counts = [count_along(loop, axis) for axis in range(len(loop.starts))]
    total = product_of(counts)
    return None if total is None or total > MOST_ROWS else [count or 0 for count in counts]


def _computed_again(task: Task, position: int) -> set[int]:
    """Return the positions of values before another one that a task may compute again: no iteration stores what they
    load."""
    written = written_objects(task.body)
    may_change = any(map(may_alias, written))
    known: dict[Statement, int] = {}
    for number, statement in enumerate(task.body.statements[:position]):
        if isinstance(statement, GlobalLoad):
            array = base_array(statement.pointer)
            if array is None or array in written or (array.may_alias and may_change):
                continue
        if isinstance(statement, (*VALUES, GlobalPtr, GlobalLoad)) and known.keys() >= set(operands(statement)):
            known[statement] = number
    return set(known.values())


def _crossing(before: list[Statement], behind: list[Statement], again: set[int]) -> list[int] | None:
    """Return the positions of the variables that both parts use, None if one uses more of the other.

    again: the positions of values that both parts compute.
    """
    inside = [s for statement in before for s in walk(Block([statement]))]
    if any(isinstance(operand, Reference) for s in inside for operand in operands(s)):
        return None
    inside = [s for s in inside if not isinstance(s, Reference)]
    used = {value for s in walk(Block(behind)) for value in reads(s)}
    known = {before[number] for number in again}
    shared = [s for s in inside if s in used and s not in known]
    if not all(isinstance(s, Alloca) and isinstance(s.type, Scalar) and s in before for s in shared):
        return None
    return sorted({before.index(s) for s in shared})


def _name(task: Task, number: int) -> str:
    return task.body.statements[number].name or "value"


def _array(task: Task, number: int, counts: list[int]) -> Tensor:
    kind, total = task.body.statements[number].type, product_of(counts)
    assert isinstance(kind, Scalar) and total is not None
    return Tensor((total,), kind)


def place_of_iteration(
    builder: Builder, loop: RangeFor | None, memory: Temporary, counts: Sequence[int], part: Statement | None = None
) -> Statement:
    """Return where an iteration of a parallel loop has its number in the memory between tasks.

    counts: of the iterations along its last axes. part: which of several numbers.
    """
    assert loop is not None and isinstance(memory.type, Tensor)
    number = part
    for axis, count in enumerate(counts, len(loop.starts) - len(counts)):
        index = builder.add(LoopIndex(loop, axis, type=i32))
        number = index if number is None else builder.op("add", builder.op("mul", number, builder.const(count)), index)
    assert number is not None
    origin = builder.add(GlobalTemporary(memory, type=memory.type))
    return builder.add(MatrixPtr(origin, [number], type=memory.type.element))
