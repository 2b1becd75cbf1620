"""Replaces atomic operations by plain ones if no other thread writes the same element.

    $old = atomic add a[$i], $v    ->    $old = load a[$i]
                                         $1 = add $old, $v
                                         store a[$i], $1

This is always so in serial tasks, and for local variables: `local_atomics` replaces those, which no language has, in
every kernel. In a parallel loop it is so for an array of which every iteration writes its own elements: some axes of
all writes are the loop's indices, each plus a constant that is the same everywhere. Of `x[t + 1, i]` and `x[t, i - 1]`
each is looked at alone: they are never one element. Reads do not matter: with one writer, others read the old or the
new value, atomic or not. In shared memory the number of a thread is used like the loop's indices, and if blocks are
loops (C) one core has all of that memory.

Several ndarrays that are written, `v[i] += a[i]; x[i] += dt * v[i]`, may be one array with several names: each
iteration has elements of its own then, too. If they were parts of one array that overlap, iterations would load what
others change, and nothing is promised of the result; where all accesses are atomic operations, it is, and they stay.
"""

from __future__ import annotations

from typing import TypeGuard

from ...ir.builder import Builder
from ...ir.functions import Reference, calls, reachable
from ...ir.nodes import Block, Effect, Remark, Statement, walk
from ...ir.ops import ATOMIC_OPS
from ...ir.sparse import CellIndex
from ...ir.statements import (
    Alloca,
    ArgLoad,
    Array,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LoopIndex,
    RangeFor,
    StructFor,
    base_pointer,
)
from ...ir.tasks import Kernel, Task
from ...ir.threads import ThreadIndex
from ...ir.types import Scalar
from ..analysis.aliasing import split_indices, split_offset
from ..context import PassContext
from ..rewrite import Rewriter


def local_atomics(kernel: Kernel, context: PassContext) -> bool:
    """Replace atomic operations on local variables, before `offload`."""
    plain = _exclusive_in_body(kernel.body)
    plain.update(atomic for function in kernel.functions for atomic in walk(function.body) if _is_local(atomic))

    def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
        return make_plain(rewriter, atomic) if isinstance(atomic, AtomicOp) and atomic in plain else None

    return bool(plain) and Rewriter({AtomicOp: rule}).run(kernel)


def demote_atomics(kernel: Kernel, context: PassContext) -> bool:
    """Replace atomic operations of tasks by load, operation, store if the result is the same."""
    plain = _exclusive_in_tasks(kernel, context)
    if not plain:
        return False
    explains = context.options.why_comments

    def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
        if not isinstance(atomic, AtomicOp) or atomic not in plain:
            return None
        if explains and plain[atomic]:
            atomic.remarks += (Remark(f"not atomic: {plain[atomic]} (demote_atomics)"),)
        return make_plain(rewriter, atomic)

    return Rewriter({AtomicOp: rule}).run(kernel)


def _is_local(statement: Statement) -> TypeGuard[AtomicOp]:
    """Return whether `statement` is an atomic on a variable of a function or of its caller."""
    return isinstance(statement, AtomicOp) and isinstance(base_pointer(statement.pointer), (Alloca, Reference))


def make_plain(rewriter: Rewriter, atomic: AtomicOp) -> Statement:
    """Emit load, operation and store; return the old value."""
    builder = rewriter.builder(atomic)
    old = builder.load(atomic.pointer)
    if atomic.mask is not None:
        store_masked(builder, atomic, old)
        return old
    builder.store(atomic.pointer, builder.op(ATOMIC_OPS[atomic.op], old, atomic.value)).remarks = atomic.remarks
    return old


def store_masked(builder: Builder, atomic: AtomicOp, old: Statement) -> None:
    """Store what an operation of `MASKED_OPS` makes of `old`."""
    mask, value = atomic.mask, atomic.value
    assert mask is not None and isinstance(mask.type, Scalar)
    new = builder.op("bit_and", builder.op("add", old, value), mask) if atomic.op == "add_bits" else value
    if isinstance(mask, Const):
        unmasked = int(mask.type(~int(mask.value)))
        others: Statement = builder.add(Const(unmasked, notation=hex(unmasked), type=mask.type))
    else:
        others = builder.op("bit_not", mask)
    builder.store(
        atomic.pointer, builder.op("bit_or", builder.op("bit_and", old, others), new)
    ).remarks = atomic.remarks


def _exclusive_in_body(body: Block) -> set[AtomicOp]:
    """Return, before `offload`, the atomics on variables that no parallel loop shares."""
    outside = {statement for statement in body.statements if isinstance(statement, Alloca)}
    result: set[AtomicOp] = set()
    for statement in body.statements:
        if not statement.BLOCKS and statement.__class__ is not AtomicOp:
            continue
        parallel = isinstance(statement, (RangeFor, StructFor)) and not statement.serialize
        for inner in [one for one in walk(Block([statement])) if one.__class__ is AtomicOp]:
            if isinstance(inner, AtomicOp) and isinstance(base := base_pointer(inner.pointer), Alloca):
                if not (parallel and base in outside):
                    result.add(inner)
    return result


def _exclusive_in_tasks(kernel: Kernel, context: PassContext) -> dict[AtomicOp, str]:
    """Return the atomics whose element no other thread of the task writes, with a reason if it is not obvious."""
    result: dict[AtomicOp, str] = {}
    for task in kernel.tasks:
        atomics: list[AtomicOp] = [s for s in walk(task.body) if s.__class__ is AtomicOp]
        if not atomics:
            continue
        exclusive = exclusive_pointers(task)
        as_loops = set(kernel.shared) if context.capabilities.blocks_as_loops else set()
        for atomic in atomics:
            base = base_pointer(atomic.pointer)
            if task.loop is None or isinstance(base, Alloca):
                result[atomic] = ""
            elif isinstance(base, GlobalPtr) and base in exclusive:
                reason = "no other thread writes it" if base.array.is_shared else "no other iteration writes it"
                result[atomic] = "" if atomic.location.is_derivative else reason  # Python has no atomic operation there
            elif isinstance(base, GlobalPtr) and base.array in as_loops:
                result[atomic] = "one core runs the whole block"
    return result


def exclusive_pointers(task: Task) -> set[GlobalPtr]:
    """Return the pointers by which each iteration of the task's loop writes elements that no other iteration writes."""
    if task.loop is None:
        return set()
    writes: dict[Array, list[GlobalPtr]] = {}
    for statement in walk(task.body):
        if statement.EFFECT & Effect.WRITE and isinstance(statement, (GlobalStore, AtomicOp)):
            base = base_pointer(statement.pointer)
            if isinstance(base, GlobalPtr):
                writes.setdefault(base.array, []).append(base)
    called = {array for call in calls(task.body) for array in call.function.writes}
    aliasing = {array for array in (*writes, *called) if array.may_alias}
    plain = _plainly_accessed(task) if len(aliasing) > 1 else set[Array]()
    return {
        pointer
        for array, pointers in writes.items()
        if array not in called
        and (not array.may_alias or len(aliasing) == 1 or _are_exclusive_if_equal(array, aliasing, writes, plain, task))
        for group in _disjoint_groups(array, pointers)
        if _are_exclusive(array, group, task.loop)
        for pointer in group
    }


def _are_exclusive_if_equal(
    array: Array, aliasing: set[Array], writes: dict[Array, list[GlobalPtr]], plain: set[Array], task: Task
) -> bool:
    """Return whether elements are exclusive also if the same array was passed for several parameters.

    Gradients are arrays of their own: two of them are the same array, or have no element in common. Of other arrays
    that have some elements in common, an iteration would access elements that another one changes: if either array is
    accessed by plain loads or stores, too, nothing is promised of the result. plain: arrays of which this is true.
    """
    assert task.loop is not None
    if not all(other in writes for other in aliasing):
        return False
    are_whole = all(other.is_gradient for other in (array, *aliasing))
    if not are_whole and not all(other is array or not plain.isdisjoint((array, other)) for other in aliasing):
        return False
    others = [other for other in aliasing if other.ndim == array.ndim and other.element == array.element]
    return _are_exclusive(array, [pointer for other in others for pointer in writes[other]], task.loop)


def _plainly_accessed(task: Task) -> set[Array]:
    """Return the arrays of which iterations load or store elements of their own, not by atomic operations alone.

    None of a task in which threads wait for each other, so that what one has changed is known to another.
    """
    assert task.loop is not None
    found: set[Array] = set()
    if any(statement.EFFECT & Effect.FENCE for statement in reachable(task.body)):
        return found
    for statement in walk(task.body):
        base = base_pointer(statement.pointer) if isinstance(statement, (GlobalLoad, GlobalStore)) else None
        if isinstance(base, GlobalPtr) and _are_exclusive(base.array, [base], task.loop):
            found.add(base.array)
    return found


def _disjoint_groups(array: Array, pointers: list[GlobalPtr]) -> list[list[GlobalPtr]]:
    """Return the pointers in groups that have no element in common.

    An axis tells them apart if all indices there are constants, or one argument plus constants.
    """
    if array.clamped:
        return [pointers]
    first = [_uniform_base(base) for base, _ in split_indices(pointers[0])]
    axes = [axis for axis, base in enumerate(first) if base is not None]
    if not axes:
        return [pointers]
    split = {pointer: split_indices(pointer) for pointer in pointers}
    axes = [axis for axis in axes if all(_uniform_base(split[pointer][axis][0]) == first[axis] for pointer in pointers)]
    groups: dict[tuple[int, ...], list[GlobalPtr]] = {}
    for pointer in pointers:
        groups.setdefault(tuple(split[pointer][k][1] for k in axes), []).append(pointer)
    return list(groups.values())


def _uniform_base(base: Statement | None) -> object:
    """Return what identifies the part of an index that is the same in all iterations, None for another part."""
    return base.parameter if isinstance(base, ArgLoad) else "constant" if base is None else None


def _are_exclusive(array: Array, pointers: list[GlobalPtr], loop: RangeFor) -> bool:
    return _has_exclusive_threads(pointers) if array.is_shared else _has_exclusive_axes(pointers, loop)


def _has_exclusive_axes(pointers: list[GlobalPtr], loop: RangeFor) -> bool:
    """Return whether for each axis of the loop some axis of all pointers is that index plus one constant."""
    common = _index_axes(pointers[0], loop)
    for pointer in pointers[1:]:
        if not common:
            break
        common &= _index_axes(pointer, loop)
    axes = len(loop.starts) if loop.cells is None else loop.cells.ndim
    return {axis for _, axis, _ in common} == set(range(axes))


def _has_exclusive_threads(pointers: list[GlobalPtr]) -> bool:
    """Return whether some axis of all pointers is the thread's number in its block plus one constant."""
    common = _thread_axes(pointers[0])
    for pointer in pointers[1:]:
        common &= _thread_axes(pointer)
    return bool(common)


def _thread_axes(pointer: GlobalPtr) -> set[tuple[int, int]]:
    """Return (axis, constant) for each index that is the thread's number plus a constant."""
    result = set()
    for position, index in enumerate(pointer.indices):
        base, offset = split_offset(index)
        if isinstance(base, ThreadIndex) and base.kind == "thread":
            result.add((position, offset))
    return result


def _index_axes(pointer: GlobalPtr, loop: RangeFor) -> set[tuple[int, int, int]]:
    """Return (axis of the array, axis of the loop, constant) for each index that is a loop index plus a constant."""
    result: set[tuple[int, int, int]] = set()
    if pointer.array.clamped and loop.over is not pointer.array:
        return result  # iterations beyond the array write the elements at its border
    for position, (base, offset) in enumerate(split_indices(pointer)):
        if isinstance(base, CellIndex if loop.cells is not None else LoopIndex) and base.loop is loop:
            result.add((position, base.axis, offset))
    return result
