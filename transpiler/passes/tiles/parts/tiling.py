"""The tiles of a task: what its threads load into shared memory, and what each combines of that (`register_tiles`).

In: a task and a plan for it. Out: its new body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ....ir.builder import Builder
from ....ir.nodes import Block, Remark, Statement, clone, count_uses, operands
from ....ir.statements import (
    Alloca,
    Array,
    Const,
    GlobalLoad,
    GlobalPtr,
    If,
    IfExp,
    LoopIndex,
    MatrixPtr,
    RangeFor,
)
from ....ir.tasks import Kernel, Task
from ....ir.threads import Barrier
from ....ir.types import Scalar, Tensor, i32
from ...analysis.queries import computed_from, is_index_of, names_of
from ...rewrite import Rewriter
from ...tasks.parts.copies import copy_of_block
from .register_plan import TOGETHER, Plan, Staged
from .row_totals import RowTotal, take_row_totals
from .tiled_loops import add_axis, new_shared


class Tiling:
    """Makes a task run by tiles.

    Attributes:
        is_double_buffered: whether it has two tiles of each array, one of which it loads while it combines the other.
        first: the first row and the first column of a block, by axis.
        inside: the first ones of a thread, counted from there.
        limit: how many rows and columns there are from there on, None where all blocks are whole.
        whole: the axes along which all blocks are whole.
        variables: of all elements of a thread.
        places: the first element of each tile that a thread loads.

    A block has one tile of the columns, or all in a serial loop (`product_rows`), which calls `begin` and
    `add_variables` in it.
    """

    def __init__(self, kernel: Kernel, task: Task, plan: Plan, has_all_columns: bool = False) -> None:
        self.kernel, self.task, self.plan = kernel, task, plan
        self.shape = plan.shape
        self.builder = builder = Builder(Block(), plan.loop.location)
        self.names = names_of(plan.loop)[-2:]
        self.serial_name = plan.serial.names[0] if plan.serial.names else "k"
        self.is_double_buffered = plan.is_double_buffered
        axes = (plan.row, plan.column)
        self.whole = {axis for axis in axes if plan.is_whole_along(axis)}
        of_blocks = (plan.row,) if has_all_columns else axes
        self.first: dict[int, Statement] = {}
        self.limit: dict[int, Statement | None] = {}
        self.variables: dict[Statement, Alloca] = {}
        self.places: dict[Staged, tuple[Statement, Statement]] = {}
        self.thread = self._run_in_tiles(of_blocks)
        for axis in of_blocks:
            self.begin(axis, self._index(axis))
        across = builder.const(self.shape.across)
        parts = ((plan.row, "floordiv", self.shape.rows), (plan.column, "mod", TOGETHER))
        self.inside = {
            axis: builder.op("mul", builder.op(op, self.thread, across), builder.const(count))
            for axis, op, count in parts
        }
        for axis, name in zip(axes, self.names):
            self.inside[axis].name = f"{name}_in_tile"
        if not has_all_columns:
            self.add_variables()

    def begin(self, axis: int, first: Statement) -> None:
        """Let a tile begin with a row or a column."""
        self.first[axis] = first
        self.limit[axis] = None if axis in self.whole else self._limit(axis)

    def add_variables(self) -> None:
        """Add variables for all elements of a thread."""
        self.variables = {variable: self._variable(variable) for variable in self.plan.variables}

    def _run_in_tiles(self, axes: Sequence[int]) -> Statement:
        """Give the loop of the task the axes of blocks and of threads; return the thread."""
        loop, task, shape = self.plan.loop, self.task, self.shape
        if self.plan.column not in axes:
            for values in (loop.starts, loop.ends, loop.steps, loop.names):
                values.pop()
        add_axis(task, {axis: self.plan.extent_along(axis) for axis in axes}, shape.threads, "thread")
        loop.grid_stride = False
        task.block_dim, task.tile = shape.threads, (shape.threads,)
        return self._index(len(loop.starts) - 1)

    def _index(self, axis: int) -> Statement:
        return self.builder.add(LoopIndex(self.plan.loop, axis, type=i32))

    def _limit(self, axis: int) -> Statement:
        """Return how many iterations there are along an axis from the first one of a tile."""
        return self.builder.op("sub", self.builder.again(self.plan.ends[axis]), self.first[axis])

    def _variable(self, variable: Alloca) -> Alloca:
        """Return a variable for all elements of a thread."""
        assert isinstance(variable.type, Scalar)
        kind = Tensor((self.shape.rows, self.shape.columns), variable.type)
        return self.builder.add(Alloca(type=kind, name=variable.name, location=variable.location))

    def run(self, is_fast: bool) -> None:
        """Replace the body of the task. is_fast: sums of floats may have another order."""
        plan = self.plan
        self.add_products()
        totals = take_row_totals(plan, self.task.body, is_fast)
        self._copy_for_elements([*plan.again, *plan.after], totals)
        self.task.body.statements[:] = self.builder.block.statements

    def add_products(self) -> None:
        """Add the statements before the serial loop, and that loop."""
        if not self.plan.starts_with_zeros:
            self._copy_for_elements(self.plan.before)
        self._add_serial_loop()

    def store_elements(self, variable: Alloca, tile: Array) -> None:
        """Store a variable of all elements into an array in shared memory, by row and column."""
        builder, plan, shape = self.builder, self.plan, self.shape
        with self.unrolled(shape.rows, "row") as row, self.unrolled(shape.columns, "column") as column:
            place = [self._in_tile(axis, index) for axis, index in ((plan.row, row), (plan.column, column))]
            value = builder.load(self._variables_at(row, column)[variable])
            builder.store(builder.add(GlobalPtr(tile, place, type=tile.element)), value)

    @contextmanager
    def unrolled(self, count: int, name: str) -> Iterator[Statement]:
        """A loop of so many iterations that a compiler unrolls; its index."""
        builder = self.builder
        start, end, step = (builder.const(bound) for bound in (0, count, 1))
        loop = builder.add(RangeFor([start], [end], [step], [name], unroll=True))
        with builder.into(loop.body):
            yield builder.add(LoopIndex(loop, type=i32))

    def _copy_for_elements(self, statements: Sequence[Statement], totals: Sequence[RowTotal] = ()) -> None:
        """Copy the statements of an iteration for all of a thread. totals: what they do to elements of their rows."""
        builder, shape = self.builder, self.shape
        with self.unrolled(shape.rows, "row") as row:
            for total in totals:
                total.begin_row(builder)
            with self.unrolled(shape.columns, "column") as column:
                self._copy_for_element(statements, row, column)
            for total in totals:
                self._add_total(total, row)

    def _add_total(self, total: RowTotal, row: Statement) -> None:
        """Add what a thread has for a row to its element."""
        builder, axis = self.builder, self.plan.row
        index = self._index_of(axis, row)
        own = Builder(Block(), builder.location)
        total.add_to_row(own)
        self._replace_indices(own.block, {axis: index}, None)
        builder.block.statements += own.block.statements

    def _copy_for_element(self, statements: Sequence[Statement], row: Statement, column: Statement) -> None:
        """Copy the statements of an iteration for a row and a column of a thread."""
        builder, plan = self.builder, self.plan
        places = {plan.row: row, plan.column: column}
        limits = [(axis, limit) for axis, limit in self.limit.items() if limit is not None]
        inside = [builder.op("lt", self._in_tile(a, places[a]), limit) for a, limit in limits]
        condition = builder.all_of(inside)
        body = builder.block if condition is None else builder.add(If(condition)).then
        with builder.into(body):
            indices = {axis: self._index_of(axis, place) for axis, place in places.items()}
            mapping = self._variables_at(row, column)
            own = Block([s for s in statements if s not in mapping])
            builder.block.statements += copy_of_block(own, mapping).statements
        self._replace_indices(body, indices, None)

    def _in_tile(self, axis: int, place: Statement) -> Statement:
        """Return the index of a row or column of a thread, from that of the block on."""
        return self._plus_place(self.inside[axis], axis, place)

    def _index_of(self, axis: int, place: Statement) -> Statement:
        """Return the index of a row or column of a thread."""
        index = self._plus_place(self.builder.op("add", self.first[axis], self.inside[axis]), axis, place)
        index.name = self.names[axis - self.plan.row]
        return index

    def _plus_place(self, first: Statement, axis: int, place: Statement) -> Statement:
        """Add to the index of the first row or column of a thread that of another one. Columns are four together."""
        builder = self.builder
        if axis == self.plan.row or self.shape.columns == TOGETHER:
            return builder.op("add", first, place)
        size, distance = builder.const(TOGETHER), builder.const(self.shape.across * TOGETHER)
        first = builder.op("add", first, builder.op("mod", place, size))
        return builder.op("add", first, builder.op("mul", builder.op("floordiv", place, size), distance))

    def _variables_at(self, row: Statement, column: Statement) -> dict[Statement, Statement]:
        """Return what local variables of an iteration are replaced by."""
        return {own: self.builder.element_ptr(all_of, [row, column]) for own, all_of in self.variables.items()}

    def _replace_indices(self, body: Block, indices: Mapping[int, Statement], serial: Statement | None) -> None:
        """Replace the indices of the rows and the columns, by axis, and that of the serial loop."""

        def index(rewriter: Rewriter, value: Statement) -> Statement | None:
            if is_index_of(value, self.plan.serial):
                return serial
            return indices.get(value.axis) if is_index_of(value, self.plan.loop) else None

        Rewriter({LoopIndex: index}).block(body)

    # --- the serial loop

    def _add_serial_loop(self) -> None:
        """Add the loop over tiles: an iteration loads the next ones, and combines those loaded before."""
        builder, serial = self.builder, self.plan.serial
        depth = builder.const(self.shape.depth)
        start, end = builder.const(_int_of(serial.starts[0])), builder.again(serial.ends[0])
        builder.location = serial.location
        self.places = {staged: self._first_place(staged) for staged in self.plan.staged}
        tiles = [self._new_tile(staged) for staged in self.plan.staged]
        last = builder.op("add", end, depth)
        if self.is_double_buffered:
            self._store_first(tiles, start, end)
        first = builder.op("add", start, depth) if self.is_double_buffered else start
        outer = builder.add(RangeFor([first], [last], [depth], [f"{self.serial_name}_next"]))
        of_rows, of_columns = self.shape.extents
        note = (
            f"a block computes {of_rows} x {of_columns} elements, each thread {self.shape.rows} x {self.shape.columns}"
        )
        note += f"{', double-buffered' if self.is_double_buffered else ''} (register_tiles)"
        outer.remarks = (Remark(note, "above", serial.location),)
        with builder.into(outer.body):
            following = builder.add(LoopIndex(outer, type=i32))
            buffer, loaded = self._buffer(following), self._load_next(following, end)
            if self.is_double_buffered:
                self._combine(tiles, self._other(buffer), builder.op("sub", following, depth), end)
            else:
                with builder.into(builder.add(If(builder.op("gt", following, first))).then):
                    self._combine(tiles, buffer, builder.op("sub", following, depth), end)
                builder.add(Barrier("block"))
            of_all = dict(zip(self.plan.staged, zip(tiles, loaded, strict=True), strict=True))
            for group, load in self._loads():
                for staged in group:
                    tile, numbers = of_all[staged]
                    self._store(staged, tile, buffer, load, builder.load(builder.element_ptr(numbers, [load])))
            builder.add(Barrier("block"))

    def _new_tile(self, staged: Staged) -> Array:
        """Return an array in shared memory, transposed so that threads read neighbours; two if double-buffered."""
        tiles = (2,) if self.is_double_buffered else ()
        shape = (*tiles, self.shape.depth, self.plan.extent_along(staged.own))
        return new_shared(self.kernel, f"{staged.name}_tile", staged.value.type, shape)

    def _buffer(self, first: Statement) -> list[Statement]:
        """Return which of two tiles begins with the index `first`, nothing for one."""
        if not self.is_double_buffered:
            return []
        builder = self.builder
        number = builder.op("floordiv", first, builder.const(self.shape.depth))
        buffer = builder.op("mod", number, builder.const(2))
        buffer.hint = "buffer"
        return [buffer]

    def _other(self, buffer: Sequence[Statement]) -> list[Statement]:
        """Return which tile is combined while another one is loaded."""
        found = [self.builder.op("sub", self.builder.const(1), number) for number in buffer]
        for number in found:
            number.hint = "other"
        return found

    def _store(
        self, staged: Staged, tile: Array, buffer: Sequence[Statement], load: Statement, value: Statement
    ) -> None:
        """Store an element of a tile."""
        place = GlobalPtr(tile, [*buffer, *self._in_tile_of(staged, load)], type=tile.element)
        self.builder.store(self.builder.add(place), value)

    def _store_first(self, tiles: Sequence[Array], start: Statement, end: Statement) -> None:
        """Let a block load the first tiles."""
        of_all = dict(zip(self.plan.staged, tiles, strict=True))
        for group, load in self._loads():
            buffer = self._buffer(start)
            for staged in group:
                self._store(staged, of_all[staged], buffer, load, self._loaded(staged, load, start, end))
        self.builder.add(Barrier("block"))

    def _first_place(self, staged: Staged) -> tuple[Statement, Statement]:
        """Return which element of a tile a thread loads first: its index along the serial loop, and that of its row."""
        builder, name = self.builder, staged.name
        size = self.shape.depth if staged.is_transposed else self.plan.extent_along(staged.own)
        last = builder.op("mod", self.thread, builder.const(size))
        other = builder.op("floordiv", self.thread, builder.const(size))
        along, place = (last, other) if staged.is_transposed else (other, last)
        along.hint = f"{name}_{self.serial_name}"
        place.hint = f"{name}_{self.names[staged.own - self.plan.row]}"
        return along, place

    def _distance(self, staged: Staged, load: Statement) -> Statement:
        """Return how far an element of a tile is from the first one that the thread loads."""
        size = self.shape.depth if staged.is_transposed else self.plan.extent_along(staged.own)
        return self.builder.op("mul", load, self.builder.const(self.shape.threads // size))

    def _in_tile_of(self, staged: Staged, load: Statement, first: Sequence[Statement] = ()) -> list[Statement]:
        """Return which element of a tile a thread loads: its index along the serial loop, and among rows or columns.

        first: what to add to them.
        """
        builder, indices = self.builder, list(self.places[staged])
        if first:
            indices = [builder.op("add", start, index) for start, index in zip(first, indices, strict=True)]
        stepped = 1 if staged.is_transposed else 0
        indices[stepped] = builder.op("add", indices[stepped], self._distance(staged, load))
        return indices

    def _load_next(self, first: Statement, end: Statement) -> list[Alloca]:
        """Let each thread load its elements of the tiles from the index `first` on, 0 for those there are not."""
        builder, plan = self.builder, self.plan
        loaded: dict[Staged, Alloca] = {}
        for staged in plan.staged:
            assert isinstance(staged.value.type, Scalar)
            kind, hint = Tensor((plan.loads_of(staged),), staged.value.type), f"{staged.name}_next"
            loaded[staged] = builder.add(Alloca(type=kind, hint=hint))
        body = builder.block
        if self.is_double_buffered:
            first = builder.op("min", first, builder.op("sub", end, builder.const(self.shape.depth)))
            first.hint = f"{self.serial_name}_load"
        elif plan.has_whole_tiles:
            body = builder.add(If(builder.op("lt", first, end))).then
        with builder.into(body):
            for group, load in self._loads():
                for staged in group:
                    value = self._loaded(staged, load, first, end)
                    builder.store(builder.element_ptr(loaded[staged], [load]), value)
        return list(loaded.values())

    def _loads(self) -> Iterator[tuple[list[Staged], Statement]]:
        """Loops over the elements of tiles that a thread loads: what has equally many of them, and the index."""
        groups: dict[int, list[Staged]] = {}
        for staged in self.plan.staged:
            groups.setdefault(self.plan.loads_of(staged), []).append(staged)
        for count, group in groups.items():
            with self.unrolled(count, "load") as load:
                yield group, load

    def _loaded(self, staged: Staged, load: Statement, first: Statement, end: Statement) -> Statement:
        """Return an element of the tile that begins with the index `first`, 0 if there is none."""
        builder, kind = self.builder, staged.value.type
        assert isinstance(kind, Scalar)
        along, place = self._in_tile_of(staged, load)
        limit = self.limit[staged.own]
        conditions = [] if limit is None else [builder.op("lt", place, limit)]
        if not self.plan.has_whole_tiles:
            conditions.append(builder.op("lt", along, builder.op("sub", end, first)))
        condition = builder.all_of(conditions)
        along, own = self._in_tile_of(staged, load, (first, self.first[staged.own]))
        along.hint, own.hint = self.serial_name, self.names[staged.own - self.plan.row]
        copies = self._indices(staged, own, along)
        there = builder.block if condition is None else Block()
        with builder.into(there):
            value = _again(builder, staged.value, copies)
        if condition is None:
            return value
        there.result, zero = value, Block()
        with builder.into(zero):
            zero.result = builder.const(0, kind)
        return builder.add(IfExp(condition, there, zero, type=kind))

    def _indices(self, staged: Staged, own: Statement, along: Statement) -> dict[Statement, Statement]:
        """Compute indices for a row or column, and for an iteration of the serial loop; return them by those of it."""
        copies: dict[Statement, Statement] = {}
        parts = computed_from(staged.value)
        for index in parts:
            if is_index_of(index, self.plan.serial):
                copies[index] = along
            elif is_index_of(index, self.plan.loop) and index.axis == staged.own:
                copies[index] = own
        for pointer in [s for s in [*self.plan.before, *self.plan.serial.body] if s in parts]:
            if isinstance(pointer, (GlobalPtr, MatrixPtr)):
                for index in pointer.indices:
                    if not any(isinstance(s, GlobalLoad) for s in computed_from(index)):
                        _again(self.builder, index, copies)
        return copies

    def _combine(self, tiles: Sequence[Array], buffer: Sequence[Statement], first: Statement, end: Statement) -> None:
        """Add the serial loop over the tile that begins with the index `first`, for all elements of a thread.

        buffer: which of two tiles it is, nothing for one.
        """
        name = self.serial_name
        builder, plan, shape = self.builder, self.plan, self.shape
        count: Statement = builder.const(shape.depth)
        if not plan.has_whole_tiles and not plan.may_have_zeros:
            count = builder.op("min", count, builder.op("sub", end, first))
        loop = builder.add(RangeFor([builder.const(0)], [count], [builder.const(1)], [name]))
        loop.unroll_count = shape.depth  # NVRTC then loads four numbers from shared memory at once
        mapping: dict[Statement, Statement] = {}
        own = dict(zip([staged.value for staged in plan.staged], tiles, strict=True))
        with builder.into(loop.body):
            position = builder.add(LoopIndex(loop, type=i32))
            index = builder.op("add", first, position)
            place = [*buffer, position]
            self._copy_level(0, mapping, own, place, {})
            with self.unrolled(shape.rows, "row") as row:
                places = {plan.row: row}
                indices = {plan.row: self._index_of(plan.row, row)}
                self._copy_level(1, mapping, own, place, places)
                with self.unrolled(shape.columns, "column") as column:
                    places[plan.column] = column
                    indices[plan.column] = self._index_of(plan.column, column)
                    mapping |= self._variables_at(row, column)
                    self._copy_level(2, mapping, own, place, places)
        self._replace_indices(loop.body, indices, index)
        if count_uses(loop.body).get(index):
            index.name, loop.names = name, [f"{name}_in_tile"]

    def _copy_level(
        self,
        level: int,
        mapping: dict[Statement, Statement],
        tiles: Mapping[Statement, Array],
        position: Sequence[Statement],
        places: Mapping[int, Statement],
    ) -> None:
        """Copy what is the same for all elements of a thread (0), of a row (1), or differs between columns (2)."""
        builder, plan = self.builder, self.plan
        names = {staged.value: f"{staged.name}_value" for staged in plan.staged}
        for statement in plan.combined:
            if plan.level(statement) != level or statement in mapping:
                continue
            if statement in tiles:
                axis = plan.row if level == 1 else plan.column
                place = self._in_tile(axis, places[axis])
                tile = tiles[statement]
                value = builder.load(builder.add(GlobalPtr(tile, [*position, place], type=tile.element)))
                value.hint = names[statement]
                mapping[statement] = value
            else:
                builder.add(clone(statement, mapping))


def _int_of(bound: Statement) -> int:
    """Return a constant bound."""
    assert isinstance(bound, Const)
    return int(bound.value)


def _again(builder: Builder, value: Statement, copies: dict[Statement, Statement]) -> Statement:
    """Compute a value again, with all that it is computed from, unless there is a copy of it."""
    if value not in copies:
        for operand in operands(value):
            copies[operand] = _again(builder, operand, copies)
        copies[value] = builder.add(clone(value, copies))
    return copies[value]
