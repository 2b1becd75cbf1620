"""Lowers loops over sparse trees to loops over lists of active cells, which preceding loops build for each pool.

    for i, j in x { ... }    with x below a pointer node `block` of 8x8 cells, each of 4x4 elements:

    count block listed = 0
    for i, j in 8 x 8 { if is_active block (i, j) { list block[count block listed ++] = i * 8 + j } }
    for k, a, b in (count block listed) x 4 x 4 { i = list block[k] / 8 * 4 + a; j = list block[k] % 8 * 4 + b; ... }

A pool below another pool is listed by a loop over the list of the outer pool. A cell is active only if its enclosing
cells are, so that one test is enough. The list of a dynamic node contains pieces of `PIECE` items, the last of which
may have fewer. Without a pool above, and in loops that are not parallel, every cell is tested (`struct_for`).

A loop has the iterations that were active when it began. If its body may activate or deactivate others, nothing that
changes meanwhile is read: cells of bitmasked nodes are listed too, and the lengths of lists are noted before the loop.
"""

from __future__ import annotations

from math import prod

from ....ir.builder import Builder
from ....ir.functions import reachable
from ....ir.nodes import Block, Statement
from ....ir.snodes import Node, axes_of, pool_above, shape_of, sparse_above
from ....ir.sparse import (
    Activate,
    Append,
    CellIndex,
    CellNumber,
    Deactivate,
    IsActive,
    Length,
    PoolCount,
    node_name,
    sparse_array,
)
from ....ir.sparse_storage import PIECE, pieces_of, pools_below, row_major_type
from ....ir.statements import AtomicOp, GlobalPtr, GlobalStore, If, LoopIndex, RangeFor, StructFor, base_pointer
from ....ir.tasks import Kernel
from ....ir.types import Scalar, i32, u1, u32
from ....lazy_dataclasses import dataclass
from ...analysis.queries import are_indices_of

AXES = "ijklmnop"
"""Names of indices that have no name in Python."""


def is_active(builder: Builder, node: Node, indices: list[Statement], number: CellNumber | None = None) -> Statement:
    """Add a test whether a cell of a node, or the element of a place, is active.

    indices: counted from 0. number: of the cell of a pool that contains it, if it is known.
    """
    lowest = sparse_above(node)[-1]
    cell = scaled(builder, node, lowest, indices)
    if lowest.kind != "dynamic":
        is_inside = number is not None and lowest.kind == "bitmasked" and pool_above(lowest) is number.node
        return builder.add(IsActive(lowest, cell, number if is_inside else None, type=u1))
    item, of_list = item_of(builder, lowest, cell)
    return builder.op("lt", item, builder.add(Length(lowest, of_list, type=i32)))


def item_of(builder: Builder, node: Node, cell: list[Statement]) -> tuple[Statement, list[Statement]]:
    """Return the position of an item of a dynamic node in its list, and the indices of the list."""
    (axis,) = node.axes
    item = cell[axes_of(node).index(axis)]
    above = node.parent
    of_list = [] if above is None else scaled(builder, node, above, cell)
    if above is not None and axis in axes_of(above):
        item = builder.op("plain_mod", item, builder.const(node.extents[0]))
    return item, of_list


def scaled(builder: Builder, node: Node, above: Node, indices: list[Statement]) -> list[Statement]:
    """Return the indices of the cell of `above` that contains a cell of `node`."""
    result = []
    for axis, extent in zip(axes_of(above), shape_of(above), strict=True):
        dimension = axes_of(node).index(axis)
        ratio = shape_of(node)[dimension] // extent
        index = indices[dimension]
        result.append(index if ratio == 1 else builder.op("plain_div", index, builder.const(ratio)))
    return result


def unlisted_by(statement: Statement) -> set[Node]:
    """Return the sparse nodes whose lists a statement of a kernel's body may invalidate."""
    result: set[Node] = set()
    for inner in reachable(Block([statement])):
        if isinstance(inner, (Activate, Append)):
            result.update(sparse_above(inner.node))
        elif isinstance(inner, Deactivate):
            result.update(pools_below(inner.node))
            if inner.node.kind == "bitmasked" and not are_indices_of(inner.indices, statement):
                result.add(inner.node)
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
    return same and are_indices_of(pointer.indices, loop)


def changes_its_cells(loop: StructFor) -> bool:
    """Return whether the body of a loop may change which cells of the loop's nodes are active."""
    node = loop.array.place
    return node is not None and not unlisted_by(loop).isdisjoint(sparse_above(node))


def listed_by(loop: StructFor, changes: bool) -> Node | None:
    """Return the node whose list a loop runs over, None if the loop tests every cell.

    changes: whether the body may change which cells are active; then all that are active are listed before the loop.
    """
    node = loop.array.place
    if node is None or node.has_pool:
        return node
    return sparse_above(node)[-1] if changes else pool_above(node)


def over_active_cells(
    kernel: Kernel, loop: StructFor, lowest: Node, listed: set[Node], changes: bool
) -> tuple[list[Statement], RangeFor, list[Statement]]:
    """Return the statements that build the lists, the loop over the last list, and the user's indices of the cell.

    lowest: the node whose list the loop runs over. listed: nodes with valid lists. changes: see `listed_by`.
    """
    levels = [lowest]
    while (outer := pool_above(levels[0])) is not None:
        levels.insert(0, outer)
    builder = Builder(Block())
    listing = _Listing(kernel, builder, loop.serialize, lowest if changes and lowest.kind == "dynamic" else None)
    listing.add([level for level in levels if level not in listed or (changes and level is lowest)])
    builder.location = loop.location
    node = loop.array.place
    assert node is not None
    cell_loop = _CellLoop(kernel, builder, lowest, node, loop.names, loop.serialize)
    new = cell_loop.loop
    new.block_dim, new.parallelize = loop.block_dim, loop.parallelize
    new.cells = loop.array
    with builder.into(new.body):
        indices = cell_loop.indices(builder)
        lower_bounds = loop.array.offset or (0,) * len(indices)
        counted = [
            builder.shifted(index, lower_bound) for index, lower_bound in zip(indices, lower_bounds, strict=True)
        ]
        names = loop.names if len(loop.names) == len(counted) else [None] * len(counted)
        user_indices: list[Statement] = [
            builder.add(CellIndex(index, new, axis, type=i32, name=name))
            for axis, (index, name) in enumerate(zip(counted, names, strict=True))
        ]
        same = dict(zip(counted, user_indices, strict=True))
        numbered, number = lowest if lowest.has_pool else pool_above(lowest), None
        if numbered is not None and numbered is not node:
            cell = [same.get(index, index) for index in cell_loop.cell]
            cell = scaled(builder, lowest, numbered, cell)
            number = builder.add(CellNumber(numbered, cell, type=u32, name=node_name(kernel, numbered)))
        if listing.noted is not None:
            cell_indices = [same.get(index, index) for index in indices]
            builder.add(If(listing.is_noted(cell_indices), loop.body))
        elif lowest.kind == "dynamic" or sparse_above(node)[-1] is not lowest:
            cell_indices = [same.get(index, index) for index in indices]
            builder.add(If(is_active(builder, node, cell_indices, number), loop.body))
        else:
            new.body.statements += loop.body.statements
    return builder.block.statements, new, user_indices


@dataclass(slots=True)
class _Listing:
    """Adds the loops that list active cells.

    Attributes:
        serialize: whether the loop over them is serial: then the order in the list is that of the indices.
        noted: the dynamic node whose lengths are noted, since the loop may change them.
    """

    kernel: Kernel
    builder: Builder
    serialize: bool
    noted: Node | None

    def add(self, levels: list[Node]) -> None:
        """List the active cells of nodes, each inside those of the pool above, whose list is valid."""
        for level in levels:
            self.builder.store(self._listed(level), self.builder.const(0, u32))
            if level is self.noted and _lists(level) == 1:
                self._note(level, self.builder.const(0), self._length(level))
        for level in levels:
            if level.kind == "dynamic":
                self._pieces(level)
            else:
                self._cells(level)

    def is_noted(self, cell: list[Statement]) -> Statement:
        """Add a test whether an item was in its list before the loop. cell: its indices, counted from 0."""
        assert self.noted is not None
        item, of_list = item_of(self.builder, self.noted, cell)
        return self.builder.op("lt", item, self.builder.load(self._end(self.noted, self._list_number(of_list))))

    def _listed(self, node: Node) -> GlobalPtr:
        return self.builder.add(GlobalPtr(sparse_array(self.kernel, node, "listed"), [], type=u32))

    def _end(self, node: Node, list_number: Statement) -> GlobalPtr:
        return self.builder.add(GlobalPtr(sparse_array(self.kernel, node, "ends"), [list_number], type=i32))

    def _list_number(self, of_list: list[Statement]) -> Statement:
        assert self.noted is not None
        if self.noted.parent is None or not of_list:
            return self.builder.const(0)
        return _row_major(self.builder, of_list, shape_of(self.noted.parent), i32)

    def _length(self, node: Node, of_list: list[Statement] | None = None) -> Statement:
        if of_list is None:  # of the only list
            of_list = [self.builder.const(0) for _ in ([] if node.parent is None else shape_of(node.parent))]
        return self.builder.add(Length(node, of_list, type=i32))

    def _note(self, node: Node, list_number: Statement, length: Statement) -> None:
        """Note the length of a list."""
        self.builder.store(self._end(node, list_number), length)

    def _cells(self, node: Node) -> None:
        """Add the loop that lists the active cells of a node."""
        builder = self.builder
        cell_loop = _CellLoop(self.kernel, builder, pool_above(node), node, [], self.serialize)
        cell_loop.loop.purpose = f"lists the active cells of {node_name(self.kernel, node)}"
        with builder.into(cell_loop.loop.body):
            indices = _named(cell_loop.indices(builder), node)
            then = Block()
            with builder.into(then):
                self._append(node, _row_major(builder, indices, shape_of(node), row_major_type(node)))
            builder.add(If(is_active(builder, node, indices), then))
        builder.add(cell_loop.loop)

    def _pieces(self, pool: Node) -> None:
        """Add the loop that lists the pieces of dynamic lists. For a single list it has one iteration per piece."""
        builder, above = self.builder, pool.parent
        purpose = f"lists the items of {node_name(self.kernel, pool)} in pieces of {min(PIECE, pool.extents[0])}"
        if above is None or _lists(pool) == 1:
            loop = RangeFor(*_bounds(builder, [builder.const(pieces_of(pool))]), ["piece"], serialize=self.serialize)
            loop.purpose = purpose
            with builder.into(loop.body):
                piece = builder.add(LoopIndex(loop, 0, type=i32, name="piece"))
                length = self._length(pool)
                then = Block()
                with builder.into(then):
                    self._append(pool, piece)
                begin = builder.op("mul", piece, builder.const(PIECE))
                builder.add(If(builder.op("lt", begin, length), then))
            builder.add(loop)
            return
        cell_loop = _CellLoop(self.kernel, builder, pool_above(pool), above, [], self.serialize)
        cell_loop.loop.purpose = purpose
        with builder.into(cell_loop.loop.body):
            indices = _named(cell_loop.indices(builder), above)
            list_number = _row_major(builder, indices, shape_of(above), i32)
            length = self._length(pool, indices)
            if pool is self.noted:
                length.name = "length"
                self._note(pool, list_number, length)
            rounded = builder.op("add", length, builder.const(PIECE - 1))
            pieces = builder.op("plain_div", rounded, builder.const(PIECE))
            pieces.name = "pieces"
            loop = RangeFor(*_bounds(builder, [pieces]), ["piece"])
            with builder.into(loop.body):
                piece = builder.add(LoopIndex(loop, 0, type=i32, name="piece"))
                first = builder.op("mul", list_number, builder.const(pieces_of(pool)))
                self._append(pool, builder.op("add", first, piece))
            builder.add(loop)
        builder.add(cell_loop.loop)

    def _append(self, node: Node, cell: Statement) -> None:
        """Add a cell to the list of a node."""
        builder = self.builder
        old_count = builder.atomic("add", self._listed(node), builder.const(1, u32))
        old_count.name = "position"
        position = builder.cast(old_count, i32)
        builder.store(builder.add(GlobalPtr(sparse_array(self.kernel, node, "list"), [position], type=cell.type)), cell)


def _lists(node: Node) -> int:
    """Return the number of lists of a dynamic node."""
    return 1 if node.parent is None else prod(shape_of(node.parent))


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


def _count(kernel: Kernel, builder: Builder, node: Node, serialize: bool) -> Statement:
    """Return the length of a list. serialize: it was made by the same task."""
    if not serialize:
        return builder.add(PoolCount(node, "listed", type=i32))
    listed = builder.add(GlobalPtr(sparse_array(kernel, node, "listed"), [], type=u32))
    return builder.cast(builder.load(listed), i32)


class _CellLoop:
    """A loop over the cells of `inner` inside the active cells of the pool `outer`; without `outer`, over all.

    Attributes:
        outer: a pool, or a bitmasked node that is listed.
        axes: by axis of the tree, the axis of the loop for cells of `inner` inside one cell of `outer`.
        cell: the indices of the cell of `outer`, after `indices`. Its number is found by these, not those of `inner`,
            so that compilers see that it is the same for all cells of `inner`.
    """

    def __init__(
        self, kernel: Kernel, builder: Builder, outer: Node | None, inner: Node, names: list[str], serialize: bool
    ) -> None:
        self.kernel, self.outer, self.inner = kernel, outer, inner
        self.axes: dict[int, int] = {}
        self.cell: list[Statement] = []
        ends: list[Statement] = []
        names_of_axes: list[str] = []
        if outer is not None:
            ends.append(_count(kernel, builder, outer, serialize))
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
        self.loop = RangeFor(*_bounds(builder, ends), names_of_axes, serialize=serialize, location=builder.location)

    def _extent_of_outer(self, axis: int) -> int:
        if self.outer is None or axis not in axes_of(self.outer):
            return 1
        return shape_of(self.outer)[axes_of(self.outer).index(axis)]

    def indices(self, builder: Builder) -> list[Statement]:
        """Add the indices of the cell of `inner`, counted from 0, to the body of the loop."""
        outer = self._outer_indices(builder)
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
        self.cell = [outer[axis] for axis in sorted(outer)]
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
