"""Guards every access to an array by a check of its indices, if the user asked for it.

Vectors and matrices are guarded too, and what asks for cells and lists of sparse nodes.

    $3 = ptr a ($i)           $3 = ptr a ($i)
    $4 = global load $3  ->   check a ($i) within (shape a 0)
                              $4 = global load $3

A check stands at the access, not where the pointer is made: a pointer costs nothing and is made before it is known
whether it is used. Indices that cannot be wrong are not checked: constants within a constant shape, indices of a loop
over the array, those checked before in the same block or one around it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ...ir.builder import Builder
from ...ir.nodes import Block, Statement, blocks, operands
from ...ir.snodes import shape_of
from ...ir.sparse import CELL_STATEMENTS, CellIndex, counted, node_name
from ...ir.statements import (
    Array,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    IndexCheck,
    LocalLoad,
    LoopIndex,
    MatrixElement,
    MatrixPtr,
    RangeFor,
    StructElement,
    StructFor,
    StructPtr,
    origin_of,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, i32
from ..context import PassContext

POINTERS = (GlobalPtr, MatrixPtr, StructPtr)


@dataclass(frozen=True, slots=True)
class Access:
    """What indices reach for. array: None for what is none. shape: extents, None where a launch brings them.

    cells: "node" or "lists" for what a sparse node has.
    """

    indices: list[Statement]
    array: Array | None
    shape: tuple[int, ...] | None
    name: str
    cells: str = ""

    @property
    def kind(self) -> str:
        """What a message calls what is reached for."""
        if self.array is None:
            return self.cells or ("vector" if len(self.indices) == 1 else "matrix")
        if self.array.parameter is not None:
            return "ndarray"
        return "shared array" if self.array.is_shared else "field"

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index along each axis."""
        return (self.array.offset if self.array is not None else ()) or (0,) * len(self.indices)


def bounds(kernel: Kernel, context: PassContext) -> bool:
    """Put an IndexCheck before each access, under `debug` or `check_out_of_bound`.

    Wide indices are left alone: `check_wide_indices` has checked them before cleanup could cut them short.
    """

    def needs_check(access: Access) -> bool:
        return not all(is_safe(access, axis) for axis in range(len(access.indices))) and not is_wide(access)

    return context.options.check_out_of_bound and guard(kernel, needs_check)


def guard(kernel: Kernel, needs_check: Callable[[Access], bool]) -> bool:
    """Put an IndexCheck before each access that needs one; return whether any did."""
    changed = [_Guard(kernel, needs_check).block(root) for root in kernel.roots()]
    return any(changed)


def is_wide(access: Access) -> bool:
    """Return whether an index was cut to i32 from an integer that may not fit."""
    return any(uncut(index) is not index for index in access.indices)


def uncut(index: Statement) -> Statement:
    """Return an index as it was before it was cut to i32: the i64, u64 or u32 itself."""
    if isinstance(index, Cast) and not index.bits and isinstance(index.value.type, Scalar):
        wide = index.value.type
        if wide.is_integral and (wide.bits == 64 or wide.name == "u32"):
            return index.value
    return index


class _Guard:
    """known: checks made so far in the block at hand and those around it."""

    def __init__(self, kernel: Kernel, needs_check: Callable[[Access], bool]) -> None:
        self.kernel, self.needs_check = kernel, needs_check
        self.known: set[Hashable] = set()

    def block(self, block: Block) -> bool:
        builder = Builder(Block())
        own: list[Hashable] = []
        changed = False
        for statement in block.statements:
            if isinstance(statement, IndexCheck):
                key = _key_of_check(statement)
                if key in self.known:
                    changed = True
                    continue
                self.known.add(key)
                own.append(key)
            for inner in blocks(statement):
                changed |= self.block(inner)
            for place in _indexed(statement):
                access = access_of(self.kernel, place)
                if access is not None and self.needs_check(access) and (key := _key(access)) not in self.known:
                    self.known.add(key)
                    own.append(key)
                    builder.location = place.location
                    builder.add(index_check(builder, access, self.kernel.name))
                    changed = True
            builder.add(statement)
        block.statements = builder.block.statements
        self.known.difference_update(own)
        return changed


def index_check(builder: Builder, access: Access, kernel: str) -> IndexCheck:
    """Return the check of an access; its extents are added to `builder`. kernel: its name, for the message."""
    extents: list[Statement] = [
        builder.add(ArrayShape(access.array, axis, type=i32))
        if access.array is not None and access.shape is None
        else builder.const(access.shape[axis] if access.shape is not None else 0)
        for axis in range(len(access.indices))
    ]
    indices = [uncut(index) for index in access.indices]
    begins = access.array.offset if access.array is not None else ()
    return IndexCheck(indices, extents, _message(access, kernel), access.name, begins)


def _indexed(statement: Statement) -> list[Statement]:
    """Return what a statement reaches through, the outermost first: pointers of what it loads, stores, passes on."""
    if isinstance(statement, (MatrixElement, *CELL_STATEMENTS)):
        return [statement]
    found: list[Statement] = []
    if not isinstance(statement, POINTERS):
        for operand in operands(statement):
            chain: list[Statement] = []
            pointer: Statement | None = operand
            while isinstance(pointer, POINTERS):
                chain.append(pointer)
                pointer = origin_of(pointer)
            found += reversed(chain)
    return found


def access_of(kernel: Kernel, statement: Statement) -> Access | None:
    """Return what a statement of a kernel indexes, None if nothing."""
    if isinstance(statement, GlobalPtr):
        array = statement.array
        if not array.ndim or array.clamped or array.node is not None:
            return None
        return Access(statement.indices, array, array.shape, array.path or array.name)
    if isinstance(statement, (MatrixPtr, MatrixElement)):
        owner = statement.origin if isinstance(statement, MatrixPtr) else statement.value
        assert isinstance(owner.type, Tensor)
        return Access(statement.indices, None, owner.type.shape, _name_of(owner))
    if isinstance(statement, CELL_STATEMENTS):
        node = counted(statement)
        shape = () if node is None else shape_of(node)
        cells = "node" if node is statement.node else "lists"
        return Access(statement.indices, None, shape, node_name(kernel, statement.node), cells)
    return None


def _name_of(owner: Statement) -> str:
    """Return what Python calls a vector or matrix: a variable, the array it is an element of, or a member of these."""
    match owner:
        case GlobalPtr(array=array):
            return array.path or array.name
        case LocalLoad(pointer=inner, name=None) | GlobalLoad(pointer=inner, name=None) | MatrixPtr(origin=inner):
            return _name_of(inner)
        case StructPtr(origin=inner, member=member) | StructElement(value=inner, member=member):
            return f"{_name_of(inner)}.{member}".lstrip(".")
    return owner.name or ""


def _key(access: Access) -> Hashable:
    return _values(access.indices), access.array if access.shape is None else (access.shape, access.offset)


def _key_of_check(check: IndexCheck) -> Hashable:
    """Return the key of an access that has been checked before this pass."""
    return _values(check.indices), (_values(check.extents), check.begins or (0,) * len(check.indices))


def _values(indices: list[Statement]) -> tuple[Hashable, ...]:
    return tuple(index.value if isinstance(index, Const) else index for index in map(uncut, indices))


def _message(access: Access, kernel: str) -> str:
    """Return Taichi's message, and what it lacks."""
    places = [f"{{{k}}}" for k in range(2 * len(access.indices))]
    indices, shape = ", ".join(places[: len(access.indices)]), ", ".join(places[len(access.indices) :])
    kind = access.kind
    if kind in ("vector", "matrix"):
        message = f"(kernel={kernel}) Out of bound access to a {kind} of shape ({shape}) with indices [{indices}]"
        return message + (f": `{access.name}`" if access.name else "")
    if kind != "ndarray":
        begins = access.array.offset if access.array is not None else ()
        since = f" offset ({', '.join(map(str, begins))})" if begins else ""
        return f"(kernel={kernel}) Accessing {kind} ({access.name}) of size ({shape}){since} with indices ({indices})"
    assert access.array is not None
    where = f"[kernel={kernel}] Out of bound access to ndarray at arg {access.array.parameter}"
    return f"{where} with indices [{indices}]: `{access.name}` has shape ({shape})"


def is_safe(access: Access, axis: int) -> bool:
    """Return whether an index lies within its extent by construction."""
    index = access.indices[axis]
    begin = access.offset[axis]
    if access.shape is not None and _fits(index, begin, begin + access.shape[axis]):
        return True
    if isinstance(index, CellIndex):
        over = index.loop.cells
    elif isinstance(index, LoopIndex):
        over = index.loop.array if isinstance(index.loop, StructFor) else index.loop.over
    else:
        return False
    if over is None:
        return False
    same_extent = over.shape is not None and access.shape is not None and over.shape[index.axis] == access.shape[axis]
    same_begin = (over.offset[index.axis] if over.offset else 0) == begin
    return (over is access.array and index.axis == axis) or (same_extent and same_begin)


def _fits(index: Statement, low: int, high: int) -> bool:
    """Return whether an index is a constant from `low` to below `high`, or runs through a loop with such bounds."""
    if isinstance(index, Const):
        return bool(low <= index.value < high)
    if not isinstance(index, LoopIndex) or not isinstance(index.loop, RangeFor):
        return False
    begin, end = index.loop.begins[index.axis], index.loop.ends[index.axis]
    if not isinstance(begin, Const) or not isinstance(end, Const):
        return False
    return bool(min(begin.value, end.value + 1) >= low and max(end.value, begin.value + 1) <= high)
