"""Which pointers may mean the same memory: fields never overlap, ndarrays may, `a[i]` and `a[i + 1]` do not."""

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

Place = Array | Temporary
"""What a global pointer points into."""


def place_of(pointer: Statement) -> Place | None:
    """Return the array or temporary a pointer points into, None for a local variable."""
    base = base_pointer(pointer)
    if isinstance(base, GlobalPtr):
        return base.array
    return base.temporary if isinstance(base, GlobalTemporary) else None


def may_overlap(a: Place, b: Place) -> bool:
    """Return whether two places may share memory."""
    return a is b or (isinstance(a, Array) and isinstance(b, Array) and a.may_alias and b.may_alias)


def may_conflict(written: Statement, other: Statement) -> bool:
    """Return whether a write through one global pointer may change what the other points to."""
    a, b = place_of(written), place_of(other)
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
    """Return the members that lead from the element of an array to what `pointer` points to."""
    found: list[str] = []
    origin: Statement | None = pointer
    while origin is not None:
        if isinstance(origin, StructPtr):
            found.insert(0, origin.member)
        origin = origin_of(origin)
    return found


def split_indices(pointer: GlobalPtr) -> list[tuple[Statement | None, int]]:
    """Return (b, c) with index = b + c for each index of `pointer`: one b with two c means two elements.

    Where indices are clamped, `i` and `i + 1` may be one element: nothing is taken apart.
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
    """Return whether `statement`, or one inside it, may change what a texture holds: of which, nobody knows, since one
    may be given twice."""
    if isinstance(statement, ImageStore) or statement.EFFECT & Effect.FENCE:
        return True
    if isinstance(statement, Call) and statement.EFFECT & Effect.WRITE:
        return True
    return any(stores_texels(inner) for block in blocks(statement) for inner in block.statements)


def written_places(block: Block) -> list[Place]:
    """Return the arrays and temporaries that `block` writes, itself or by the functions it calls."""
    found: dict[Place, None] = {}
    for statement in walk(block):
        if isinstance(statement, Call):
            found.update(dict.fromkeys(statement.function.writes))
        if isinstance(statement, (GlobalStore, AtomicOp)) and (place := place_of(statement.pointer)) is not None:
            found[place] = None
    return list(found)


def unaffected(known: dict[Statement, Statement], written: list[Place]) -> dict[Statement, Statement]:
    """Return what is known of cells, by pointer, less those that lie in a written place."""
    if not written:
        return known
    return {
        pointer: value
        for pointer, value in known.items()
        if not any(may_overlap(place, other) for place in written if (other := place_of(pointer)) is not None)
    }


def stored_locals(statement: Statement, found: dict[Statement, set[Statement]]) -> set[Statement]:
    """Return the variables that `statement` or one inside it stores to; fills `found` for all that hold blocks."""
    from_inside: set[Statement] = set()
    for attribute in statement.BLOCKS:
        inner = getattr(statement, attribute)
        if inner is None:
            continue
        for nested in inner.statements:
            if nested.BLOCKS:
                from_inside |= stored_locals(nested, found)
            elif isinstance(nested, (LocalStore, AtomicOp)):
                base = base_pointer(nested.pointer)
                if isinstance(base, Alloca):
                    from_inside.add(base)
            elif isinstance(nested, Call):
                from_inside.update(base for base in nested.references() if isinstance(base, Alloca))
    found[statement] = from_inside
    return from_inside
