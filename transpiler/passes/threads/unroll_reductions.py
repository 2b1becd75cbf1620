"""Unrolls static loops in which the index of an atomic operation is that of the loop, before `reduce_atomics`.

    for k in static(range(3)):              atomic add s[0], v[0]
        atomic add s[k], v[k]        ->     atomic add s[1], v[1]
                                            atomic add s[2], v[2]

Then each place is the same in all iterations of the parallel loop, and may have an accumulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...ir.nodes import Block, Statement, blocks, clone, operands, replace_uses, walk, walk_blocks
from ...ir.statements import (
    ArgLoad,
    ArrayShape,
    AtomicOp,
    Break,
    Cast,
    Const,
    Continue,
    GlobalPtr,
    GlobalTemporary,
    LoopIndex,
    MatrixPtr,
    Operation,
    RangeFor,
    StructPtr,
)
from ...ir.tasks import Kernel
from ...ir.types import i32
from ..analysis.queries import is_index_of
from ..context import PassContext

MAX_ITERATIONS = 16
"""The most iterations of a loop that is unrolled: each gets an accumulator."""


def unroll_reductions(kernel: Kernel, context: PassContext) -> bool:
    """Unroll the static loops that hide places which are the same in all iterations of a parallel loop."""
    if context.capabilities.is_reference or not context.options.make_thread_local:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is not None:
            changed |= unroll_where(task.body, lambda loop, _: _hides_places(loop))
    return changed


def unroll_where(block: Block, is_wanted: Callable[[RangeFor, list[int]], bool]) -> bool:
    """Unroll short static loops in a block and the blocks in it. is_wanted: asked with the values of the index."""
    if not [statement for statement in block.statements if statement.BLOCKS]:
        return False  # most
    changed = False
    result: list[Statement] = []
    for statement in block.statements:
        for inner in blocks(statement) if statement.BLOCKS else ():
            changed |= unroll_where(inner, is_wanted)
        if isinstance(statement, RangeFor) and (values := _values_of(statement)) and is_wanted(statement, values):
            for value in values:
                result += iteration_of(statement, value)
            changed = True
        else:
            result.append(statement)
    block.statements = result
    return changed


def _values_of(loop: RangeFor) -> list[int]:
    """Return the values of the index of a short static loop that runs to its end, none for others."""
    bounds = (*loop.starts, *loop.ends, *loop.steps)
    if not loop.unroll or len(bounds) != 3 or any(isinstance(s, (Break, Continue)) for s in walk(loop.body)):
        return []
    values = range(*(int(bound.value) for bound in bounds if isinstance(bound, Const)))
    return list(values) if len(values) <= MAX_ITERATIONS else []


def _hides_places(loop: RangeFor) -> bool:
    """Return whether an atomic operation whose result is unused has an index that only depends on static loops."""
    inside = list(walk(loop.body))
    used = {operand for statement in inside for operand in operands(statement)}
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


def iteration_of(loop: RangeFor, value: int) -> list[Statement]:
    """Return a copy of the body for one value of the index."""
    number = Const(value, type=i32, location=loop.location)
    mapping: dict[Statement, Statement] = {}
    copies = [clone(statement, mapping) for statement in loop.body.statements]
    indices: dict[Statement, Statement] = {copied: number for copied in mapping.values() if is_index_of(copied, loop)}
    for copied in mapping.values():  # indices of loops inside refer to their copies
        if isinstance(copied, LoopIndex) and isinstance(own := mapping.get(copied.loop), RangeFor):
            copied.loop = own
    body = Block(copies)
    for inner in walk_blocks(body):
        inner.statements = [statement for statement in inner.statements if statement not in indices]
    replace_uses(body, indices)
    return [number, *body.statements]
