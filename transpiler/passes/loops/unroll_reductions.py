"""Unrolls static loops in which the index of an atomic operation is that of the loop, before `reduce_atomics`.

    for k in static(range(3)):              atomic add s[0], v[0]
        atomic add s[k], v[k]        ->     atomic add s[1], v[1]
                                            atomic add s[2], v[2]

Then each place is the same in all iterations of the parallel loop, and may have an accumulator.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.nodes import Statement, reads, walk
from ...ir.statements import (
    ArgLoad,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalPtr,
    GlobalTemporary,
    LoopIndex,
    MatrixPtr,
    Operation,
    RangeFor,
    StructPtr,
)
from ...ir.tasks import Kernel
from ..context import PassContext
from .parts.unrolled import unroll_where


def unroll_reductions(kernel: Kernel, context: PassContext) -> bool:
    """Unroll the static loops that hide places which are the same in all iterations of a parallel loop."""
    if context.capabilities.is_reference or not context.options.make_thread_local:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is not None:
            changed |= unroll_where(task.body, lambda loop, _: _hides_places(loop))
    return changed


def _hides_places(loop: RangeFor) -> bool:
    """Return whether an atomic operation whose result is unused has an index that only depends on static loops."""
    inside = list(walk(loop.body))
    used = {value for statement in inside for value in reads(statement)}
    pointers = [s.pointer for s in inside if isinstance(s, AtomicOp) and s not in used]
    return any(loop in (loops := set(_loops_of(pointer))) and None not in loops for pointer in pointers)


def _loops_of(pointer: Statement) -> Iterator[Statement | None]:
    """Yield the loops whose indices are in the indices of a pointer, None for what is no number in each iteration."""
    pending = [pointer]
    while pending:
        match pending.pop():
            case GlobalPtr(indices=indices):
                pending += indices
            case MatrixPtr(origin=origin, indices=indices):
                pending += [origin, *indices]
            case StructPtr(origin=origin):
                pending.append(origin)
            case LoopIndex(loop=RangeFor(unroll=True) as loop):
                yield loop
            case Operation(operands=values):
                pending += values
            case Cast(value=value):
                pending.append(value)
            case Const() | ArgLoad() | ArrayShape() | GlobalTemporary():
                pass
            case _:
                yield None
