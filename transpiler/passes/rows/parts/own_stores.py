"""Where the threads that share rows store only to elements that none of the others touches: a query.

In `shared_rows` and `shared_columns` each thread has every nth element of a row, in each of the loops over it. So what
a loop stores at its index another may load at its index, if both start at the same number; nothing else may be loaded
from the array or stored to it. Elements that any thread may change, by atomic operations whose order does not matter,
are in arrays that nothing else accesses (`scatters`).
"""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter

from ....ir.elements.own_memory import is_alone
from ....ir.functions import calls
from ....ir.nodes import Statement, walk
from ....ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LoopIndex,
    Operation,
    RangeFor,
    base_pointer,
    is_const,
)
from ....ir.tasks import Apart, Task
from ....ir.types import Scalar
from ...analysis.loops.flat_indices import components_of
from ...analysis.queries import axes_in, base_array, is_index_of, summands
from ...analysis.value_ranges import same_value


def own_stores(task: Task, rows: list[RangeFor], changes: Collection[Statement] = frozenset()) -> list[Apart] | None:
    """Return which ndarrays must be apart for each element that rows store to be of one thread; None if one is of
    several anyway. changes: of elements that may be of several, which nothing else accesses.
    """
    row_of = {statement: row for row in rows for statement in walk(row.body)}
    accesses = [s for s in walk(task.body) if isinstance(s, (GlobalLoad, GlobalStore, AtomicOp))]
    places: dict[Array, tuple[GlobalPtr, RangeFor]] = {}
    for store in accesses:
        if isinstance(store, GlobalStore) and store in row_of and store not in changes:
            pointer = store.pointer
            if not isinstance(pointer, GlobalPtr) or not _is_plain(pointer.array):
                return None
            places[pointer.array] = pointer, row_of[store]
    called = {array for call in calls(task.body) for array in call.function.reads | call.function.writes}
    if any(array is other or (array.may_alias and other.may_alias) for array in places for other in called):
        return None  # nobody sees which elements
    scattered = {base_array(access.pointer): None for access in accesses if access in changes}
    apart: dict[tuple[Array, Array], bool] = {}
    for access in accesses:
        base, row = base_pointer(access.pointer), row_of.get(access)
        if not isinstance(base, GlobalPtr):
            continue
        if base.array in places and not (row and _is_same(base, row, *places[base.array], row_of)):
            return None
        for array, place in places.items():
            if array is not base.array and array.may_alias and base.array.may_alias:
                may_be_one = row is not None and _is_alike(array, base.array) and _is_same(base, row, *place, row_of)
                apart[array, base.array] = apart.get((array, base.array), True) and may_be_one
        for other in scattered:
            if other is None or other is base.array or base.array in places or (base.array, other) in apart:
                continue
            if other.may_alias and base.array.may_alias:
                apart[other, base.array] = False
    if any(array.strided for pair in apart for array in pair):
        return None
    return sorted((Apart(*pair, may_be_one) for pair, may_be_one in apart.items()), key=attrgetter("may_be_same"))


def joined_pairs(some: list[Apart], others: list[Apart]) -> list[Apart]:
    """Return which ndarrays must be apart for two reasons; others: none of which may be the same."""
    pairs = {frozenset((condition.first, condition.second)) for condition in others}
    apart = {frozenset((c.first, c.second)) for c in some if not c.may_be_same}
    own = [c for c in some if not c.may_be_same or frozenset((c.first, c.second)) not in pairs]
    new = [c for c in others if frozenset((c.first, c.second)) not in apart]
    return sorted([*own, *new], key=attrgetter("may_be_same"))


def _is_alike(array: Array, other: Array) -> bool:
    """Return whether two arrays have elements of one type and as many axes."""
    return array.element == other.element and array.ndim == other.ndim


def _is_plain(array: Array) -> bool:
    """Return whether the elements of an array are numbers in memory, each at an address of its own."""
    if not isinstance(array.element, Scalar) or array.clamped:
        return False
    return not array.strided if array.shape is None else is_alone(array)


def _is_same(
    pointer: Statement, row: RangeFor, other: GlobalPtr, other_row: RangeFor, row_of: dict[Statement, RangeFor]
) -> bool:
    """Return whether two pointers are of the same row, at the index of a loop, and both loops start at one number."""
    assert isinstance(pointer, GlobalPtr)
    first, second = row.starts[0], other_row.starts[0]
    if first is not second and not (isinstance(first, Const) and is_const(second, first.value)):
        return False
    parts, parts_there = components_of(pointer, row), components_of(other, other_row)
    if parts is not None and parts_there == parts:
        rests = [(part.rest, parts_there[axis].rest) for axis, part in parts.items()]
        pairs_of_axes = enumerate(zip(pointer.indices, other.indices, strict=True))
        rests += [pair for axis, pair in pairs_of_axes if axis not in parts]
        return all((a is b is None) or (a and b and _are_equal(a, b, row_of)) for a, b in rests)
    own, others = ([_offset(index, r) for index in p.indices] for p, r in ((pointer, row), (other, other_row)))
    if len(own) != len(others) or sum(offset is not None for offset in own) != 1:
        return False
    pairs = zip(zip(pointer.indices, other.indices, strict=True), zip(own, others, strict=True), strict=True)
    return all(
        first not in row_of and second not in row_of and same_value(first, second)
        if offset is None or offset_there is None
        else _are_same(offset, offset_there, row_of)
        for (first, second), (offset, offset_there) in pairs
    )


Offset = list[tuple[int, Statement]]
"""The values of which a number is the sum, each with its sign."""


def _are_same(one: Offset, other: Offset, row_of: dict[Statement, RangeFor]) -> bool:
    """Return whether two sums are the same."""
    pairs = list(zip(one, other, strict=False))
    return len(one) == len(other) and all(a[0] == b[0] and _are_equal(a[1], b[1], row_of) for a, b in pairs)


def _offset(index: Statement, row: RangeFor) -> Offset | None:
    """Return what an index is more than that of a loop, None if it is no such sum."""
    if not axes_in(index, row):
        return None
    parts = summands(index)
    rest = [(sign, value) for sign, value in parts if not is_index_of(value, row)]
    is_sum = len(parts) == len(rest) + 1 and all(sign > 0 for sign, value in parts if is_index_of(value, row))
    return rest if is_sum and not any(axes_in(value, row) for _, value in rest) else None


def _are_equal(one: Statement, other: Statement, row_of: dict[Statement, RangeFor]) -> bool:
    """Return whether two numbers that do not depend on the index of a row are the same."""
    match one, other:
        case Const(value=a), Const(value=b):
            return bool(a == b)
        case Operation(op=op, operands=parts), Operation(op=op_there, operands=parts_there):
            if op != op_there or len(parts) != len(parts_there):
                return False
            return all(_are_equal(*pair, row_of) for pair in zip(parts, parts_there, strict=True))
    is_given = isinstance(one, (LoopIndex, ArgLoad, ArrayShape))
    return (is_given or one not in row_of) and same_value(one, other)
