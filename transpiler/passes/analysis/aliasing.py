"""Alias analysis: fields never overlap, ndarrays may, `a[i]` and `a[i + 1]` do not."""

from __future__ import annotations

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Statement, walk
from ...ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    LocalStore,
    Operation,
    StructPtr,
    Temporary,
    base_pointer,
    origin_of,
)

MemoryObject = Array | Temporary
"""The object that a global pointer points into."""

Split = tuple[Statement | None, int]
"""A value as (b, c), which is b + c with c constant; b is None for a constant."""


def underlying_object(pointer: Statement) -> MemoryObject | None:
    """Return the array or temporary a pointer points into, None for a local variable."""
    base = pointer if pointer.__class__ is GlobalPtr else base_pointer(pointer)
    if isinstance(base, GlobalPtr):
        return base.array
    return base.temporary if isinstance(base, GlobalTemporary) else None


def may_alias(target: object) -> bool:
    """Return whether an object may share memory with another one: ndarrays may."""
    return isinstance(target, Array) and target.may_alias


def member_path(pointer: Statement) -> list[str]:
    """Return the member path from the element of an array to the target of `pointer`."""
    result: list[str] = []
    origin: Statement | None = pointer
    while origin is not None:
        if isinstance(origin, StructPtr):
            result.append(origin.member)
        origin = origin_of(origin)
    return result[::-1]


def split_indices(pointer: GlobalPtr, known: dict[Statement, Split] | None = None) -> list[Split]:
    """Return (b, c) with index = b + c for each index of `pointer`: equal b and different c mean different elements.

    If indices are clamped, `i` and `i + 1` may be the same element, so that the indices are returned whole.
    known: as in `split_offset`.
    """
    if pointer.array.clamped:
        return [(index, 0) for index in pointer.indices]
    return [split_offset(index, known) for index in pointer.indices]


def split_offset(index: Statement, known: dict[Statement, Split] | None = None) -> Split:
    """Return (b, c) with index = b + c and c constant; b is None for a constant.

    known: the results of earlier calls, so that a chain of sums is not walked again for each of them.
    """
    known = {} if known is None else known
    if index in known:
        return known[index]
    chain: list[tuple[Statement, int]] = []
    while index not in known:
        inner, offset = _constant_summand(index)
        if inner is None:
            known[index] = (None, int(index.value)) if isinstance(index, Const) else (index, 0)
            break
        chain.append((index, offset))
        index = inner
    base, total = known[index]
    for outer, offset in reversed(chain):
        total += offset
        known[outer] = base, total
    return base, total


def _constant_summand(index: Statement) -> Split:
    """Return (b, c) with index = b + c for one addition or subtraction of a constant; b is None if it is none."""
    if isinstance(index, Operation) and index.op in ("add", "sub"):
        a, b = index.operands
        if isinstance(b, Const):
            return a, int(b.value) if index.op == "add" else -int(b.value)
        if isinstance(a, Const) and index.op == "add":
            return b, int(a.value)
    return None, 0


def written_objects(block: Block) -> list[MemoryObject]:
    """Return the arrays and temporaries that `block` writes, directly or through the functions it calls."""
    result: dict[MemoryObject, None] = {}
    for statement in walk(block):
        if isinstance(statement, Call):
            result.update(dict.fromkeys(statement.function.writes))
        if isinstance(statement, (GlobalStore, AtomicOp)):
            target = underlying_object(statement.pointer)
            if target is not None:
                result[target] = None
    return list(result)


def stored_locals(statement: Statement, stored: dict[Statement, set[Statement]]) -> set[Statement]:
    """Return the variables that `statement` or one inside it stores to; fill `stored` for all with blocks."""
    inner_stores: set[Statement] = set()
    for attribute in statement.BLOCKS:
        inner = getattr(statement, attribute)
        if inner is None:
            continue
        for nested in inner.statements:
            if nested.BLOCKS:
                inner_stores |= stored_locals(nested, stored)
            elif not nested.EFFECT & Effect.WRITE:
                continue
            elif isinstance(nested, (LocalStore, AtomicOp)):
                base = base_pointer(nested.pointer)
                if isinstance(base, Alloca):
                    inner_stores.add(base)
            elif isinstance(nested, Call):
                inner_stores.update(base for base in nested.references() if isinstance(base, Alloca))
    stored[statement] = inner_stores
    return inner_stores


def writes_what_is_read(after: Block, before: Block) -> bool:
    """Return whether a thread may write what others, which are not as far, still have to read."""
    read = {underlying_object(s.pointer) for s in walk(before) if isinstance(s, GlobalLoad)}
    arrays = [array for array in read if isinstance(array, Array)]
    written = written_objects(after)
    may_alias = any(isinstance(array, Array) and array.may_alias for array in written)
    return not read.isdisjoint(written) or (may_alias and any(array.may_alias for array in arrays))
