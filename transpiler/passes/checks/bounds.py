"""Inserts index checks before accesses to arrays, if the user enabled them.

Accesses to vectors, matrices, and cells and lists of sparse nodes are checked too.

    $3 = ptr a ($i)           $3 = ptr a ($i)
    $4 = global load $3  ->   check a ($i) within (shape a 0)
                              $4 = global load $3

A check is inserted at the access, not at the pointer: a pointer costs nothing and may be computed without being used.
Indices that are in bounds by construction are not checked: constants within a constant shape, indices of a loop over
the array, and indices checked before in the same or an enclosing block.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ...ir.builder import Builder
from ...ir.nodes import Block, Statement, blocks, operands
from ...ir.snodes import shape_of
from ...ir.sparse import CELL_STATEMENTS, CellIndex, indexed_node, node_name
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
from ...lazy_dataclasses import dataclass
from ..context import PassContext

POINTERS = (GlobalPtr, MatrixPtr, StructPtr)


@dataclass(frozen=True, slots=True)
class Access:
    """An access by indices.

    Args:
        array: None if the target is not an array.
        shape: extents, None if they are known only at launch.
        cells: "node" or "lists" of a sparse node, "" otherwise.
    """

    indices: list[Statement]
    array: Array | None
    shape: tuple[int, ...] | None
    name: str
    cells: str = ""

    @property
    def kind(self) -> str:
        """The kind of the target in a message."""
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
    """Insert an IndexCheck before each access, under `debug` or `check_out_of_bound`.

    Wide indices are skipped: `check_wide_indices` has checked them before a cleanup could truncate them.
    """

    def needs_check(access: Access) -> bool:
        return not all(is_safe(access, axis) for axis in range(len(access.indices))) and not is_wide(access)

    return context.options.check_out_of_bound and insert_checks(kernel, needs_check)


def insert_checks(kernel: Kernel, needs_check: Callable[[Access], bool]) -> bool:
    """Insert an IndexCheck before each access that needs one; return whether any was inserted."""
    changed = [_CheckInserter(kernel, needs_check).block(root) for root in kernel.roots()]
    return any(changed)


def is_wide(access: Access) -> bool:
    """Return whether an index was truncated to i32 from an integer that may not fit."""
    return any(untruncated(index) is not index for index in access.indices)


def untruncated(index: Statement) -> Statement:
    """Return an index as it was before it was truncated to i32: the i64, u64 or u32 itself."""
    if isinstance(index, Cast) and not index.bits and isinstance(index.value.type, Scalar):
        wide = index.value.type
        if wide.is_integral and (wide.bits == 64 or wide.name == "u32"):
            return index.value
    return index


class _CheckInserter:
    """Inserts the checks. `known`: checks so far in the current block and its enclosing blocks."""

    def __init__(self, kernel: Kernel, needs_check: Callable[[Access], bool]) -> None:
        self.kernel, self.needs_check = kernel, needs_check
        self.known: set[Hashable] = set()

    def block(self, block: Block) -> bool:
        builder = Builder(Block())
        added: list[Hashable] = []
        changed = False
        for statement in block.statements:
            if isinstance(statement, IndexCheck):
                key = _key_of_check(statement)
                if key in self.known:
                    changed = True
                    continue
                self.known.add(key)
                added.append(key)
            for inner in blocks(statement):
                changed |= self.block(inner)
            for indexed in _indexed(statement):
                access = access_of(self.kernel, indexed)
                if access is not None and self.needs_check(access) and (key := _key(access)) not in self.known:
                    self.known.add(key)
                    added.append(key)
                    builder.location = indexed.location
                    builder.add(index_check(builder, access, self.kernel.name))
                    changed = True
            builder.add(statement)
        block.statements = builder.block.statements
        self.known.difference_update(added)
        return changed


def index_check(builder: Builder, access: Access, kernel: str) -> IndexCheck:
    """Return the check of an access; its extents are added to `builder`. kernel: its name, for the message."""
    extents: list[Statement] = [
        builder.add(ArrayShape(access.array, axis, type=i32))
        if access.array is not None and access.shape is None
        else builder.const(access.shape[axis] if access.shape is not None else 0)
        for axis in range(len(access.indices))
    ]
    indices = [untruncated(index) for index in access.indices]
    lower_bounds = access.array.offset if access.array is not None else ()
    return IndexCheck(indices, extents, _message(access, kernel), access.name, lower_bounds)


def _indexed(statement: Statement) -> list[Statement]:
    """Return the pointers through which a statement loads, stores or passes a reference, outermost first."""
    if isinstance(statement, (MatrixElement, *CELL_STATEMENTS)):
        return [statement]
    result: list[Statement] = []
    if not isinstance(statement, POINTERS):
        for operand in operands(statement):
            chain: list[Statement] = []
            pointer: Statement | None = operand
            while isinstance(pointer, POINTERS):
                chain.append(pointer)
                pointer = origin_of(pointer)
            result += reversed(chain)
    return result


def access_of(kernel: Kernel, statement: Statement) -> Access | None:
    """Return the access of a statement that has indices, None if it has none."""
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
        node = indexed_node(statement)
        shape = () if node is None else shape_of(node)
        cells = "node" if node is statement.node else "lists"
        return Access(statement.indices, None, shape, node_name(kernel, statement.node), cells)
    return None


def _name_of(owner: Statement) -> str:
    """Return the Python name of a vector or matrix: a variable, an array whose element it is, or a member of these."""
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
    """Return the key of an access that was checked before this pass."""
    return _values(check.indices), (_values(check.extents), check.lower_bounds or (0,) * len(check.indices))


def _values(indices: list[Statement]) -> tuple[Hashable, ...]:
    return tuple(index.value if isinstance(index, Const) else index for index in map(untruncated, indices))


def _message(access: Access, kernel: str) -> str:
    """Return Taichi's message, with the name of the target."""
    placeholders = [f"{{{k}}}" for k in range(2 * len(access.indices))]
    indices, shape = ", ".join(placeholders[: len(access.indices)]), ", ".join(placeholders[len(access.indices) :])
    kind = access.kind
    if kind in ("vector", "matrix"):
        message = f"(kernel={kernel}) Out of bound access to a {kind} of shape ({shape}) with indices [{indices}]"
        return message + (f": `{access.name}`" if access.name else "")
    if kind != "ndarray":
        lower_bounds = access.array.offset if access.array is not None else ()
        since = f" offset ({', '.join(map(str, lower_bounds))})" if lower_bounds else ""
        return f"(kernel={kernel}) Accessing {kind} ({access.name}) of size ({shape}){since} with indices ({indices})"
    assert access.array is not None
    where = f"[kernel={kernel}] Out of bound access to ndarray at arg {access.array.parameter}"
    return f"{where} with indices [{indices}]: `{access.name}` has shape ({shape})"


def is_safe(access: Access, axis: int) -> bool:
    """Return whether an index is within its extent by construction."""
    index = access.indices[axis]
    lower_bound = access.offset[axis]
    if access.shape is not None and _fits(index, lower_bound, lower_bound + access.shape[axis]):
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
    same_begin = (over.offset[index.axis] if over.offset else 0) == lower_bound
    return (over is access.array and index.axis == axis) or (same_extent and same_begin)


def _fits(index: Statement, low: int, high: int) -> bool:
    """Return whether an index is a constant in [low, high), or the index of a loop with such bounds."""
    if isinstance(index, Const):
        return bool(low <= index.value < high)
    if not isinstance(index, LoopIndex) or not isinstance(index.loop, RangeFor):
        return False
    begin, end = index.loop.starts[index.axis], index.loop.ends[index.axis]
    if not isinstance(begin, Const) or not isinstance(end, Const):
        return False
    return bool(min(begin.value, end.value + 1) >= low and max(end.value, begin.value + 1) <= high)
