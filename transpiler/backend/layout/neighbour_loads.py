"""Finds the fields of which a thread accesses neighbours one after another: some compilers need a hint about alignment.

    for (int k = 0; k < m; k++) s += a(i, k);        #define a(i, j) aligned(args.a_data)[(i) * a_n1 + (j)]

NVRTC unrolls such a loop, and where it knows that four neighbours start at a multiple of 16 bytes, it loads them
at once. That takes a start of the field, rows of so many bytes, and a loop from a multiple of four. A gated
recurrent unit of 64 numbers took an H200 .031 ms before, and .011 ms after. The same holds for `a(i, 0) = x; a(i,
1) = y; ...`, and for the indices of unrolled loops (`static_neighbours`).

In a loop that also stores, loads must not wait for that. `__ldg(&a(i, k))` would not, but NVRTC joins no such calls,
nor other loads across them. So the task has variables for the pointers, which are `__restrict__`: of members of `Args`
NVRTC takes no notice of that, nor of a variable behind a branch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...ir.functions import Call, called
from ...ir.nodes import Block, Statement, reads, walk, walk_blocks, walk_inside
from ...ir.statements import (
    Array,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LoopIndex,
    RangeFor,
    While,
    base_pointer,
)
from ...ir.tasks import Kernel, Task
from ...ir.threads import Barrier
from ...ir.types import Scalar
from .static_neighbours import BYTES, count_of, depends_on, side_by_side, starts_whole
from .usage import Usage

MOST_STATEMENTS, MOST_OF_UNKNOWN = 48, 16
"""Of a loop, without branches, which NVRTC unrolls: of known length, and of one that only the thread knows."""


def read_by_rows(kernel: Kernel, usage: Usage) -> frozenset[Array]:
    """Return such fields. usage: of the arrays, of which some are accessed by other means."""
    bodies = [task.body for task in kernel.tasks]
    bodies += [function.body for function in called(*bodies)]
    found = {array for body in bodies for loop, inside in _loops(body) for array in _along(loop, inside)}
    found |= {array for body in bodies for block in walk_blocks(body) for array in side_by_side(block)}
    return frozenset(array for array in found if array not in usage.wide and array not in usage.flat)


def by_variables(kernel: Kernel, rows: Collection[Array], read_only: Collection[Array]) -> frozenset[Array]:
    """Return the fields that are loaded in the loops that load some by rows and store, if only bodies of tasks access
    them, where a variable can hold the pointer, and not all threads load the same elements. rows: fields of
    `read_by_rows`. read_only: fields that nothing writes.

    Rows of 8 x 8 cosines that all threads multiply by took an H200 .077 ms with a variable, and .051 by `__ldg`.
    """
    if not rows:
        return frozenset()
    found: set[Array] = set()
    pointers = ((p, task) for task in kernel.tasks for p in walk(task.body) if isinstance(p, GlobalPtr))
    varying = {pointer.array for pointer, task in pointers if _varies(pointer, task)}
    for inside in storing_loops(kernel):
        loaded = {s.array for s in inside if isinstance(s, GlobalPtr) and s.array in read_only and s.array in varying}
        found |= set() if loaded.isdisjoint(rows) else loaded
    others = [block for task in kernel.tasks for block in task.roots() if block is not task.body]
    others += [function.body for function in called(*(root for task in kernel.tasks for root in task.roots()))]
    return frozenset(found - {s.array for block in others for s in walk(block) if isinstance(s, GlobalPtr)})


def _varies(pointer: GlobalPtr, task: Task) -> bool:
    """Return whether threads may access different elements by a pointer, or there is one thread."""
    pending = list(pointer.indices)
    if task.loop is None:
        return True
    while pending:
        value = pending.pop()
        if isinstance(value, (GlobalLoad, LocalLoad)) or (isinstance(value, LoopIndex) and value.loop is task.loop):
            return True
        pending += reads(value)
    return False


def storing_loops(kernel: Kernel) -> Iterator[list[Statement]]:
    """Yield what is inside the serial loops that store, and in tasks whose iterations may overlap."""
    for task in kernel.tasks:
        if task.overlaps:
            yield list(walk(task.body))
        yield from _storing_loops_of(task)


def _storing_loops_of(task: Task) -> Iterator[list[Statement]]:
    for loop in walk(task.body):
        if isinstance(loop, (RangeFor, While)):
            inside = list(walk_inside(loop))
            if any(isinstance(statement, GlobalStore) for statement in inside):
                yield inside


def loads_apart(kernel: Kernel) -> frozenset[Statement]:
    """Return the loads of numbers of ndarrays in such loops of tasks that a launch starts if the ndarrays that these
    store are others. Without saying so, each load waits for the stores before it, that of a factor of the row, too.
    """
    return frozenset(load for task in kernel.tasks if task.when for load in _loads_apart(task))


def _loads_apart(task: Task) -> Iterator[GlobalLoad]:
    every = list(walk(task.body))
    if any(isinstance(s, (Call, Barrier)) for s in every):
        return
    written = [base_pointer(s.pointer) for s in every if isinstance(s, (GlobalStore, AtomicOp))]
    others = {base.array for base in written if isinstance(base, GlobalPtr) and not base.array.is_shared}
    for inside in _storing_loops_of(task):
        for load in inside:
            pointer = load.pointer if isinstance(load, GlobalLoad) else None
            if isinstance(pointer, GlobalPtr) and _is_number(pointer) and pointer.array.may_alias:
                if not any(task.may_share(pointer.array, other) for other in others):
                    assert isinstance(load, GlobalLoad)
                    yield load


def _is_number(pointer: GlobalPtr) -> bool:
    """Return whether a pointer is of a number of 4 bytes or more, in memory that all threads have in common."""
    element = pointer.array.element
    is_alone = pointer.lanes == 1 and not pointer.by_word and not pointer.array.is_shared
    return is_alone and isinstance(element, Scalar) and element.size_bytes >= 4


def _loops(block: Block) -> Iterator[tuple[RangeFor, list[Statement]]]:
    """Return the short serial loops in a block that start at a multiple of four and step by one, and what is inside."""
    for statement in walk(block):
        if isinstance(statement, RangeFor) and len(statement.starts) == 1:
            start, step = statement.starts[0], statement.steps[0]
            if isinstance(start, Const) and isinstance(step, Const) and step.value == 1 and int(start.value) % 4 == 0:
                inside = list(walk(statement.body))
                most = MOST_STATEMENTS if isinstance(statement.ends[0], Const) else MOST_OF_UNKNOWN
                if len(inside) <= most and not any(map(_is_jump, inside)):
                    yield statement, inside


def _is_jump(statement: Statement) -> bool:
    return bool(statement.BLOCKS) and not (isinstance(statement, RangeFor) and statement.unroll)


def _along(loop: RangeFor, inside: list[Statement]) -> Iterator[Array]:
    """Return the fields that are accessed along their last axis by the index of a loop."""
    for access in inside:
        pointer = base_pointer(access.pointer) if isinstance(access, (GlobalLoad, GlobalStore)) else None
        if isinstance(pointer, GlobalPtr) and pointer.indices and _has_whole_rows(pointer.array):
            *before, last = pointer.indices
            is_along = isinstance(last, LoopIndex) and last.loop is loop
            start, end = loop.starts[0], loop.ends[0]
            bytes = pointer.array.element.size_bytes
            is_short = False
            if isinstance(start, Const) and isinstance(end, Const):
                is_short = (int(end.value) - int(start.value)) * bytes < BYTES
            if is_along and not is_short and not any(depends_on(index, loop) for index in before):
                yield pointer.array


def _has_whole_rows(array: Array) -> bool:
    """Return whether each row of a field starts at a multiple of 16 bytes."""
    return starts_whole(array) and (array.ndim == 1 or (array.shape or ())[-1] % count_of(array) == 0)
