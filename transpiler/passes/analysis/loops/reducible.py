"""Finds atomic operations of a parallel loop that all iterations perform on one place, and that may be a reduction.

In: a task. Out: `Place`s, each with the atomic operations on it. Such an operation

- has no result that is used,
- has indices that are the same in each iteration: constants, arguments, extents, and operations on these,
- is the only kind of access to its place in the task: what else reads or changes its array has other constant indices
  (of `a[0] += a[1]; a[1] += a[2]` the first is a reduction), and no function does,
- may be performed after all others: no array that may share memory with its array is accessed later in an iteration,
- is performed in each iteration, unless its place certainly exists: the reduction accesses it in any case.

A loop whose threads wait for each other is left alone, and so are fields of sparse trees, whose cells would become
active.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import field

from ....ir.functions import Call, calls, reachable
from ....ir.nodes import Block, Effect, Statement, blocks, count_uses, walk, walk_inside
from ....ir.snodes import sparse_above
from ....ir.statements import (
    CHECKS,
    ArgLoad,
    Array,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    MatrixPtr,
    Operation,
    RangeFor,
    Return,
    StructPtr,
    While,
    base_pointer,
)
from ....ir.tasks import Task
from ....ir.threads import depends_on_block
from ....ir.types import Type, element_of
from ....lazy_dataclasses import dataclass
from ..aliasing import MemoryObject, underlying_object
from ..existence import axes_by_numbers

JOINS = {op: op for op in ("add", "mul", "min", "max", "and", "or", "xor")} | {"sub": "add"}
"""Atomic operation -> the operation that joins two of its partial results."""

Key = tuple[Hashable, ...]


@dataclass(slots=True)
class Place:
    """An element, or a part of one, that all iterations combine values into.

    Attributes:
        pointer: of the first operation.
        join: of `JOINS`.
        certain: the element exists, even if the loop has no iteration.
    """

    pointer: Statement
    join: str
    certain: bool
    atomics: list[AtomicOp] = field(default_factory=list)

    @property
    def type(self) -> Type:
        """The type of the values."""
        assert self.pointer.type is not None
        return self.pointer.type


@dataclass(frozen=True, slots=True)
class _Access:
    """An access to memory: the statement, its number in the iteration, and the loops around it."""

    statement: Statement
    target: MemoryObject | None
    number: int
    loops: frozenset[Statement]


def reducible_places(task: Task) -> list[Place]:
    """Return the places of a parallel loop, in the order of the iteration."""
    inside = walk(task.body) if task.loop is not None else ()
    atomics: list[AtomicOp] = [s for s in inside if s.__class__ is AtomicOp]
    candidates = set(filter(_is_candidate, atomics))
    if not candidates or any(depends_on_block(s) or s.EFFECT & Effect.FENCE for s in reachable(task.body)):
        return []
    candidates -= count_uses(task.body).keys()
    accesses = list(_accesses(task.body))
    while rejected := _rejected(candidates, accesses):
        candidates -= rejected
    always = set(always_performed(task.body))
    places: dict[Key, Place] = {}
    for atomic in atomics:
        if atomic in candidates:
            place = places.setdefault(_key(atomic.pointer), Place(atomic.pointer, JOINS[atomic.op], False))
            place.certain |= _certainly_exists(atomic.pointer)
            place.atomics.append(atomic)
    return [p for p in places.values() if p.certain or any(atomic in always for atomic in p.atomics)]


def is_invariant(value: Statement) -> bool:
    """Return whether a value is the same in all threads and can be computed again anywhere in a task."""
    pending, seen = [value], set[Statement]()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        match one:
            case Const() | ArgLoad() | ArrayShape():
                pass
            case Operation(operands=operands):
                pending += operands
            case Cast(value=inner):
                pending.append(inner)
            case _:
                return False
    return True


def _is_candidate(atomic: AtomicOp) -> bool:
    """Return whether an atomic operation has a place that no iteration changes, of a type that can be reduced."""
    base = base_pointer(atomic.pointer)
    if atomic.op not in JOINS or atomic.type is None or element_of(atomic.type).kind == "bool":
        return False
    if isinstance(base, GlobalPtr):
        array = base.array
        if array.is_shared or base.cell is not None or array.node is not None:
            return False
        if array.place is not None and sparse_above(array.place):
            return False
    elif not isinstance(base, GlobalTemporary):
        return False
    return all(is_invariant(index) for index in _indices(atomic.pointer))


def _indices(pointer: Statement) -> Iterator[Statement]:
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        if isinstance(pointer, MatrixPtr):
            yield from pointer.indices
        pointer = pointer.origin
    if isinstance(pointer, GlobalPtr):
        yield from pointer.indices


def _key(value: Statement | None) -> Key:
    """Return what is equal for pointers or indices that are computed in the same way."""
    match value:
        case Const(value=number, type=type):
            return ("const", number, type)
        case ArgLoad(parameter=parameter):
            return ("argument", parameter)
        case ArrayShape(array=array, axis=axis):
            return ("shape", array, axis)
        case Operation(op=op, operands=operands, type=type):
            return (op, type, *map(_key, operands))
        case Cast(value=inner, bits=bits, type=type):
            return ("cast", bits, type, _key(inner))
        case GlobalPtr(array=array, indices=indices):
            return (array, *map(_key, indices))
        case GlobalTemporary(temporary=temporary):
            return (temporary,)
        case MatrixPtr(origin=origin, indices=indices):
            return (*_key(origin), ("element", *map(_key, indices)))
        case StructPtr(origin=origin, member=member):
            return (*_key(origin), ("member", member))
    return (value,)


# --- other accesses ---------------------------------------------------------------------------------------------------


def _accesses(block: Block, loops: frozenset[Statement] = frozenset()) -> Iterator[_Access]:
    """Yield the accesses to arrays and temporaries in the order of the iteration; numbers are set by the caller."""
    for number, (statement, around) in enumerate(_in_order(block, loops)):
        if isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)):
            target = underlying_object(statement.pointer)
            if target is not None:
                yield _Access(statement, target, number, around)
        elif isinstance(statement, Call):
            for array in sorted(statement.function.reads | statement.function.writes, key=lambda a: a.binding):
                yield _Access(statement, array, number, around)


def _in_order(block: Block, loops: frozenset[Statement]) -> Iterator[tuple[Statement, frozenset[Statement]]]:
    for statement in block.statements:
        yield statement, loops
        inner = loops | {statement} if isinstance(statement, (RangeFor, While)) else loops
        for nested in blocks(statement):
            yield from _in_order(nested, inner)


def _rejected(candidates: set[AtomicOp], accesses: list[_Access]) -> set[AtomicOp]:
    """Return the candidates that other accesses exclude: to their place, or later to memory that may be the same."""
    others = [access for access in accesses if access.statement not in candidates]
    touched: dict[MemoryObject | None, set[tuple[Key, str]]] = {}
    for access in accesses:
        touched.setdefault(access.target, set()).add((_key_of_access(access.statement), _join(access, candidates)))
    rejected: set[AtomicOp] = set()
    for access in accesses:
        atomic, join = access.statement, _join(access, candidates)
        if join and isinstance(atomic, AtomicOp):
            key = _key(atomic.pointer)
            excluding = (place for place, its_join in touched[access.target] if its_join != join)
            if not all(_are_disjoint(key, place) for place in excluding) or any(_is_later(access, o) for o in others):
                rejected.add(atomic)
    return rejected


def _join(access: _Access, candidates: set[AtomicOp]) -> str:
    """Return what joins the values of a candidate, "" for another access."""
    atomic = access.statement
    return JOINS[atomic.op] if isinstance(atomic, AtomicOp) and atomic in candidates else ""


def _key_of_access(access: Statement) -> Key:
    """Return the place of an access, `()` for a call, which may access all places."""
    return _key(access.pointer) if isinstance(access, (GlobalLoad, GlobalStore, AtomicOp)) else ()


def _is_later(access: _Access, other: _Access) -> bool:
    """Return whether an iteration accesses memory through another array after `access`, which may be the same memory.

    If it only does so before, all iterations could do so before any of them comes to `access`.
    """
    a, b = access.target, other.target
    if not (isinstance(a, Array) and isinstance(b, Array) and a.may_alias and b.may_alias):
        return False
    return other.number > access.number or bool(access.loops & other.loops)


def _are_disjoint(a: Key, b: Key) -> bool:
    """Return whether two places of one array certainly do not overlap."""
    for one, other in zip(a, b, strict=False):
        if one == other:
            continue
        if not (isinstance(one, tuple) and isinstance(other, tuple)):
            return False
        if one[0] == other[0] == "element":
            return any(_are_unequal(*pair) for pair in zip(one[1:], other[1:], strict=True))
        if one[0] == other[0] == "member" or _are_unequal(one, other):
            return True
    return False


def _are_unequal(a: Hashable, b: Hashable) -> bool:
    return isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0] == "const" and a[1] != b[1]


# --- whether a place exists -------------------------------------------------------------------------------------------


def _certainly_exists(pointer: Statement) -> bool:
    """Return whether an element exists in every launch: it is inside a field, or there is no way to be outside."""
    if not all(isinstance(index, Const) for index in _indices(pointer) if index not in _array_indices(pointer)):
        return False
    base = base_pointer(pointer)
    if not isinstance(base, GlobalPtr):
        return True
    array = base.array
    if array.shape is None:
        return array.ndim == 0
    if array.clamped:
        return 0 not in array.shape
    return all(axes_by_numbers(base))


def _array_indices(pointer: Statement) -> list[Statement]:
    base = base_pointer(pointer)
    return base.indices if isinstance(base, GlobalPtr) else []


def always_performed(block: Block) -> Iterator[AtomicOp]:
    """Yield the atomic operations that each iteration performs: in no branch or loop, and after no way out."""
    for statement in block.statements:
        if isinstance(statement, AtomicOp):
            yield statement
        leaves = (Continue, Return, *CHECKS)
        if isinstance(statement, leaves) or any(isinstance(s, leaves) for s in walk_inside(statement)):
            return
        if any(isinstance(s, CHECKS) for call in calls(Block([statement])) for s in reachable(call.function.body)):
            return  # a check in a function may end the iteration
