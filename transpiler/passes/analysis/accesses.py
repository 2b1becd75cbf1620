"""Accesses by indices, of arrays, vectors and sparse nodes: which are certainly within the extents."""

from __future__ import annotations

from ...ir.nodes import Statement
from ...ir.snodes import shape_of
from ...ir.sparse import CELL_STATEMENTS, CellIndex, indexed_node, node_name
from ...ir.statements import (
    Array,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    LocalLoad,
    LoopIndex,
    MatrixElement,
    MatrixPtr,
    RangeFor,
    StructElement,
    StructFor,
    StructPtr,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor
from ...lazy_dataclasses import dataclass


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
