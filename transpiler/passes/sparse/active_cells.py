"""Lowers loops over sparse trees to loops over lists of active cells, which preceding loops build for each pool.

    for i, j in x { ... }    with x below a pointer node `block` of 8x8 cells, each of 4x4 elements:

    count block listed = 0
    for i, j in 8 x 8 { if is_active block (i, j) { list block[count block listed ++] = i * 8 + j } }
    for k, a, b in (count block listed) x 4 x 4 { i = list block[k] / 8 * 4 + a; j = list block[k] % 8 * 4 + b; ... }

A pool below another pool is listed by a loop over the list of the outer pool. A cell is active only if its enclosing
cells are, so that one test is enough. The list of a dynamic node contains pieces of `PIECE` items, the last of which
may have fewer. Without a pool above, and in loops that are not parallel, every cell is tested (`struct_for`).
"""

from __future__ import annotations

from math import prod

from ...ir.builder import Builder
from ...ir.functions import reachable
from ...ir.nodes import Block, Statement
from ...ir.queries import is_index_of
from ...ir.snodes import Node, axes_of, pool_above, shape_of, sparse_above
from ...ir.sparse import (
    Activate,
    Append,
    CellIndex,
    CellNumber,
    Deactivate,
    IsActive,
    Length,
    PoolCount,
    node_name,
    number_type,
    sparse_array,
)
from ...ir.sparse_storage import PIECE, pieces_of, pools_below
from ...ir.statements import AtomicOp, GlobalPtr, GlobalStore, If, LoopIndex, RangeFor, StructFor, base_pointer
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i32, u1, u32

AXES = "ijklmnop"
"""Names of indices that have no name in Python."""


def is_active(builder: Builder, node: Node, indices: list[Statement]) -> Statement:
    """Add a test whether a cell of a node, or the element of a place, is active. indices: counted from 0."""
    lowest = sparse_above(node)[-1]
    cell = scaled(builder, node, lowest, indices)
    if lowest.kind != "dynamic":
        return builder.add(IsActive(lowest, cell, type=u1))
    (axis,) = lowest.axes
    item = cell[axes_of(lowest).index(axis)]
    above = lowest.parent
    of_list = [] if above is None else scaled(builder, lowest, above, cell)
    if above is not None and axis in axes_of(above):
        item = builder.op("plain_mod", item, builder.const(lowest.extents[0]))
    return builder.op("lt", item, builder.add(Length(lowest, of_list, type=i32)))


def scaled(builder: Builder, node: Node, above: Node, indices: list[Statement]) -> list[Statement]:
    """Return the indices of the cell of `above` that contains a cell of `node`."""
    result = []
    for axis, extent in zip(axes_of(above), shape_of(above), strict=True):
        dimension = axes_of(node).index(axis)
        ratio = shape_of(node)[dimension] // extent
        index = indices[dimension]
        result.append(index if ratio == 1 else builder.op("plain_div", index, builder.const(ratio)))
    return result


def less(builder: Builder, index: Statement, lower_bound: int) -> Statement:
    """Return an index, which counts from `lower_bound`, as one that counts from 0."""
    return more(builder, index, -lower_bound)


def more(builder: Builder, index: Statement, lower_bound: int) -> Statement:
    """Return an index, which counts from 0, as one that counts from `lower_bound`."""
    if lower_bound == 0:
        return index
    return builder.op("add" if lower_bound > 0 else "sub", index, builder.const(abs(lower_bound)))


def unlisted_by(statement: Statement) -> set[Node]:
    """Return the pools whose lists a statement of a kernel's body may invalidate."""
    result: set[Node] = set()
    for inner in reachable(Block([statement])):
        if isinstance(inner, (Activate, Append)):
            result.update(sparse_above(inner.node))
        elif isinstance(inner, Deactivate):
            result.update(pools_below(inner.node))
        elif isinstance(inner, (GlobalStore, AtomicOp)):
            base = base_pointer(inner.pointer)
            if (
                isinstance(base, GlobalPtr)
                and base.array.place is not None
                and not _is_in_current_cell(base, statement)
            ):
                result.update(sparse_above(base.array.place))
    return result


def _is_in_current_cell(pointer: GlobalPtr, loop: Statement) -> bool:
    """Return whether an element is in the cell of the current iteration of a loop over cells of the same node."""
    if not isinstance(loop, StructFor) or loop.array.place is None or pointer.array.place is None:
        return False
    same = (
        sparse_above(loop.array.place) == sparse_above(pointer.array.place)
        and loop.array.offset == pointer.array.offset
    )
    return same and all(is_index_of(index, loop) and index.axis == axis for axis, index in enumerate(pointer.indices))


def pool_of_loop(loop: StructFor) -> Node | None:
    """Return the pool whose list a loop runs over, None if the loop tests every cell."""
    node = loop.array.place
    return node if node is None or node.has_pool else pool_above(node)


def over_active_cells(
    kernel: Kernel, loop: StructFor, pool: Node, listed: set[Node]
) -> tuple[list[Statement], RangeFor, list[Statement]]:
    """Return the statements that build the lists, the loop over the last list, and the user's indices of the cell.

    listed: pools with valid lists; the function adds the pools whose lists it builds.
    """
    levels = [pool]
    while (outer := pool_above(levels[0])) is not None:
        levels.insert(0, outer)
    builder = Builder(Block())
    needed = [level for level in levels if level not in listed]
    for level in needed:
        builder.store(_listed(kernel, builder, level), builder.const(0, u32))
    for level in needed:
        _list_cells(kernel, builder, pool_above(level), level)
    listed.update(needed)
    builder.location = loop.location
    node = loop.array.place
    assert node is not None
    cell_loop = _CellLoop(kernel, builder, pool, node, loop.names)
    new = cell_loop.loop
    new.serialize, new.block_dim, new.parallelize = loop.serialize, loop.block_dim, loop.parallelize
    new.cells = loop.array
    with builder.into(new.body):
        indices = cell_loop.indices(builder)
        lower_bounds = loop.array.offset or (0,) * len(indices)
        counted = [more(builder, index, lower_bound) for index, lower_bound in zip(indices, lower_bounds, strict=True)]
        names = loop.names if len(loop.names) == len(counted) else [None] * len(counted)
        user_indices: list[Statement] = [
            builder.add(CellIndex(index, new, axis, type=i32, name=name))
            for axis, (index, name) in enumerate(zip(counted, names, strict=True))
        ]
        same = dict(zip(counted, user_indices, strict=True))
        if pool is not node:
            cell = [
                builder.op("plain_div", same.get(index, index), builder.const(ratio))
                if ratio > 1
                else same.get(index, index)
                for index, ratio in cell_loop.cell
            ]
            builder.add(CellNumber(pool, cell, type=u32, name=node_name(kernel, pool)))
        if pool.kind == "dynamic" or sparse_above(node)[-1] is not pool:
            cell_indices = [same.get(index, index) for index in indices]
            builder.add(If(is_active(builder, node, cell_indices), loop.body))
        else:
            new.body.statements += loop.body.statements
    return builder.block.statements, new, user_indices


def _listed(kernel: Kernel, builder: Builder, pool: Node) -> GlobalPtr:
    return builder.add(GlobalPtr(sparse_array(kernel, pool, "listed"), [], type=u32))


def _list_cells(kernel: Kernel, builder: Builder, outer: Node | None, pool: Node) -> None:
    """Add the loop that lists the active cells of a pool. outer: the pool above, whose list is valid."""
    if pool.kind == "dynamic":
        _list_pieces(kernel, builder, outer, pool)
        return
    cell_loop = _CellLoop(kernel, builder, outer, pool, [])
    cell_loop.loop.purpose = f"lists the active cells of {node_name(kernel, pool)}"
    with builder.into(cell_loop.loop.body):
        indices = _named(cell_loop.indices(builder), pool)
        then = Block()
        with builder.into(then):
            _append(kernel, builder, pool, _row_major(builder, indices, shape_of(pool), number_type(pool)))
        builder.add(If(is_active(builder, pool, indices), then))
    builder.add(cell_loop.loop)


def _list_pieces(kernel: Kernel, builder: Builder, outer: Node | None, pool: Node) -> None:
    """Add the loop that lists the pieces of dynamic lists. For a single list it has one iteration per piece."""
    above = pool.parent
    purpose = f"lists the items of {node_name(kernel, pool)} in pieces of {min(PIECE, pool.extents[0])}"
    if above is None or prod(shape_of(above)) == 1:
        loop = RangeFor(*_bounds(builder, [builder.const(pieces_of(pool))]), ["piece"])
        loop.purpose = purpose
        with builder.into(loop.body):
            piece = builder.add(LoopIndex(loop, 0, type=i32, name="piece"))
            zero_indices: list[Statement] = [builder.const(0) for _ in ([] if above is None else shape_of(above))]
            length = builder.add(Length(pool, zero_indices, type=i32))
            then = Block()
            with builder.into(then):
                _append(kernel, builder, pool, piece)
            begin = builder.op("mul", piece, builder.const(PIECE))
            builder.add(If(builder.op("lt", begin, length), then))
        builder.add(loop)
        return
    cell_loop = _CellLoop(kernel, builder, outer, above, [])
    cell_loop.loop.purpose = purpose
    with builder.into(cell_loop.loop.body):
        indices = _named(cell_loop.indices(builder), above)
        list_number = _row_major(builder, indices, shape_of(above), i32)
        length = builder.add(Length(pool, indices, type=i32))
        rounded = builder.op("add", length, builder.const(PIECE - 1))
        pieces = builder.op("plain_div", rounded, builder.const(PIECE))
        pieces.name = "pieces"
        loop = RangeFor(*_bounds(builder, [pieces]), ["piece"])
        with builder.into(loop.body):
            piece = builder.add(LoopIndex(loop, 0, type=i32, name="piece"))
            first = builder.op("mul", list_number, builder.const(pieces_of(pool)))
            _append(kernel, builder, pool, builder.op("add", first, piece))
        builder.add(loop)
    builder.add(cell_loop.loop)


def _append(kernel: Kernel, builder: Builder, pool: Node, cell: Statement) -> None:
    """Add a cell to the list of a pool."""
    old_count = builder.atomic("add", _listed(kernel, builder, pool), builder.const(1, u32))
    old_count.name = "position"
    position = builder.cast(old_count, i32)
    builder.store(builder.add(GlobalPtr(sparse_array(kernel, pool, "list"), [position], type=cell.type)), cell)


def _named(indices: list[Statement], node: Node) -> list[Statement]:
    """Return indices of a cell; those without a name get that of their axis."""
    for index, axis in zip(indices, axes_of(node), strict=True):
        index.name = index.name or AXES[axis]
    return indices


def _row_major(builder: Builder, indices: list[Statement], shape: tuple[int, ...], kind: Scalar) -> Statement:
    number, *others = [builder.cast(index, kind) for index in indices]
    for index, extent in zip(others, shape[1:], strict=True):
        number = builder.op("add", builder.op("mul", number, builder.const(extent, kind)), index)
    return number


def _bounds(builder: Builder, ends: list[Statement]) -> tuple[list[Statement], list[Statement], list[Statement]]:
    """Return the bounds and steps of a loop from 0."""
    return [builder.const(0) for _ in ends], ends, [builder.const(1) for _ in ends]


class _CellLoop:
    """A loop over the cells of `inner` inside the active cells of the pool `outer`; without `outer`, over all.

    Attributes:
        axes: by axis of the tree, the axis of the loop for cells of `inner` inside one cell of `outer`.
        cell: for each index of the cell of `outer`, an index of `inner` and how many of these it has, after `indices`.
    """

    def __init__(self, kernel: Kernel, builder: Builder, outer: Node | None, inner: Node, names: list[str]) -> None:
        self.kernel, self.outer, self.inner = kernel, outer, inner
        self.axes: dict[int, int] = {}
        self.cell: list[tuple[Statement, int]] = []
        ends: list[Statement] = []
        names_of_axes: list[str] = []
        if outer is not None:
            ends.append(builder.add(PoolCount(outer, "listed", type=i32)))
            names_of_axes.append("list_index")
            if outer.kind == "dynamic":
                ends.append(builder.const(min(PIECE, outer.extents[0])))
                names_of_axes.append("item")
        for dimension, (axis, extent) in enumerate(zip(axes_of(inner), shape_of(inner), strict=True)):
            ratio = extent // self._extent_of_outer(axis)
            if ratio > 1 or outer is None:
                self.axes[axis] = len(ends)
                ends.append(builder.const(ratio))
                name = names[dimension] if dimension < len(names) else AXES[axis]
                names_of_axes.append(f"{name}_inside" if outer is not None else name)
        self.loop = RangeFor(*_bounds(builder, ends), names_of_axes, location=builder.location)

    def _extent_of_outer(self, axis: int) -> int:
        if self.outer is None or axis not in axes_of(self.outer):
            return 1
        return shape_of(self.outer)[axes_of(self.outer).index(axis)]

    def indices(self, builder: Builder) -> list[Statement]:
        """Add the indices of the cell of `inner`, counted from 0, to the body of the loop."""
        outer = self._outer_indices(builder)
        cell = {axis: (index, 1) for axis, index in outer.items()}
        result = []
        for axis, extent in zip(axes_of(self.inner), shape_of(self.inner), strict=True):
            offset_in_cell = self._index(builder, self.axes[axis]) if axis in self.axes else None
            if axis not in outer:
                result.append(offset_in_cell if offset_in_cell is not None else builder.const(0))
                continue
            ratio = extent // self._extent_of_outer(axis)
            index = outer[axis]
            if ratio > 1 and self.outer is not None:
                index = builder.op("mul", index, builder.const(ratio))
            index = index if offset_in_cell is None else builder.op("add", index, offset_in_cell)
            result.append(index)
            if ratio > 1 and self.outer is not None:  # `i / 4` needs no name, other than what `i` is made of
                cell[axis] = index, ratio
        self.cell = [cell[axis] for axis in sorted(cell)]
        return result

    def _index(self, builder: Builder, axis: int) -> Statement:
        return builder.add(LoopIndex(self.loop, axis, type=i32, name=self.loop.names[axis]))

    def _outer_indices(self, builder: Builder) -> dict[int, Statement]:
        """Return the indices of the cell of the pool, by axis of the tree."""
        outer = self.outer
        if outer is None:
            return {}
        numbers = sparse_array(self.kernel, outer, "list")
        pointer = GlobalPtr(numbers, [self._index(builder, 0)], type=numbers.element)
        entry = builder.load(builder.add(pointer))
        is_cell = outer.kind != "dynamic"
        result = self._cell_of(builder, entry) if is_cell else self._item_of(builder, entry)
        if entry not in result.values():  # otherwise it has the name of an index
            entry.name = "cell" if is_cell else "piece"
        return result

    def _cell_of(self, builder: Builder, entry: Statement) -> dict[int, Statement]:
        """Return the indices of a listed cell, by axis of the tree."""
        assert self.outer is not None
        return _unrolled(builder, entry, axes_of(self.outer), shape_of(self.outer))

    def _item_of(self, builder: Builder, entry: Statement) -> dict[int, Statement]:
        """Return the indices of an item of a listed piece."""
        outer = self.outer
        assert outer is not None
        (item_axis,) = outer.axes
        pieces, above = pieces_of(outer), outer.parent
        item = self._index(builder, 1)
        result: dict[int, Statement] = {}
        if above is not None:
            list_number = entry if pieces == 1 else builder.op("plain_div", entry, builder.const(pieces))
            if list_number is not entry and len(axes_of(above)) > 1:
                list_number.name = "list"
            result = _unrolled(builder, list_number, axes_of(above), shape_of(above))
            entry = builder.op("plain_mod", entry, builder.const(pieces)) if pieces > 1 else builder.const(0)
        if pieces > 1:
            item = builder.op("add", builder.op("mul", entry, builder.const(PIECE)), item)
        if item_axis in result:
            item = builder.op("add", builder.op("mul", result[item_axis], builder.const(outer.extents[0])), item)
        return {**result, item_axis: item}


def _unrolled(builder: Builder, number: Statement, axes: list[int], shape: tuple[int, ...]) -> dict[int, Statement]:
    """Return the indices of a row-major cell number, an i32 or an i64."""
    result: dict[int, Statement] = {}
    kind = number.type
    assert isinstance(kind, Scalar)
    for position, axis in enumerate(axes):
        weight = prod(shape[position + 1 :])
        index = number if weight == 1 else builder.op("plain_div", number, builder.const(weight, kind))
        if position > 0:
            index = builder.op("plain_mod", index, builder.const(shape[position], kind))
        result[axis] = builder.cast(index, i32)
    return result
