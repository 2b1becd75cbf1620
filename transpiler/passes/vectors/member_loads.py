"""Scheduling of loads: moves those of members of a struct before the first store to another member of it, in C.

    p.vel = p.vel + dt * g            pos = p.pos
    p.pos = p.pos + dt * p.vel   ->   p.vel = p.vel + dt * g
                                      p.pos = pos + dt * p.vel

gcc vectorizes loops over such structs. If it has all members before it stores one, it loads whole vectors and takes the
numbers from them; else it loads some members of the next structs one by one: 2^20 particles with a position, a velocity
and a mass took a core 3.3 ms in place of 1.2.
"""

from __future__ import annotations

from ...ir.nodes import Effect, Remark, Statement, blocks
from ...ir.statements import Array, GlobalLoad, GlobalPtr, GlobalStore, StructPtr
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Struct, count_scalars
from ..analysis.aliasing import member_path, underlying_object
from ..context import PassContext

LEAST = 7
"""The fewest numbers of a struct; code for shorter ones is the same (gcc 12.2 and 13.3)."""

REMARK = Remark("before a member is stored: gcc loads whole vectors then (member_loads)", "above")


def member_loads(kernel: Kernel, context: PassContext) -> bool:
    """Reorder the bodies of the parallel loops without loops or branches inside."""
    if not context.capabilities.vectorizes_loops:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is not None and not any(map(blocks, task.body)):
            changed |= _reorder(task.body.statements)
    return changed


def _reorder(statements: list[Statement]) -> bool:
    """Move the loads in a list of statements; return whether there are any."""
    before = _moved(statements)
    positions = {statement: position for position, statement in enumerate(statements)}
    later: dict[Statement, list[Statement]] = {}
    for load, store in before.items():
        load.remarks = (REMARK, *load.remarks)
        pointers = [pointer for pointer in _path(load.pointer) if positions[pointer] > positions[store]]
        later.setdefault(store, []).extend([*reversed(pointers), load])
    moved = {statement for group in later.values() for statement in group}
    others = [s for s in statements if s not in moved]
    statements[:] = [s for statement in others for s in (*dict.fromkeys(later.get(statement, ())), statement)]
    return bool(before)


def _moved(statements: list[Statement]) -> dict[GlobalLoad, GlobalStore]:
    """Return the loads to move, with the store that each is to precede."""
    arrays = {s.array for s in statements if isinstance(s, GlobalPtr)}
    structs = {a for a in arrays if isinstance(a.element, Struct) and count_scalars(a.element) >= LEAST}
    found: dict[GlobalLoad, GlobalStore] = {}
    first: dict[GlobalPtr, GlobalStore] = {}
    stored: dict[GlobalPtr, set[str]] = {}
    last: dict[Array | None, GlobalPtr] = {}  # structs stored to, by their array; None: of all that may overlap
    for statement in statements:
        match statement:
            case GlobalStore(pointer=pointer) if (base := _struct(pointer, structs)) is not None:
                memory = None if base.array.may_alias else base.array
                other = last.get(memory, base)
                if other is not base:  # it may be the same struct
                    first.pop(other, None)
                    stored.pop(other, None)
                last[memory] = base
                first.setdefault(base, statement)
                stored.setdefault(base, set()).add(member_path(pointer)[0])
            case GlobalLoad(pointer=pointer) if (base := _struct(pointer, structs)) is not None:
                if base in first and member_path(pointer)[0] not in stored[base]:
                    found[statement] = first[base]
            case GlobalStore(pointer=pointer) if _is_apart(pointer):
                pass
            case _ if statement.EFFECT & (Effect.WRITE | Effect.CONTROL | Effect.FENCE):
                first.clear()
                stored.clear()
    return found


def _struct(pointer: Statement, structs: set[Array]) -> GlobalPtr | None:
    """Return the struct of an array of which a pointer points to a member, None for other pointers."""
    path = _path(pointer)
    base = path[-1].origin if path else None
    return base if isinstance(base, GlobalPtr) and base.array in structs else None


def _path(pointer: Statement) -> list[StructPtr]:
    """Return a pointer to a member and the pointers to those that contain it."""
    found = []
    while isinstance(pointer, StructPtr):
        found.append(pointer)
        pointer = pointer.origin
    return found


def _is_apart(pointer: Statement) -> bool:
    """Return whether a pointer is of numbers of a field, which no struct overlaps."""
    array = underlying_object(pointer)
    if not isinstance(array, Array) or array.shape is None or array.may_alias:
        return False
    return isinstance(array.element, Scalar)
