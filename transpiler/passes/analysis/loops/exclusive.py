"""Elements that one iteration of a parallel loop writes and no other one."""

from __future__ import annotations

from ....ir.functions import calls, reachable
from ....ir.nodes import Effect, Statement, walk
from ....ir.sparse import CellIndex
from ....ir.statements import (
    ArgLoad,
    Array,
    AtomicOp,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LoopIndex,
    RangeFor,
    base_pointer,
)
from ....ir.tasks import Task
from ....ir.threads import ThreadIndex
from ..aliasing import split_indices, split_offset


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
    return _has_exclusive_threads(pointers) if array.is_shared else has_exclusive_axes(pointers, loop)


def has_exclusive_axes(pointers: list[GlobalPtr], loop: RangeFor) -> bool:
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
