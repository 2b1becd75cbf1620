"""Keeps iterations that fill rows of local arrays in a function of their own in C, which gcc 12 does not inline.

    static inline void task(...) {                           static __attribute__((noinline)) void task(...) {
        int row[49];                                             int row[49];
        for (int i = 0; i < 48; i++) {                           for (int i = 0; i < 48; i++) {
            for (int j = 0; j < 48; j++) {                ->         for (int j = 0; j < 48; j++) {
                row[j + 1] = min(..., row[j], row[j + 1]);               row[j + 1] = ...

Inlined, the loops are in the function that gcc makes of OpenMP's loop. For AMD's processors gcc 12 then moves what the
innermost loop needs to vector registers and back in each iteration, although it has registers enough. Edit distances of
8,192 pairs of 48 characters took 78 ms, and 18 in a function of their own (Zen 4, gcc 12.2); other such tables took
between .7 and 1.04 times as long as before. Where the inner loop is so short that gcc unrolls it, the row is in
registers, and nothing changes.
"""

from __future__ import annotations

from ...ir.nodes import Block, Statement, blocks
from ...ir.statements import Alloca, Const, LocalStore, MatrixPtr, RangeFor, While
from ...ir.tasks import Kernel, Task
from ..analysis.queries import trip_count
from ..context import PassContext

MOST_UNROLLED = 16
"""The most iterations of an innermost loop that gcc replaces by copies of its body."""


def own_functions(kernel: Kernel, context: PassContext) -> bool:
    """Mark the tasks of C with such iterations."""
    if not context.capabilities.vectorizes_loops:
        return False
    for task in kernel.tasks:
        task.is_own_function = _is_plain(task) and _fills_a_row(task.body, 0)
    return any(task.is_own_function for task in kernel.tasks)


def _is_plain(task: Task) -> bool:
    """Return whether a task is a parallel loop whose iterations do not become lanes, or blocks of threads."""
    return task.loop is not None and not (task.is_in_lanes or task.is_split or task.synchronizes)


def _fills_a_row(block: Block, depth: int) -> bool:
    """Return whether a loop in a loop stores to a local array. depth: the number of loops around the block."""
    for statement in block:
        if depth > 1 and _stores_to_a_row(statement):
            return True
        inner = depth
        if isinstance(statement, While):
            continue
        if isinstance(statement, RangeFor):
            count = trip_count(statement)
            inner += 0 if count is not None and count <= MOST_UNROLLED else 1
        if any(_fills_a_row(each, inner) for each in blocks(statement)):
            return True
    return False


def _stores_to_a_row(statement: Statement) -> bool:
    match statement:
        case LocalStore(pointer=MatrixPtr(origin=Alloca(), indices=indices)):
            return not all(isinstance(index, Const) for index in indices)
    return False
