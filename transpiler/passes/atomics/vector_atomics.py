"""Finds additions to neighbours in memory that fewer atomic instructions perform, where a target has such instructions.

    atomic add grid[$i].v.x, $a      }
    atomic add grid[$i].v.y, $b      }    printed as    atomic_add_float4((float4 *)&grid(i).v.x, {a, b, c, m});
    atomic add grid[$i].v.z, $c      }
    atomic add grid[$i].mass, $m     }

Each element is added atomically, as before; an H200 takes a fourth of the time for all (p2g3d: 1.95 ms, .57). The
address must be a multiple of 8 or 16 bytes, which only fields are known to have: of vectors of 2 or 4 floats, and
of members that share a cell, `ti.root.dense(...).place(v, mass)`. Three floats anywhere take two instructions, of which
`atomic_add_float3` finds the aligned one (p2g3d with a field of 3-vectors: 2.27 ms, 1.70). Differences are sums of
negative numbers. The statements stay, and are numbered. A remark says where a cell would make one instruction of
additions to two fields.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import field
from math import gcd, prod

from ...ir.nodes import Block, Effect, Remark, Statement, count_uses, walk_blocks
from ...ir.snodes import index_components_of, offset_in_cell, sparse_above, start_offset
from ...ir.statements import Array, AtomicOp, Const, GlobalPtr, LocalLoad, MatrixPtr, StructPtr
from ...ir.tasks import Kernel
from ...ir.types import Struct, Tensor, f32, member_offset
from ...lazy_dataclasses import dataclass
from ..context import PassContext

WIDTHS = (4, 2)
"""Floats that one instruction adds."""
ANYWHERE = 3
"""Floats that two instructions add, whatever their address."""

SUMS = frozenset({"add", "sub"})

Key = tuple[Hashable, ...]


@dataclass(slots=True)
class _Cell:
    """Additions to one cell of memory, by offset [bytes].

    alignment: the address of the cell is a multiple of it. array: a field, if it has memory of its own.
    """

    alignment: int
    additions: dict[int, AtomicOp] = field(default_factory=dict)
    array: Array | None = None
    indices: Key = ()


def vector_atomics(kernel: Kernel, context: PassContext) -> bool:
    """Number the additions that are performed together."""
    if not context.capabilities.vector_atomics:
        return False
    number = 0
    hinted = False
    copied = {task.body: task.block_sums for task in kernel.tasks}  # in shared memory, which has no such instructions
    for root in kernel.roots():
        used = count_uses(root)
        for block in walk_blocks(root):
            cells = list(_cells(block, used, copied.get(root, ())))
            for cell in cells:
                for group in _groups(cell):
                    _join(block, group, number)
                    number += 1
            for pair in zip(cells, cells[1:]):
                hinted |= _hint(*pair)
    return number > 0 or hinted


def _hint(one: _Cell, other: _Cell) -> bool:
    """Add a remark if two fields of equal shape would fill a cell to which one instruction adds."""
    a, b = one.array, other.array
    if a is None or b is None or a is b or a.shape is None or one.indices != other.indices:
        return False  # other indices, or arrays that cannot be placed in cells
    widths = [len(cell.additions) * f32.size_bytes for cell in (one, other)]
    is_whole = widths == [a.element.size_bytes, b.element.size_bytes] and sum(widths) in (8, 16)
    if not is_whole or a.shape != b.shape:
        return False
    last = list(other.additions.values())[-1]
    remark = f"one instruction if {a.name} and {b.name} shared cells: ti.root.dense(...).place({a.name}, {b.name})"
    last.remarks = (*last.remarks, Remark(remark))
    return True


def _join(block: Block, group: list[AtomicOp], number: int) -> None:
    for lane, atomic in enumerate(group):
        atomic.together = (number, lane, len(group))
    last = next(statement for statement in reversed(block.statements) if statement in group)
    count = "two instructions" if len(group) == ANYWHERE else "one instruction"
    last.remarks = (*last.remarks, Remark(f"{count} (vector_atomics)"))


def _groups(cell: _Cell) -> Iterator[list[AtomicOp]]:
    """Yield the additions of neighbours that are performed together, those by one instruction first."""
    remaining = dict(cell.additions)
    for width in (*WIDTHS, ANYWHERE):
        size = width * f32.size_bytes
        unit = f32.size_bytes if width == ANYWHERE else size
        if cell.alignment % unit:
            continue
        for first in sorted(remaining):
            offsets = range(first, first + size, f32.size_bytes)
            if first % unit == 0 and all(offset in remaining for offset in offsets):
                yield [remaining.pop(offset) for offset in offsets]


def _cells(block: Block, used: dict[Statement, int], copied: Collection[Array]) -> Iterator[_Cell]:
    """Yield the cells to which statements of a block add, one after another.

    Between additions to one cell are only values that do not depend on memory: printed at the last of them, all add
    what they added before.
    """
    current: Key | None = None
    cell = _Cell(1)
    for statement in block.statements:
        if statement.EFFECT == Effect.NONE and not statement.BLOCKS or isinstance(statement, LocalLoad):
            continue
        found = None
        if isinstance(statement, AtomicOp) and statement not in used and statement.op in SUMS and statement.type == f32:
            found = _address(statement.pointer)
        if found is not None and found[0][0] in copied:
            found = None
        key, offset, alignment = found or (None, 0, 1)
        if key != current or offset in cell.additions:
            yield cell
            current, cell = key, _Cell(alignment)
            if key is not None and isinstance(key[0], Array):
                cell.array, cell.indices = key[0], key[1:]
        if found is not None:
            assert isinstance(statement, AtomicOp)
            cell.additions[offset] = statement
    yield cell


def _address(pointer: Statement) -> tuple[Key, int, int] | None:
    """Return what tells a cell from others, the offset of the target in it, and the alignment of the cell [bytes]."""
    offset = 0
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        kind = pointer.origin.type
        if isinstance(pointer, StructPtr):
            assert isinstance(kind, Struct)
            offset += member_offset(kind, pointer.member)
        else:
            assert isinstance(kind, Tensor)
            indices = [int(index.value) for index in pointer.indices if isinstance(index, Const)]
            if len(indices) != len(kind.shape):
                return None
            offset += kind.element.size_bytes * _row_major(indices, kind.shape)
        pointer = pointer.origin
    if not isinstance(pointer, GlobalPtr) or pointer.cell is not None:
        return None
    array, place = pointer.array, pointer.array.place
    if array.is_shared or array.clamped or array.node is not None:
        return None
    where = tuple(index.value if isinstance(index, Const) else index for index in pointer.indices)
    if not _has_known_address(array):
        return ((array, *where), offset, f32.size_bytes) if place is None else None
    if place is None:
        return (array, *where), offset, gcd(16, array.element.size_bytes if prod(array.shape or ()) > 1 else 16)
    strides = [component.stride_bytes for component in index_components_of(place)]
    start = start_offset(place) - offset_in_cell(place)
    return (place.parent, array.offset, *where), offset + offset_in_cell(place), gcd(16, start, *strides)


def _row_major(indices: list[int], shape: tuple[int, ...]) -> int:
    position = 0
    for extent, index in zip(shape, indices, strict=True):
        position = position * extent + index
    return position


def _has_known_address(array: Array) -> bool:
    """Return whether an array is a field outside of pools: its allocation is aligned."""
    if array.shape is None or array.may_alias:
        return False
    return array.place is None or not sparse_above(array.place)
