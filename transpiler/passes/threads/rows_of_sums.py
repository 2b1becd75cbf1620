"""Makes the last axis of a parallel loop a serial loop, where its iterations add to one element (for `shared_rows`).

    for i, j in a { atomic add s[i], a[i, j] }    ->    for i in n { t = 0
                                                            for j in m { t = t + a[i, j] }
                                                            atomic add s[i], t }

Neighbouring threads add to one place, and wait for each other; the threads that share a row add their sums by shuffles.
There must be rows enough to keep a GPU busy, and nothing else that an iteration does.

A sum under a condition, `if i > 0: s[i - 1] += a[i, j]`, may be one of no terms, whose element need not exist. So it is
added only if it is not 0.
"""

from __future__ import annotations

from math import prod

from ...ir.builder import Builder
from ...ir.functions import Call
from ...ir.nodes import Block, Statement, clone, operands, walk
from ...ir.ops import ATOMIC_OPS
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Break,
    Cast,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    RangeFor,
    base_pointer,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, i32
from ..analysis.queries import is_index_of
from ..analysis.reducible import always_performed
from ..rewrite import DROPPED, Rewriter
from .overlap_loads import is_field_in_order
from .private_sums import scattered

FEWEST_ROWS, SHORTEST = 1 << 12, 64
"""Rows that keep a GPU busy, and iterations of a row that are worth a loop."""
MOST_SUMS = 4


def make_rows(kernel: Kernel, task: Task, fast_math: bool) -> bool:
    """Give a task whose iterations add along rows a loop over the row; return whether it has one now."""
    loop = task.loop
    atomics = [atomic for found in scattered(task).values() for atomic in found]
    if loop is None or not 0 < len(atomics) <= MOST_SUMS or loop.order or not _has_rows(loop):
        return False
    if not all(_is_of_row(atomic, loop, fast_math) for atomic in atomics) or not _reads_rows(task, loop):
        return False
    others = set(walk(task.body)) - set(atomics)
    if any(repeats(s) or isinstance(s, (GlobalStore, Call, AtomicOp, Break, Continue)) for s in others):
        return False
    always = set(always_performed(task.body))
    sums = _split(task, loop, atomics)

    def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
        if atomic not in sums:
            return None
        assert isinstance(atomic, AtomicOp)
        builder = rewriter.builder(atomic)
        builder.store(sums[atomic], builder.op(ATOMIC_OPS[atomic.op], builder.load(sums[atomic]), atomic.value))
        return DROPPED

    Rewriter({AtomicOp: rule}).run(kernel)
    _add_sums(task, sums, always)
    return True


def _has_rows(loop: RangeFor) -> bool:
    """Return whether a loop has many long rows, whose number and length are known."""
    extents = [
        int(end.value) - int(start.value)
        for start, end, step in zip(loop.starts, loop.ends, loop.steps, strict=True)
        if isinstance(start, Const) and isinstance(end, Const) and is_const(step, 1) and start.type == i32
    ]
    is_known = len(extents) == len(loop.starts) > 1 and min(extents) > 0
    return is_known and extents[-1] >= SHORTEST and prod(extents[:-1]) >= FEWEST_ROWS


def _is_of_row(atomic: AtomicOp, loop: RangeFor, fast_math: bool) -> bool:
    """Return whether all iterations of a row add to the same element, of a type that `shared_rows` adds."""
    pointer = atomic.pointer
    if not isinstance(pointer, GlobalPtr) or not isinstance(pointer.type, Scalar):
        return False
    return (fast_math or not pointer.type.is_float) and all(_is_the_same(index, loop) for index in pointer.indices)


def _reads_rows(task: Task, loop: RangeFor) -> bool:
    """Return whether neighbouring iterations read neighbours in a row of their own, and no other row or column."""
    last = len(loop.starts) - 1
    found = False
    for statement in walk(task.body):
        pointer = base_pointer(statement.pointer) if isinstance(statement, GlobalLoad) else None
        if not isinstance(pointer, GlobalPtr) or not pointer.indices:
            continue
        *before, final = pointer.indices
        is_row = is_index_of(final, loop) and final.axis == last and not any(_has(i, loop, last) for i in before)
        if not is_row and any(_has(index, loop, last) for index in pointer.indices):
            return False
        is_plain = pointer.array.shape is None or is_field_in_order(pointer.array)
        found |= is_row and is_plain and any(not isinstance(index, Const) for index in before)
    return found


def _has(value: Statement, loop: RangeFor, axis: int) -> bool:
    """Return whether the index along an axis is in a value, without what it loads."""
    if isinstance(value, LoopIndex):
        return value.loop is loop and value.axis == axis
    return not isinstance(value, GlobalLoad) and any(_has(inner, loop, axis) for inner in operands(value))


def _is_the_same(value: Statement, loop: RangeFor) -> bool:
    """Return whether an index is made of numbers and the loop's indices but the last."""
    if is_index_of(value, loop):
        return value.axis < len(loop.starts) - 1
    return isinstance(value, (Const, Cast, Operation)) and all(_is_the_same(inner, loop) for inner in operands(value))


def _split(task: Task, loop: RangeFor, atomics: list[AtomicOp]) -> dict[AtomicOp, Alloca]:
    """Move the body of a task into a loop over its last axis; return a variable for each sum."""
    last = len(loop.starts) - 1
    body = Block(task.body.statements)
    builder = Builder(Block(), loop.location)
    sums: dict[AtomicOp, Alloca] = {}
    for atomic in atomics:
        pointer = atomic.pointer
        assert isinstance(pointer, GlobalPtr) and isinstance(pointer.type, Scalar)
        sums[atomic] = builder.add(Alloca(type=pointer.type, name=f"{pointer.array.name}_sum"))
        builder.add(LocalStore(sums[atomic], builder.const(0, pointer.type)))
    start, end, step = (builder.add(clone(values.pop(), {})) for values in (loop.starts, loop.ends, loop.steps))
    row = builder.add(RangeFor([start], [end], [step], [loop.names.pop()], body))
    for statement in walk(body):
        if isinstance(statement, LoopIndex) and statement.loop is loop and statement.axis == last:
            statement.loop, statement.axis = row, 0
    loop.over = None
    task.body.statements = builder.block.statements
    return sums


def _add_sums(task: Task, sums: dict[AtomicOp, Alloca], always: set[AtomicOp]) -> None:
    """Add the sums to their elements after the loop over the row. always: what each iteration adds."""
    for atomic, variable in sums.items():
        builder = Builder(task.body, atomic.location)
        total = builder.add(LocalLoad(variable, type=variable.type))
        if atomic in always:
            _add_total(builder, atomic, total)
            continue
        assert isinstance(variable.type, Scalar)
        is_any = builder.op("ne", total, builder.const(0, variable.type))
        with builder.into(builder.add(If(is_any)).then):
            _add_total(builder, atomic, total)


def _add_total(builder: Builder, atomic: AtomicOp, total: Statement) -> None:
    pointer = builder.again(atomic.pointer)
    builder.add(AtomicOp("add", pointer, total, type=pointer.type))
