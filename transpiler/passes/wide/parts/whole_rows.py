"""Extends a loop over a part of each row to whole rows, so that `wide_accesses` may take several iterations as one.

    for i, j in (1 .. n - 1, 1 .. m - 1) { b[i, j] = ... }    ->    for i, j in (1 .. n - 1, 0 .. m) {
                                                                        if j >= 1 and j < m - 1 { b[i, j] = ... }
                                                                    }

A row of a field starts at a multiple of 16 bytes, its second element does not, and so it is with rows of ndarrays whose
length is a multiple of four. Threads also find their indices sooner: they divide by 8192, a shift, and not by 8190. The
iterations that are added do nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, walk
from ....ir.origins import extent_of
from ....ir.statements import (
    Array,
    ArrayShape,
    Const,
    GlobalPtr,
    GlobalStore,
    If,
    LoopIndex,
    Operation,
    RangeFor,
    base_pointer,
    is_const,
)
from ....ir.tasks import Task
from ....ir.types import i32
from ...analysis.queries import is_index_of
from .widenable import Plan

ADDED = 8
"""At most one iteration is added to so many."""
MARGIN = 16
"""At most so many iterations are added at either end of a row whose length comes with the launch."""


def plan_of_whole_rows(task: Task, find: Callable[[Task], Plan | None]) -> Plan | None:
    """Extend the loop of a task and return how it is widened; None if it cannot be, and then it stays as it is.

    find: returns how a task is widened that is a loop over whole rows, None for others.
    """
    loop, array = task.loop, _stored_array(task)
    if loop is None or array is None:
        return None
    end = _end_of_row(loop) if array.shape is None else _end_of_known_row(loop, array)
    if end is None:
        return None
    before = loop.starts[-1], loop.ends[-1], list(task.body)
    _extend(task, loop, end)
    plan = find(task)
    if plan is None:
        loop.starts[-1], loop.ends[-1], task.body.statements[:] = before
        return None
    task.prologue.statements += [s for s in (loop.starts[-1], loop.ends[-1]) if s not in task.prologue.statements]
    return plan


def _stored_array(task: Task) -> Array | None:
    """Return the first array that a task stores to."""
    for statement in walk(task.body):
        if isinstance(statement, GlobalStore) and isinstance(base := base_pointer(statement.pointer), GlobalPtr):
            return base.array
    return None


def _end_of_known_row(loop: RangeFor, array: Array) -> Statement | None:
    """Return the length of a field's rows if a loop takes most of each and not all, else None."""
    start, end = loop.starts[-1], loop.ends[-1]
    if not (isinstance(start, Const) and isinstance(end, Const) and is_const(loop.steps[-1], 1) and array.shape):
        return None
    extent, count = array.shape[-1], int(end.value) - int(start.value)
    if not (start.value >= 0 and end.value <= extent and 0 < extent - count <= count // ADDED):
        return None
    return Const(extent, extent_of(array, array.ndim - 1), type=i32, location=loop.location)


def _end_of_row(loop: RangeFor) -> Statement | None:
    """Return the length of an ndarray's rows if a loop leaves out a few elements at the ends of each, else None."""
    start, end = loop.starts[-1], loop.ends[-1]
    if not (isinstance(start, Const) and 0 <= start.value <= MARGIN and is_const(loop.steps[-1], 1)):
        return None
    length = length_less(end)
    if length is None or (length[0] is end and is_const(start, 0)):
        return None
    extent = length[0]
    return extent if isinstance(extent.array, Array) and extent.axis == extent.array.ndim - 1 > 0 else None


def length_less(bound: Statement) -> tuple[ArrayShape, int] | None:
    """Return an ndarray's length and what is subtracted from it, None for another bound, of which less may wrap."""
    found = minuend_of(bound)
    return (found[0], found[1]) if found is not None and isinstance(found[0], ArrayShape) else None


def minuend_of(bound: Statement) -> tuple[Statement, int] | None:
    """Return what small numbers are subtracted from, and their sum; None if one is large or negative."""
    less = 0
    while isinstance(bound, Operation) and bound.op == "sub" and isinstance(number := bound.operands[1], Const):
        if not 0 <= number.value <= MARGIN:
            return None
        bound, less = bound.operands[0], less + int(number.value)
    return bound, less


def _extend(task: Task, loop: RangeFor, length: Statement) -> None:
    """Let the loop run over whole rows, with its body under a condition."""
    axis = len(loop.starts) - 1
    start, end = loop.starts[axis], loop.ends[axis]
    loop.starts[axis] = Const(0, type=i32, location=loop.location)
    loop.ends[axis] = length
    own = [s for s in task.body if is_index_of(s, loop)]
    rest = [s for s in task.body if s not in own]
    task.body.statements[:] = own
    builder = Builder(task.body, loop.location)
    index: Statement = next((s for s in own if s.axis == axis), None) or builder.add(LoopIndex(loop, axis, type=i32))
    low, high = builder.op("ge", index, builder.again(start)), builder.op("lt", index, builder.again(end))
    condition = builder.all_of([low, high])
    assert condition is not None
    builder.add(If(condition, Block(rest)))
