"""Lets the threads of a block combine rows and columns of arrays, as products of matrices do, by tiles.

    for i, j in c {                          for i_tile step 64, j_tile step 64, thread in 0 .. 256 {
        s = 0.0                                  s: 4 x 4 numbers
        for k in range(n) {                      for k_tile step 16 {
            s += a[i, k] * b[k, j]    ->             a_tile, b_tile = the elements of these k, in shared memory
        }                                            for k in range(16) { for row, column in 4 x 4 {
        c[i, j] = s                                      s[row, column] += a_tile[k, row] * b_tile[k, column]
    }                                                } }
                                                 }
                                                 for row, column in 4 x 4 { c[i + row, j + column] = s[row, column] }
                                             }

With one iteration a thread, such a loop waits for two loads for each multiplication, and so loads each element as
often as the other array has columns. A block of 256 threads loads each element of a tile once for 64 iterations, and a
thread combines 4 + 4 numbers 16 times. While it does, the elements of the next tile are loaded. A product of fields of
4096 x 4096 numbers took an H200 26.5 ms with a thread for each, 13.2 with four rows a thread (`row_lanes`), NUMBERS so.

The order of each sum is that of the source. The serial loop contains numbers and local variables, and loads elements
that depend on its index and on the row, or on its index and on the column; it is the only loop, and no element that it
loads is stored by the iterations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from math import copysign

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, blocks, clone, count_uses, operands, walk
from ...ir.statements import (
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    RangeFor,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel, Task
from ...ir.threads import Barrier
from ...ir.types import Scalar, Tensor, i32
from ...lazy_dataclasses import dataclass
from ...options import CompileOptions
from ..analysis.aliasing import written_objects
from ..analysis.queries import is_index_of, trip_count
from ..analysis.reducible import is_invariant
from ..context import PassContext
from ..rewrite import Rewriter
from .block_tiles import may_synchronize

THREADS = 256
"""Of a block: 16 x 16 of them."""
ACROSS = 16
FEWEST = 300 * 300
"""Iterations that are worth it, if their number is known: 256 x 256 take an H200 16 us so, and 12 with a thread each;
384 x 384 22 and 26, 511 x 511 29 and 55."""
SHORT = 32
"""Iterations of the serial loop, and of each axis, that are too few."""
MOST_STAGED = 4
"""Loads of the serial loop that go through shared memory."""
PADDING = 4
"""Numbers after each row of a tile, so that threads which store to a column use different banks."""


@dataclass(eq=False, slots=True)
class Shape:
    """What a block computes: rows, and columns, of a thread; iterations of the serial loop that a tile is for."""

    per_thread: int
    depth: int

    @property
    def extent(self) -> int:
        """Rows, and columns, of a block."""
        return ACROSS * self.per_thread

    @property
    def loads(self) -> int:
        """Elements of a tile that each thread loads."""
        return self.extent * self.depth // THREADS


SMALL, LARGE = Shape(4, 16), Shape(8, 8)
MANY = 2048 * 2048
"""Iterations that are worth blocks of 128 x 128."""


@dataclass(eq=False, slots=True)
class Staged:
    """A load of the serial loop that reads a tile in shared memory.

    Attributes:
        load: what is replaced.
        pointer: what it loads.
        own: the axis of the parallel loop on which it depends.
        place, along: which of the indices is that of this axis, and of the serial loop.
        axes: on which axes the indices depend.
    """

    load: GlobalLoad
    pointer: GlobalPtr
    own: int
    place: int
    along: int

    @property
    def is_transposed(self) -> bool:
        """Whether neighbours in memory are along the serial loop."""
        return self.along > self.place


@dataclass(eq=False, slots=True)
class Plan:
    """How a task runs by tiles.

    Attributes:
        loop: the parallel loop.
        serial: the loop inside.
        before, after: the statements around it.
        row, column: the axes of the parallel loop that have tiles.
        shape: what a block computes.
        axes: on which axes values before and in the serial loop depend.
        staged: its loads.
        variables: local variables of an iteration that the serial loop, or what follows it, uses.
        again: values before the serial loop that are computed where they are used.
    """

    loop: RangeFor
    serial: RangeFor
    before: list[Statement]
    after: list[Statement]
    row: int
    column: int
    shape: Shape = SMALL
    axes: dict[Statement, set[int]] = field(default_factory=dict)
    staged: list[Staged] = field(default_factory=list)
    variables: list[Alloca] = field(default_factory=list)
    again: list[Statement] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """The shared memory of a block."""
        numbers = sum(staged.load.type.size_bytes for staged in self.staged if isinstance(staged.load.type, Scalar))
        return numbers * self.shape.depth * (self.shape.extent + PADDING)

    @property
    def has_whole_tiles(self) -> bool:
        """Whether the serial loop has a known number of iterations, a multiple of those of a tile."""
        length = _length(self.serial, 0)
        return length is not None and length % self.shape.depth == 0

    @property
    def may_have_zeros(self) -> bool:
        """Whether iterations more of the serial loop, in which all that is loaded is 0, would change nothing.

        They add or subtract products of two of its loads. A sum that starts with 0 is never -0.0.
        """
        loads = {staged.load for staged in self.staged}
        if any(isinstance(s, GlobalLoad) and s not in loads for s in self.serial.body) or not self.starts_with_zeros:
            return False
        return all(_adds_product(s, loads) for s in self.serial.body if isinstance(s, LocalStore))

    def level(self, statement: Statement) -> int:
        """Return whether a value is the same for all elements of a thread (0), for those of a row (1), or not (2)."""
        used = self.axes[statement]
        return 2 if used & {self.column, UNKNOWN} else int(self.row in used)

    @property
    def starts_with_zeros(self) -> bool:
        """Whether nothing is done before the serial loop but to set variables to 0, which they are by themselves."""
        stores = [s for s in self.before if isinstance(s, LocalStore)]
        is_zero = all(_is_zero(s.value) and s.pointer in self.variables for s in stores)
        return is_zero and all(isinstance(s, (*VALUES, Alloca, LocalStore)) for s in self.before)


def register_tiles(kernel: Kernel, context: PassContext) -> bool:
    """Give such loops of GPUs tiles."""
    capabilities, options = context.capabilities, context.options
    if capabilities.blocks_as_loops or capabilities.blocks_in_lockstep or capabilities.max_block_dim < THREADS:
        return False
    if options.block_dim != CompileOptions().block_dim or not options.make_block_local:
        return False
    changed = False
    for task in kernel.tasks:
        plan = _plan_of(task, capabilities.max_shared_bytes)
        if plan is not None:
            _Tiling(kernel, task, plan, options.why_comments).run()
            changed = True
    return changed


# --- which loops ------------------------------------------------------------------------------------------------------

VALUES = (Const, Operation, Cast, LoopIndex, ArgLoad, ArrayShape)
"""Statements that may be computed again anywhere."""
MOST_VARIABLE_BYTES = 16
"""Of the local variables of an iteration, of which a thread has 16."""


def _plan_of(task: Task, most_bytes: int) -> Plan | None:
    """Return how a task runs by tiles, None if it does not."""
    loop = task.loop
    if loop is None or len(loop.starts) < 2 or not _is_usual(task, loop):
        return None
    loops = [s for s in walk(task.body) if repeats(s)]
    if len(loops) != 1 or loops[0] not in task.body.statements or not may_synchronize(task):
        return None
    serial = loops[0]
    if not isinstance(serial, RangeFor) or not _is_plain_serial(serial):
        return None
    position = task.body.statements.index(serial)
    before, after = task.body.statements[:position], task.body.statements[position + 1 :]
    plan = Plan(loop, serial, before, after, len(loop.starts) - 2, len(loop.starts) - 1)
    if not _find_staged(plan) or not _find_variables(plan) or not _are_values_known(plan):
        return None
    written = set(written_objects(task.body))
    arrays = {staged.pointer.array for staged in plan.staged}
    may_change = any(isinstance(array, Array) and array.may_alias for array in written_objects(Block(plan.before)))
    if arrays & written or (may_change and any(array.may_alias for array in arrays)):
        return None
    plan.shape = _shape_of(plan)
    return plan if plan.bytes <= most_bytes else None


def _shape_of(plan: Plan) -> Shape:
    """Return what a block computes: more of long loops, if that needs few registers."""
    count = trip_count(plan.loop)
    values = [*plan.variables, *(staged.load for staged in plan.staged)]
    is_wide = len(values) > 3 or any(isinstance(v.type, Scalar) and v.type.bits > 32 for v in values)
    return SMALL if count is None or count < MANY or is_wide else LARGE


def _is_usual(task: Task, loop: RangeFor) -> bool:
    """Return whether a parallel loop is long, and its iterations are one apart and in the order of its axes."""
    if (
        loop.order
        or loop.cells is not None
        or loop.block_dim is not None
        or loop.grid_stride
        or task.private
        or task.tile
    ):
        return False
    if not all(is_const(step, 1) for step in loop.steps) or not all(isinstance(s, Const) for s in loop.starts[-2:]):
        return False
    if not all(map(is_invariant, loop.ends)):
        return False
    count = trip_count(loop)
    lengths = [_length(loop, axis) for axis in (-2, -1)]
    return (count is None or count >= FEWEST) and all(length is None or length >= SHORT for length in lengths)


def _length(loop: RangeFor, axis: int) -> int | None:
    """Return the number of iterations along an axis, None if it is not constant."""
    start, end = loop.starts[axis], loop.ends[axis]
    return int(end.value) - int(start.value) if isinstance(start, Const) and isinstance(end, Const) else None


def _is_plain_serial(serial: RangeFor) -> bool:
    """Return whether a serial loop counts up by one between bounds that all threads know, and only computes."""
    if serial.unroll or serial.cells is not None or len(serial.starts) != 1 or not is_const(serial.steps[0], 1):
        return False
    start, end, length = serial.starts[0], serial.ends[0], _length(serial, 0)
    if not isinstance(start, Const) or not is_invariant(end) or start.type != i32 or end.type != i32:
        return False
    if int(start.value) < 0 or (length is not None and length < SHORT):
        return False
    allowed = (*VALUES, GlobalPtr, GlobalLoad, Alloca, LocalLoad, LocalStore)
    return all(isinstance(s, allowed) and not blocks(s) for s in serial.body)


def _find_staged(plan: Plan) -> bool:
    """Record what is loaded through shared memory; return whether rows and columns are, and no other element."""
    plan.axes = axes = _axes_used(plan)
    for load in plan.serial.body:
        if not isinstance(load, GlobalLoad):
            continue
        used = axes[load.pointer]
        if not used & {plan.row, plan.column}:
            continue
        staged = _staged(load, plan, axes)
        if staged is None:
            return False
        plan.staged.append(staged)
    return {staged.own for staged in plan.staged} == {plan.row, plan.column} and len(plan.staged) <= MOST_STAGED


SERIAL, UNKNOWN = -1, -2
"""What a value depends on, apart from an axis of the parallel loop: the index of the serial loop, or what is stored."""


def _axes_used(plan: Plan) -> dict[Statement, set[int]]:
    """Return on which axes, and on what else, each value before and in the serial loop depends."""
    found: dict[Statement, set[int]] = {}
    for statement in [*plan.before, *plan.serial.body]:
        used = set().union(*(found.get(operand, {UNKNOWN}) for operand in operands(statement)))
        if is_index_of(statement, plan.loop):
            used = {statement.axis}
        elif is_index_of(statement, plan.serial):
            used = {SERIAL}
        elif not isinstance(statement, (*VALUES, GlobalPtr, GlobalLoad)):
            used = {UNKNOWN}
        found[statement] = used
    return found


def _staged(load: GlobalLoad, plan: Plan, axes: dict[Statement, set[int]]) -> Staged | None:
    """Return how a load of the serial loop goes through shared memory, None if it cannot."""
    pointer = load.pointer
    if not isinstance(pointer, GlobalPtr) or pointer not in plan.serial.body.statements:
        return None
    array, kind = pointer.array, load.type
    is_plain = not (array.is_shared or array.node or array.clamped or array.place or array.strided or pointer.cell)
    if not is_plain or not isinstance(kind, Scalar) or kind.bits not in (32, 64):
        return None
    own = axes[pointer] & {plan.row, plan.column}
    places = {axis: [k for k, index in enumerate(pointer.indices) if axis in axes[index]] for axis in (*own, SERIAL)}
    if len(own) != 1 or UNKNOWN in axes[pointer] or any(len(found) != 1 for found in places.values()):
        return None
    (axis,) = own
    (mine,), (along,) = places[axis], places[SERIAL]
    others = [index for k, index in enumerate(pointer.indices) if k not in (mine, along)]
    if (
        mine == along
        or not all(map(_is_value, others))
        or not all(_is_shift(pointer.indices[k], plan) for k in (mine, along))
    ):
        return None
    return Staged(load, pointer, axis, mine, along)


def _is_value(index: Statement) -> bool:
    """Return whether an index may be computed again anywhere."""
    return isinstance(index, VALUES) and all(map(_is_value, operands(index)))


def _is_zero(value: Statement) -> bool:
    """Return whether a value is 0, and not -0.0."""
    return is_const(value, 0) and copysign(1, value.value) > 0  # type: ignore[attr-defined]


def _adds_product(store: LocalStore, loads: set[GlobalLoad]) -> bool:
    """Return whether a store adds a product of two loads to a variable, or subtracts it."""
    value = store.value
    if not isinstance(value, Operation) or value.op not in ("add", "sub"):
        return False
    old, product = value.operands
    if value.op == "add" and isinstance(product, LocalLoad):
        old, product = product, old
    is_sum = isinstance(old, LocalLoad) and old.pointer is store.pointer
    is_product = isinstance(product, Operation) and product.op == "mul"
    return is_sum and is_product and all(operand in loads for operand in operands(product))


def _is_shift(index: Statement, plan: Plan) -> bool:
    """Return whether an index is that of a loop, or a sum of it with a number."""
    if isinstance(index, Operation) and index.op in ("add", "sub"):
        first, second = index.operands
        return isinstance(second, Const) and _is_shift(first, plan)
    return is_index_of(index, plan.loop) or is_index_of(index, plan.serial)


def _find_variables(plan: Plan) -> bool:
    """Record the local variables that the serial loop shares with what is around it; return whether all are numbers."""
    around = [s for s in plan.before if isinstance(s, Alloca)]
    later = [*walk(plan.serial.body), *walk(Block(plan.after))]
    used = {operand for statement in later for operand in operands(statement)}
    plan.variables = [variable for variable in around if variable in used]
    kinds = [variable.type for variable in plan.variables]
    if not all(isinstance(kind, Scalar) and kind.bits in (32, 64) and kind.kind != "bool" for kind in kinds):
        return False
    return sum(kind.size_bytes for kind in kinds if isinstance(kind, Scalar)) <= MOST_VARIABLE_BYTES


def _are_values_known(plan: Plan) -> bool:
    """Record what is computed again after the statements before the loop; return whether no other value is used."""
    unknown: set[Statement] = set(plan.before)
    for statement in plan.before:
        is_value = isinstance(statement, (*VALUES, GlobalPtr))
        if is_value and not any(operand in unknown for operand in operands(statement)):
            plan.again.append(statement)
            unknown.discard(statement)
    unknown.difference_update(plan.variables)
    later = [*walk(plan.serial.body), *walk(Block(plan.after))]
    return not any(operand in unknown for statement in later for operand in operands(statement))


# --- the tiles --------------------------------------------------------------------------------------------------------


class _Tiling:
    """Makes a task run by tiles.

    Attributes:
        first: the first row and the first column of a block, by axis.
        inside: the first ones of a thread, counted from there.
        limit: how many rows and columns there are from there on, None where all blocks are whole.
        variables: of all elements of a thread.
    """

    def __init__(self, kernel: Kernel, task: Task, plan: Plan, comments: bool) -> None:
        self.kernel, self.task, self.plan, self.comments = kernel, task, plan, comments
        self.shape = plan.shape
        self.builder = builder = Builder(Block(), plan.loop.location)
        self.names = _names_of(plan.loop)[-2:]
        self.serial_name = plan.serial.names[0] if plan.serial.names else "k"
        self.thread = self._run_in_tiles()
        axes = (plan.row, plan.column)
        self.first = {axis: self._index(axis) for axis in axes}
        self.limit = {axis: self._limit(plan.loop, axis, self.shape.extent, self.first[axis]) for axis in axes}
        across, size = builder.const(ACROSS), builder.const(self.shape.per_thread)
        ops = ("floordiv", "mod")
        self.inside = {
            axis: builder.op("mul", builder.op(op, self.thread, across), size) for axis, op in zip(axes, ops)
        }
        for axis, name in zip(axes, self.names):
            self.inside[axis].name = f"{name}_in_tile"
        self.variables = {variable: self._variable(variable) for variable in plan.variables}

    def _run_in_tiles(self) -> Statement:
        """Give the loop of the task the axes of blocks and of threads; return the thread."""
        loop, task = self.plan.loop, self.task
        names = _names_of(loop)
        for axis in (self.plan.row, self.plan.column):
            loop.steps[axis] = self._bound(self.shape.extent)
        for values, value in zip((loop.starts, loop.ends, loop.steps), (0, THREADS, 1), strict=True):
            values.append(self._bound(value))
        loop.names = [*names[:-2], *(f"{name}_tile" for name in names[-2:]), "thread"]
        loop.over, loop.grid_stride = None, False
        task.block_dim, task.tile = THREADS, (THREADS,)
        return self._index(len(loop.starts) - 1)

    def _bound(self, value: int) -> Const:
        """Return a bound or a step of the parallel loop."""
        made = Const(value, type=i32, location=self.plan.loop.location)
        self.task.prologue.statements.append(made)
        return made

    def _index(self, axis: int) -> Statement:
        return self.builder.add(LoopIndex(self.plan.loop, axis, type=i32))

    def _limit(self, loop: RangeFor, axis: int, extent: int, first: Statement) -> Statement | None:
        """Return how many iterations there are along an axis from the first one of a tile; None if all are whole."""
        length = _length(loop, axis)
        if length is not None and length % extent == 0:
            return None
        return self.builder.op("sub", self.builder.again(loop.ends[axis]), first)

    def _variable(self, variable: Alloca) -> Alloca:
        """Return a variable for all elements of a thread."""
        assert isinstance(variable.type, Scalar)
        kind = Tensor((self.shape.per_thread, self.shape.per_thread), variable.type)
        return self.builder.add(Alloca(type=kind, name=variable.name, location=variable.location))

    def run(self) -> None:
        """Replace the body of the task."""
        plan = self.plan
        if not plan.starts_with_zeros:
            self._copy_for_elements(plan.before)
        self._add_serial_loop()
        self._copy_for_elements([*plan.again, *plan.after])
        self.task.body.statements[:] = self.builder.block.statements

    @contextmanager
    def _unrolled(self, count: int, name: str) -> Iterator[Statement]:
        """A loop of so many iterations that a compiler unrolls; its index."""
        builder = self.builder
        start, end, step = (builder.const(bound) for bound in (0, count, 1))
        loop = builder.add(RangeFor([start], [end], [step], [name], unroll=True))
        with builder.into(loop.body):
            yield builder.add(LoopIndex(loop, type=i32))

    def _copy_for_elements(self, statements: Sequence[Statement]) -> None:
        """Copy the statements of an iteration for all of a thread."""
        builder, plan = self.builder, self.plan
        size = self.shape.per_thread
        with self._unrolled(size, "row") as row, self._unrolled(size, "column") as column:
            places = {plan.row: row, plan.column: column}
            limits = [(axis, limit) for axis, limit in self.limit.items() if limit is not None]
            inside = [builder.op("lt", builder.op("add", self.inside[a], places[a]), limit) for a, limit in limits]
            condition = builder.all_of(inside)
            body = builder.block if condition is None else builder.add(If(condition)).then
            with builder.into(body):
                indices = {axis: self._index_of(axis, place) for axis, place in places.items()}
                mapping = self._variables_at(row, column)
                builder.block.statements += [clone(s, mapping) for s in statements if s not in mapping]
            self._replace_indices(body, indices, None)

    def _index_of(self, axis: int, place: Statement) -> Statement:
        """Return the index of a row or column of a thread."""
        builder = self.builder
        index = builder.op("add", builder.op("add", self.first[axis], self.inside[axis]), place)
        index.name = self.names[axis - self.plan.row]
        return index

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
        start, end = _int_of(serial.starts[0]), builder.again(serial.ends[0])
        builder.location = serial.location
        first, last = builder.const(start), builder.op("add", end, depth)
        outer = builder.add(RangeFor([first], [last], [depth], [f"{self.serial_name}_next"]))
        if self.comments:
            extent, own = self.shape.extent, self.shape.per_thread
            note = f"a block computes {extent} x {extent} elements, each thread {own} x {own} (register_tiles)"
            outer.remarks = (Remark(note, "above", serial.location),)
        with builder.into(outer.body):
            following = builder.add(LoopIndex(outer, type=i32))
            tiles = [self._new_tile(staged) for staged in self.plan.staged]
            loaded = self._load_next(following, end)
            with builder.into(builder.add(If(builder.op("gt", following, first))).then):
                self._combine(tiles, builder.op("sub", following, depth), end)
            builder.add(Barrier("block"))
            with self._unrolled(self.shape.loads, "load") as load:
                for staged, tile, numbers in zip(self.plan.staged, tiles, loaded, strict=True):
                    place = GlobalPtr(tile, list(self._place(staged, load)), type=tile.element)
                    builder.store(builder.add(place), builder.load(builder.element_ptr(numbers, [load])))
            builder.add(Barrier("block"))

    def _new_tile(self, staged: Staged) -> Array:
        """Return an array in shared memory, transposed so that threads read neighbours."""
        shared = self.kernel.shared
        binding = 1 + max((array.binding for array in shared), default=-1)
        name, names = f"{staged.pointer.array.name}_tile", {array.name for array in shared}
        while name in names:
            name += "_"
        shape = (self.shape.depth, self.shape.extent + PADDING)
        shared.append(Array(name, staged.pointer.array.element, 2, binding, shape=shape, is_shared=True))
        return shared[-1]

    def _place(self, staged: Staged, load: Statement) -> tuple[Statement, Statement]:
        """Return which element of a tile a thread loads: its index along the serial loop, and among rows or columns."""
        builder = self.builder
        element = builder.op("add", self.thread, builder.op("mul", load, builder.const(THREADS)))
        element.hint = "element"
        size = builder.const(self.shape.depth if staged.is_transposed else self.shape.extent)
        last, other = builder.op("mod", element, size), builder.op("floordiv", element, size)
        return (last, other) if staged.is_transposed else (other, last)

    def _load_next(self, first: Statement, end: Statement) -> list[Alloca]:
        """Let each thread load its elements of the tiles from the index `first` on, 0 for those there are not."""
        builder, plan, loads = self.builder, self.plan, self.shape.loads
        loaded = []
        for staged in plan.staged:
            assert isinstance(staged.load.type, Scalar)
            hint = f"{staged.pointer.array.name}_next"
            loaded.append(builder.add(Alloca(type=Tensor((loads,), staged.load.type), hint=hint)))
        body = builder.block
        if plan.has_whole_tiles:
            body = builder.add(If(builder.op("lt", first, end))).then
        with builder.into(body), self._unrolled(loads, "load") as load:
            for staged, numbers in zip(plan.staged, loaded, strict=True):
                value = self._loaded(staged, load, first, end)
                builder.store(builder.element_ptr(numbers, [load]), value)
        return loaded

    def _loaded(self, staged: Staged, load: Statement, first: Statement, end: Statement) -> Statement:
        """Return an element of the tile that begins with the index `first`, 0 if there is none."""
        builder, kind = self.builder, staged.load.type
        assert isinstance(kind, Scalar)
        along, place = self._place(staged, load)
        name = staged.pointer.array.name
        along.hint = f"{name}_{self.serial_name}"
        place.hint = f"{name}_{self.names[staged.own - self.plan.row]}"
        limit = self.limit[staged.own]
        conditions = [] if limit is None else [builder.op("lt", place, limit)]
        if not self.plan.has_whole_tiles:
            conditions.append(builder.op("lt", along, builder.op("sub", end, first)))
        condition = builder.all_of(conditions)
        there = builder.block if condition is None else Block()
        with builder.into(there):
            own = builder.op("add", self.first[staged.own], place)
            value = builder.load(self._element(staged, own, builder.op("add", first, along)))
        if condition is None:
            return value
        there.result, zero = value, Block()
        with builder.into(zero):
            zero.result = builder.const(0, kind)
        return builder.add(IfExp(condition, there, zero, type=kind))

    def _element(self, staged: Staged, own: Statement, along: Statement) -> Statement:
        """Return the place of the element of a row or column, and of an iteration of the serial loop."""
        builder, pointer, indices = self.builder, staged.pointer, list[Statement]()
        for position, index in enumerate(pointer.indices):
            if position not in (staged.place, staged.along):
                indices.append(builder.again(index))
                continue
            shift = _shift(index)
            by = own if position == staged.place else along
            indices.append(builder.op("add", by, builder.const(shift)) if shift else by)
        return builder.add(GlobalPtr(pointer.array, indices, type=pointer.type))

    def _combine(self, tiles: Sequence[Array], first: Statement, end: Statement) -> None:
        """Add the serial loop over the tile that begins with the index `first`, for all elements of a thread."""
        name = self.serial_name
        builder, plan, size = self.builder, self.plan, self.shape.per_thread
        count: Statement = builder.const(self.shape.depth)
        if not plan.has_whole_tiles and not plan.may_have_zeros:
            count = builder.op("min", count, builder.op("sub", end, first))
        loop = builder.add(RangeFor([builder.const(0)], [count], [builder.const(1)], [name]))
        loop.unroll_count = self.shape.depth  # NVRTC then loads four numbers from shared memory at once
        mapping: dict[Statement, Statement] = {}
        own = dict(zip([staged.load for staged in plan.staged], tiles, strict=True))
        with builder.into(loop.body):
            position = builder.add(LoopIndex(loop, type=i32))
            index = builder.op("add", first, position)
            self._copy_level(0, mapping, own, position, {})
            with self._unrolled(size, "row") as row:
                places = {plan.row: row}
                indices = {plan.row: self._index_of(plan.row, row)}
                self._copy_level(1, mapping, own, position, places)
                with self._unrolled(size, "column") as column:
                    places[plan.column] = column
                    indices[plan.column] = self._index_of(plan.column, column)
                    mapping |= self._variables_at(row, column)
                    self._copy_level(2, mapping, own, position, places)
        self._replace_indices(loop.body, indices, index)
        if count_uses(loop.body).get(index):
            index.name, loop.names = name, [f"{name}_in_tile"]

    def _copy_level(
        self,
        level: int,
        mapping: dict[Statement, Statement],
        tiles: Mapping[GlobalLoad, Array],
        position: Statement,
        places: Mapping[int, Statement],
    ) -> None:
        """Copy what is the same for all elements of a thread (0), of a row (1), or differs between columns (2)."""
        builder, plan = self.builder, self.plan
        pointers = {staged.pointer for staged in plan.staged}
        for statement in [*plan.again, *plan.serial.body]:
            if plan.level(statement) != level or statement in pointers or statement in mapping:
                continue
            if isinstance(statement, GlobalLoad) and statement in tiles:
                axis = plan.row if level == 1 else plan.column
                place = builder.op("add", self.inside[axis], places[axis])
                tile = tiles[statement]
                value = builder.load(builder.add(GlobalPtr(tile, [position, place], type=tile.element)))
                value.hint = f"{statement.pointer.array.name}_value"  # type: ignore[attr-defined]
                mapping[statement] = value
            else:
                builder.add(clone(statement, mapping))


def _names_of(loop: RangeFor) -> list[str]:
    """Return the names of the indices of a parallel loop."""
    return loop.names if len(loop.names) == len(loop.starts) else [f"i_{axis}" for axis in range(len(loop.starts))]


def _int_of(bound: Statement) -> int:
    """Return a constant bound."""
    assert isinstance(bound, Const)
    return int(bound.value)


def _shift(index: Statement) -> int:
    """Return what an index adds to that of a loop."""
    if not isinstance(index, Operation):
        return 0
    first, second = index.operands
    return _shift(first) + (_int_of(second) if index.op == "add" else -_int_of(second))
