"""Changes of elements by the loops over rows of an iteration, whose order nobody sees: a query.

    for j in m { atomic add degrees[nodes[j]], 1 }        for j in m { $old = load counts[i, $bin]
                                                                       $1 = add $old, 1
                                                                       store counts[i, $bin], $1 }

The threads that share a row change elements in another order than one thread would, and several of them may change one
element. So each change has to be an atomic operation, or one that `demote_atomics` has made plain and that can be made
atomic again; all changes of an array have to commute; and nothing else in the iteration may access the array. Sums of
floats need `fast_math`. The place has to depend on what is in the row: else all threads change one element, and wait.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ....ir.elements.own_memory import is_alone
from ....ir.functions import Call
from ....ir.nodes import Block, Statement, count_uses, walk, walk_blocks
from ....ir.ops import ATOMIC_OPS
from ....ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    base_pointer,
)
from ....ir.tasks import Task
from ....ir.types import Scalar, Tensor, element_of
from ....lazy_dataclasses import dataclass
from ..queries import base_array, computed_from, is_index_of
from .flat_indices import components_of

COMMUTING = {"add": "sum", "sub": "sum", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor"}
"""Atomic operations that may be in any order with those of the same entry."""
PLAIN = {ATOMIC_OPS[op]: op for op in COMMUTING}
"""What each of them is in an array that no other iteration writes."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """A change of an element.

    op: of `ATOMIC_OPS`. value: what changes it. plain: the load and the operation, if these and a store are the change.
    """

    op: str
    value: Statement
    plain: tuple[Statement, ...] = ()


def scatters(
    task: Task, rows: list[RangeFor], fast_math: bool, native: Collection[tuple[str, str]]
) -> dict[Statement, Scatter] | None:
    """Return the atomic operations of loops and the stores that can be some; None if their order may be seen.

    native: pairs like ("f32", "add") that a target has: a compare-and-swap loop is no match for a plain operation.
    """
    uses = count_uses(task.body)
    found: dict[Statement, Scatter] = {}
    for row in rows:
        for statement, block in [(s, inner) for inner in walk_blocks(row.body) for s in inner]:
            scatter = None
            if isinstance(statement, AtomicOp):
                scatter = Scatter(statement.op, statement.value)
            elif isinstance(statement, GlobalStore) and not _is_own(statement.pointer, row):
                scatter = _of_store(statement, block, uses, native)
            if scatter is not None and _is_suitable(statement, scatter.op, uses, fast_math):
                if _depends_on_row(statement.pointer, row):  # type: ignore[attr-defined]
                    found[statement] = scatter
        if any(isinstance(s, AtomicOp) and s not in found for s in walk(row.body)):
            return None
    return found if not found or _are_alone(task, found, uses) else None


def _is_own(pointer: Statement, row: RangeFor) -> bool:
    """Return whether an element certainly is one of a single thread of the row."""
    base = base_pointer(pointer)
    if not isinstance(base, GlobalPtr):
        return False
    return any(is_index_of(index, row) for index in base.indices) or components_of(base, row) is not None


def _of_store(
    store: GlobalStore, block: Block, uses: dict[Statement, int], native: Collection[tuple[str, str]]
) -> Scatter | None:
    """Return the change of an element by a load, an operation and a store, None if a store is something else."""
    value, pointer = store.value, store.pointer
    if not isinstance(value, Operation) or value.op not in PLAIN or uses[value] != 1 or value not in block.statements:
        return None
    op, kind = PLAIN[value.op], value.type
    if not isinstance(kind, Scalar) or kind != pointer.type or (kind.name, op) not in native:
        return None
    first, second = value.operands
    for old, other in ((first, second), (second, first))[: 1 if op == "sub" else 2]:
        if isinstance(old, GlobalLoad) and old.pointer is pointer and uses[old] == 1 and old in block.statements:
            start, end = block.statements.index(old), block.statements.index(store)
            between = walk(Block(block.statements[start + 1 : end]))
            return None if base_array(pointer) in map(_accessed, between) else Scatter(op, other, (old, value))
    return None


def _accessed(statement: Statement) -> Array | None:
    """Return the array that a statement accesses."""
    return base_array(statement.pointer) if isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)) else None


def _is_suitable(statement: Statement, op: str, uses: dict[Statement, int], fast_math: bool) -> bool:
    """Return whether a change is of numbers of 4 bytes or more in memory, of which order does not matter."""
    array = _accessed(statement)
    if statement in uses or op not in COMMUTING or array is None or array.clamped or array.is_shared:
        return False
    if isinstance(statement, AtomicOp) and statement.mask is not None:
        return False
    if not isinstance(array.element, (Scalar, Tensor)) or (array.shape is not None and not is_alone(array)):
        return False
    number = element_of(array.element)
    return number.size_bytes >= 4 and (fast_math or not number.is_float or COMMUTING[op] != "sum")


def _depends_on_row(pointer: Statement, row: RangeFor) -> bool:
    """Return whether a pointer is computed from the index of a loop, or from a variable that the loop assigns."""
    seen = computed_from(pointer)
    assigned = {base_pointer(s.pointer) for s in walk(row.body) if isinstance(s, LocalStore)}
    read = {base_pointer(s.pointer) for s in seen if isinstance(s, LocalLoad)}
    return any(is_index_of(s, row) for s in seen) or any(isinstance(s, Alloca) and s in assigned for s in read)


def _are_alone(task: Task, found: dict[Statement, Scatter], uses: dict[Statement, int]) -> bool:
    """Return whether nothing else accesses the arrays, but atomic operations behind the rows that commute with them."""
    if any(isinstance(s, Call) for s in walk(task.body)):
        return False
    known = set(found).union(*(scatter.plain for scatter in found.values()))
    kinds: dict[Array | None, str] = {}
    for statement, scatter in found.items():
        if kinds.setdefault(_accessed(statement), COMMUTING[scatter.op]) != COMMUTING[scatter.op]:
            return False
    for statement in _accesses(task):
        kind = kinds.get(_accessed(statement))
        if kind is not None and statement not in known:
            is_atomic = isinstance(statement, AtomicOp) and statement not in uses and statement.mask is None
            if not is_atomic or COMMUTING.get(statement.op) != kind:  # type: ignore[attr-defined]
                return False
    return True


def _accesses(task: Task) -> Iterator[Statement]:
    return (s for s in walk(task.body) if isinstance(s, (GlobalLoad, GlobalStore, AtomicOp)))
