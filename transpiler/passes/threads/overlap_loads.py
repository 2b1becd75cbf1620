"""Unrolling of grid-stride loops that only move data: a thread runs several iterations without a test between them.

    for i in x { y[i] = x[i] }    ->    a thread runs LOADS iterations, a block apart, whose loads are in flight at once

With one load of 4 bytes at a time a thread waits most of the time: a copy of 2^27 floats took an H200 .357 ms before,
.285 ms after, and a stencil in three dimensions with its condition .235 and .179. The stores must not stop the loads
of the next iteration: so the task reads fields that it does not write, which no other pointer reaches (CUDA: by
`__ldg`), or the elements that it writes itself.
"""

from __future__ import annotations

from itertools import islice

from ...ir.elements.own_memory import is_plain_field
from ...ir.functions import reachable
from ...ir.nodes import Effect, Statement
from ...ir.statements import RECORDS, Array, AtomicOp, GlobalLoad, GlobalPtr, GlobalStore, Rand, base_pointer, repeats
from ...ir.tasks import Kernel, Task
from ..analysis.queries import is_index_of
from ..context import PassContext

MOST_STATEMENTS = 48
"""The most statements of a body that is short enough to be repeated."""


def overlap_loads(kernel: Kernel, context: PassContext) -> bool:
    """Mark the loops of GPUs whose iterations may overlap."""
    if not context.capabilities.has_warps:
        return False
    for task in kernel.tasks:
        task.overlaps = _overlaps(task)
    return any(task.overlaps for task in kernel.tasks)


def _overlaps(task: Task) -> bool:
    """Return whether a task loads and stores numbers of fields, and does nothing else."""
    if task.loop is None or task.reductions or task.block_sums or task.loop.cells is not None:
        return False
    statements = list(islice(reachable(task.body), MOST_STATEMENTS + 1))
    if len(statements) > MOST_STATEMENTS or any(map(_is_excluded, statements)):
        return False
    stored = {_array(s) for s in statements if isinstance(s, GlobalStore)}
    loads = [s for s in statements if isinstance(s, GlobalLoad)]
    return bool(stored) and None not in stored and all(_may_overlap(load, stored, task) for load in loads)


EXCLUDED = frozenset({*RECORDS, Rand, AtomicOp})


def _is_excluded(statement: Statement) -> bool:
    is_loop = bool(statement.BLOCKS) and repeats(statement)
    return statement.__class__ in EXCLUDED or is_loop or bool(statement.EFFECT & Effect.FENCE)


def _array(access: GlobalLoad | GlobalStore) -> Array | None:
    """Return the field of numbers that is accessed, None for other memory."""
    pointer = access.pointer
    return pointer.array if isinstance(pointer, GlobalPtr) and is_plain_field(pointer.array) else None


def _may_overlap(load: GlobalLoad, stored: set[Array | None], task: Task) -> bool:
    """Return whether no store of another iteration is in the way of a load, as far as a compiler sees."""
    array = _array(load)
    if array is None:
        return False
    base = base_pointer(load.pointer)
    assert isinstance(base, GlobalPtr) and task.loop is not None
    own = [index.axis for index in base.indices if is_index_of(index, task.loop)]
    return array not in stored or own == list(range(len(task.loop.starts))) == list(range(array.ndim))
