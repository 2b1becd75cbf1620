"""Alias analysis: fields never overlap, ndarrays may, `a[i]` and `a[i + 1]` do not."""

from __future__ import annotations

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Statement, blocks, walk
from ...ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    Const,
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
from ...ir.textures import ImageStore

MemoryObject = Array | Temporary
"""The object that a global pointer points into."""


def underlying_object(pointer: Statement) -> MemoryObject | None:
    """Return the array or temporary a pointer points into, None for a local variable."""
    base = base_pointer(pointer)
    if isinstance(base, GlobalPtr):
        return base.array
    return base.temporary if isinstance(base, GlobalTemporary) else None


def may_overlap(a: MemoryObject, b: MemoryObject) -> bool:
    """Return whether two objects may share memory."""
    return a is b or (isinstance(a, Array) and isinstance(b, Array) and a.may_alias and b.may_alias)


def may_conflict(written: Statement, other: Statement) -> bool:
    """Return whether a write through one global pointer may change the value at the other."""
    a, b = underlying_object(written), underlying_object(other)
    if a is None or b is None or not may_overlap(a, b):
        return False
    if a is not b:
        return True
    if any(i != j for i, j in zip(_members(written), _members(other), strict=False)):
        return False  # two members of a struct, of one element or of two
    first, second = base_pointer(written), base_pointer(other)
    if isinstance(first, GlobalPtr) and isinstance(second, GlobalPtr):
        pairs = zip(split_indices(first), split_indices(second), strict=True)
        return not any(base_i is base_j and i != j for (base_i, i), (base_j, j) in pairs)
    return True


def _members(pointer: Statement) -> list[str]:
    """Return the member path from the element of an array to the target of `pointer`."""
    result: list[str] = []
    origin: Statement | None = pointer
    while origin is not None:
        if isinstance(origin, StructPtr):
            result.insert(0, origin.member)
        origin = origin_of(origin)
    return result


def split_indices(pointer: GlobalPtr) -> list[tuple[Statement | None, int]]:
    """Return (b, c) with index = b + c for each index of `pointer`: equal b and different c mean different elements.

    If indices are clamped, `i` and `i + 1` may be the same element, so that the indices are returned whole.
    """
    if pointer.array.clamped:
        return [(index, 0) for index in pointer.indices]
    return [split_offset(index) for index in pointer.indices]


def split_offset(index: Statement) -> tuple[Statement | None, int]:
    """Return (b, c) with index = b + c and c constant; b is None for a constant."""
    offset = 0
    while isinstance(index, Operation) and index.op in ("add", "sub"):
        a, b = index.operands
        if isinstance(b, Const):
            offset += int(b.value) if index.op == "add" else -int(b.value)
            index = a
        elif isinstance(a, Const) and index.op == "add":
            offset += int(a.value)
            index = b
        else:
            break
    return (None, offset + int(index.value)) if isinstance(index, Const) else (index, offset)


def stores_texels(statement: Statement) -> bool:
    """Return whether `statement`, or one inside it, may store to a texture.

    The store may change any texture, since one texture may be passed twice."""
    if isinstance(statement, ImageStore) or statement.EFFECT & Effect.FENCE:
        return True
    if isinstance(statement, Call) and statement.EFFECT & Effect.WRITE:
        return True
    return any(stores_texels(inner) for block in blocks(statement) for inner in block.statements)


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


def unaffected(known: dict[Statement, Statement], written: list[MemoryObject]) -> dict[Statement, Statement]:
    """Return the known values of elements, by pointer, without those in a written object."""
    if not written:
        return known
    result: dict[Statement, Statement] = {}
    for pointer, value in known.items():
        target = underlying_object(pointer)
        if target is None or not any(may_overlap(target, other) for other in written):
            result[pointer] = value
    return result


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
            elif isinstance(nested, (LocalStore, AtomicOp)):
                base = base_pointer(nested.pointer)
                if isinstance(base, Alloca):
                    inner_stores.add(base)
            elif isinstance(nested, Call):
                inner_stores.update(base for base in nested.references() if isinstance(base, Alloca))
    stored[statement] = inner_stores
    return inner_stores
