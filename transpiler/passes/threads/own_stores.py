"""Where the threads that share rows store only to elements that none of the others touches: a query.

In `shared_rows` and `shared_columns` each thread has every nth element of a row, in each of the loops over it. So what
a loop stores at its index another may load at its index, if both start at the same number; nothing else may be loaded
from the array or stored to it. Elements that any thread may change, by atomic operations whose order does not matter,
are in arrays that nothing else accesses (`scatters`).
"""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter

from ...ir.elements.own_memory import is_plain_field
from ...ir.nodes import Statement, walk
from ...ir.statements import (
    Array,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    RangeFor,
    base_pointer,
    is_const,
)
from ...ir.tasks import Apart, Task
from ...ir.types import Scalar
from ..analysis.queries import base_array, is_index_of
from ..analysis.value_ranges import same_value

LEAST_BYTES = 4
"""Of an element; GPUs store shorter ones as parts of such."""


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


def _is_alike(array: Array, other: Array) -> bool:
    """Return whether two arrays have elements of one type and as many axes."""
    return array.element == other.element and array.ndim == other.ndim


def _is_plain(array: Array) -> bool:
    """Return whether the elements of an array are numbers in memory, each at an address of its own."""
    if not isinstance(array.element, Scalar) or array.element.size_bytes < LEAST_BYTES or array.clamped:
        return False
    return not array.strided if array.shape is None else is_plain_field(array)


def _is_same(
    pointer: Statement, row: RangeFor, other: GlobalPtr, other_row: RangeFor, row_of: dict[Statement, RangeFor]
) -> bool:
    """Return whether two pointers are of the same row, at the index of a loop, and both loops start at one number."""
    assert isinstance(pointer, GlobalPtr)
    first, second = row.starts[0], other_row.starts[0]
    if first is not second and not (isinstance(first, Const) and is_const(second, first.value)):
        return False
    own, others = ([is_index_of(index, r) for index in p.indices] for p, r in ((pointer, row), (other, other_row)))
    if own != others or sum(own) != 1:
        return False
    rest = [pair for pair, is_own in zip(zip(pointer.indices, other.indices, strict=True), own) if not is_own]
    return all(index not in row_of and same_value(index, another) for index, another in rest)
