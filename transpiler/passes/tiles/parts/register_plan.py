"""Which loops `register_tiles` gives tiles, and what it needs to know of them.

In: a task. Out: a `Plan`, or None if the task stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import copysign, prod

from ....ir.nodes import Block, Statement, blocks, operands, reads, walk
from ....ir.statements import (
    Alloca,
    Array,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalTemporary,
    LocalLoad,
    LocalStore,
    MatrixPtr,
    Operation,
    RangeFor,
    is_const,
    repeats,
)
from ....ir.tasks import AtLeast, AtMost, Condition, Length, Task
from ....ir.types import Scalar, i32
from ....lazy_dataclasses import dataclass
from ....options import Capabilities
from ...analysis.aliasing import may_alias, underlying_object, written_objects
from ...analysis.loops.reducible import is_invariant
from ...analysis.loops.synchronizable import may_synchronize
from ...analysis.queries import (
    LARGEST_END,
    computed_from,
    count_along,
    given_end,
    given_length,
    is_given,
    is_index_of,
    trip_count,
)
from .arranged_loops import PLACES, VALUES

TOGETHER = 4
"""Neighbouring columns of a thread, which it reads by one access. Those of the next threads are behind them, so that
the threads of a subgroup use all banks: 3.31 ms in place of 3.65 for 4096 x 4096 numbers, 8 x 8 a thread."""
FEWEST = 300 * 300
"""Iterations that are worth it, if their number is known: 256 x 256 take an H200 13.7 us by tiles and 13.5 us with a
thread each, 511 x 511 25 and 55 us."""
THIN, SHORT = 32, 32
"""Iterations of each axis, and of the serial loop, that are too few. Tiles of loops that are not thin have no more
iterations than the loops."""
MOST_STAGED = 4
"""Loads of the serial loop that go through shared memory."""


@dataclass(eq=False, slots=True)
class Shape:
    """What a block computes: rows and columns of a thread, and iterations of the serial loop that a tile is for.

    double_buffered: whether a block has two tiles of each array, if all tiles are whole.
    across, down: threads of a block with the same rows, and with the same columns; 0: as many as a square needs.
    """

    rows: int
    columns: int
    depth: int
    double_buffered: bool = False
    across: int = 16
    down: int = 0

    @property
    def extent(self) -> int:
        """Columns of a block, and rows of a square one."""
        return self.across * self.columns

    @property
    def extents(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        return self.rows * self.down or self.extent, self.extent

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.extents[0] // self.rows * self.across

    def part_of_tiles(self, lengths: Sequence[int]) -> float:
        """Return which part of the elements of all tiles a loop has, whose rows and columns, or either, are so many."""
        return prod(length / max(1, -(-length // of) * of) for length, of in zip(lengths, self.extents, strict=False))

    def tiles(self, rows: int, columns: int) -> int:
        """Return how many tiles so many rows and columns have."""
        return prod(-(-length // of) for length, of in zip((rows, columns), self.extents, strict=True))


SMALL, LARGE, THIN_SHAPE = Shape(4, 4, 16), Shape(8, 8, 16), Shape(4, 4, 16, across=8)
FOR_LARGE_THREADS = Shape(8, 4, 16)
"""In place of SMALL: ndarrays of 1536 x 1536, 1000 x 1000 and 384 x 384 numbers take an H100 .219, .0687 and .0189 ms
on CUDA, and with 4 x 4 a thread .267, .0756 and .0195; on Vulkan .269, .0929 and .0301, and with 4 x 4
.279, .0833 and .0235."""
LARGE_BUFFERED = Shape(8, 8, 16, double_buffered=True)
"""In place of LARGE on CUDA: 4096 x 4096 numbers in fields take an H200 2.86 ms by two tiles, and 3.08 ms with one;
in ndarrays 2.95 and 3.02; on Vulkan 3.64 and 3.51. With 8 x 4 or 4 x 4 a thread two tiles gain 2 % at most, or lose
30."""
LARGE_OF_ANY_SIZE = Shape(8, 8, 8)
"""In place of LARGE on CUDA, for lengths that only the launch knows, if a tile is not whole: ndarrays of 4095 x 4095
numbers take an H200 3.26 ms by this shape, and 3.72 ms with the 16 elements of each array that a thread of LARGE
loads."""
MANY = 2048 * 2048
"""The fewest iterations that are worth blocks of 128 x 128."""
FEW_COLUMNS, FEW_ROWS = Shape(4, 4, 16, across=4, down=32), Shape(4, 4, 16, across=32, down=4)
"""Tiles of 128 x 16 and of 16 x 128, for products with few columns or rows."""
FEWEST_SHORT, SHORT_SIDE, LONG_SIDE = 8, 16, 128
"""How many columns or rows are few, and how many the others then are at least."""
WORTH, BUSY = 0.7, 264 * 1024
"""The part of tiles of 64 x 64 below which those of 32 x 32 are tried, and the fewest iterations that are worth these:
an H200 has 132 multiprocessors, and a block of 64 threads keeps none busy."""


@dataclass(eq=False, slots=True)
class Staged:
    """A value of the serial loop that is read from a tile in shared memory.

    Attributes:
        value: what is replaced, and what a tile has: a load, or what is computed of it, and of others of its row alone.
        load: the one that depends on the serial loop, and its place.
        own: the axis of the parallel loop on which it depends.
        is_transposed: whether neighbours in memory are along the serial loop.
    """

    value: Statement
    load: GlobalLoad
    pointer: GlobalPtr | MatrixPtr
    own: int
    is_transposed: bool

    @property
    def name(self) -> str:
        """The name of what is loaded."""
        target = underlying_object(self.pointer)
        assert target is not None
        return target.name


@dataclass(eq=False, slots=True)
class Plan:
    """How a task runs by tiles.

    Attributes:
        loop: the parallel loop.
        serial: the loop inside.
        before, after: the statements around it.
        row, column: the axes of the parallel loop that have tiles.
        ends: those of the parallel loop, of many iterations.
        shape: what a block computes.
        axes: on which axes values before and in the serial loop depend.
        staged: its loads.
        variables: local variables of an iteration that the serial loop, or what follows it, uses.
        again: values before the serial loop that are computed where they are used.
        is_whole: whether a launch has whole tiles along the axes and of the serial loop.
    """

    loop: RangeFor
    serial: RangeFor
    before: list[Statement]
    after: list[Statement]
    row: int
    column: int
    ends: list[Statement]
    shape: Shape = SMALL
    axes: dict[Statement, set[int]] = field(default_factory=dict)
    staged: list[Staged] = field(default_factory=list)
    variables: list[Alloca] = field(default_factory=list)
    again: list[Statement] = field(default_factory=list)
    is_whole: bool = False

    def bytes_of(self, shape: Shape) -> int:
        """Return how much shared memory a block has."""
        kinds = [(s.value.type, shape.extents[s.own - self.row]) for s in self.staged]
        numbers = sum(kind.size_bytes * extent for kind, extent in kinds if isinstance(kind, Scalar))
        return numbers * shape.depth * (2 if shape.double_buffered else 1)

    def extent_along(self, axis: int) -> int:
        """Return how many rows, or columns, a block has."""
        return self.shape.extents[axis - self.row]

    def loads_of(self, staged: Staged) -> int:
        """Return how many elements of a tile each thread loads."""
        return self.extent_along(staged.own) * self.shape.depth // self.shape.threads

    @property
    def is_wide(self) -> bool:
        """Whether a thread needs many registers for an element."""
        values = [*self.variables, *(staged.value for staged in self.staged)]
        return len(values) > 3 or any(isinstance(v.type, Scalar) and v.type.bits > 32 for v in values)

    @property
    def has_whole_tiles(self) -> bool:
        """Whether the number of iterations of the serial loop is certainly a multiple of those of a tile."""
        length = count_along(self.serial, 0)
        return self.is_whole or (length is not None and length % self.shape.depth == 0)

    @property
    def is_double_buffered(self) -> bool:
        """Whether a block has two tiles of each array, one of which it loads while it combines the other."""
        return (
            self.shape.double_buffered
            and self.has_whole_tiles
            and all(map(self.is_whole_along, (self.row, self.column)))
        )

    def is_whole_along(self, axis: int) -> bool:
        """Whether the tiles are whole along an axis of the parallel loop."""
        length = count_along(self.loop, axis)
        return self.is_whole or (length is not None and length % self.extent_along(axis) == 0)

    def may_be_whole(self, shape: Shape) -> bool:
        """Whether all tiles of a shape are whole, and two or more follow each other, for some lengths of a launch."""
        extents = {self.row: shape.extent, self.column: shape.extent}
        known = [(count_along(self.loop, axis), extent) for axis, extent in extents.items()]
        inner = count_along(self.serial, 0)
        if inner is None:
            is_inner = self.serial_end is not None and self.first % shape.depth == 0 and 2 * shape.depth <= SHORT
        else:
            is_inner = inner % shape.depth == 0 and inner >= 2 * shape.depth
        return is_inner and all(length is None or length % extent == 0 for length, extent in known)

    @property
    def may_have_zeros(self) -> bool:
        """Whether iterations more of the serial loop, in which all that is loaded is 0, would change nothing.

        They add or subtract products of its loads, or of their differences. A sum that starts with 0 is never -0.0.
        """
        values: set[Statement] = {staged.value for staged in self.staged}
        if any(isinstance(s, GlobalLoad) and s not in values for s in self.combined) or not self.starts_with_zeros:
            return False
        return all(_adds_product(s, values) for s in self.serial.body if isinstance(s, LocalStore))

    @property
    def is_of_any_size(self) -> bool:
        """Whether only the launch knows if the loops are long, and the parallel one is not thin."""
        is_known = all(count_along(self.loop, axis) is not None for axis in (self.row, self.column))
        return not is_known or self.serial_end is not None

    @property
    def serial_end(self) -> Length | None:
        """What has the end of the serial loop if only the launch knows it: the loop ends with `serial_factor` of it."""
        return _given_end(self.serial)[0]

    @property
    def serial_factor(self) -> int:
        """As how many times `serial_end` the serial loop ends."""
        return _given_end(self.serial)[1]

    @property
    def first(self) -> int:
        """The first index of the serial loop."""
        start = self.serial.starts[0]
        assert isinstance(start, Const)
        return int(start.value)

    @property
    def is_long(self) -> list[Condition]:
        """The conditions for a serial loop that is long enough, if only the launch knows its end."""
        end, factor, least = self.serial_end, self.serial_factor, self.first + SHORT
        return [] if end is None else [AtLeast((end,), -(-least // factor)), AtMost((end,), LARGEST_END // factor)]

    @property
    def combined(self) -> list[Statement]:
        """What the serial loop computes of numbers in tiles, and values that it uses for that."""
        found: list[Statement] = []
        used, values = set[Statement](), {staged.value for staged in self.staged}
        for statement in reversed([*self.again, *self.serial.body]):
            if statement in used or not isinstance(statement, (*VALUES, *PLACES, GlobalLoad)):
                found.append(statement)
                used.update([] if statement in values else operands(statement))
        return found[::-1]

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


MOST_VARIABLE_BYTES = 16
"""The most bytes of the local variables of an iteration, of which a thread has 16."""


def plan_of(task: Task, capabilities: Capabilities) -> Plan | None:
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
    plan = Plan(loop, serial, before, after, len(loop.starts) - 2, len(loop.starts) - 1, list(loop.ends))
    if not _find_staged(plan) or not _find_variables(plan) or not _are_values_known(plan):
        return None
    written = set(written_objects(task.body))
    loads = [s for staged in plan.staged for s in computed_from(staged.value) if isinstance(s, GlobalLoad)]
    arrays = {underlying_object(load.pointer) for load in loads}
    may_change = any(isinstance(array, Array) and array.may_alias for array in written_objects(Block(plan.before)))
    if arrays & written or (may_change and any(map(may_alias, arrays))):
        return None
    shape = _shape_of(plan, capabilities)
    if shape is None or plan.bytes_of(shape) > capabilities.max_shared_bytes:
        return None
    plan.shape = shape
    return plan


def _shape_of(plan: Plan, capabilities: Capabilities) -> Shape | None:
    """Return what a block computes, None if there are too few iterations for tiles."""
    count, small = trip_count(plan.loop), small_shape(capabilities)
    if count is None:
        return small
    lengths = [count_along(plan.loop, axis) or 0 for axis in (plan.row, plan.column)]
    short = short_shape(*lengths)
    if short is not None:
        return short if count * short.part_of_tiles(lengths) >= FEWEST else None
    part = small.part_of_tiles(lengths)
    large = large_shape(plan, capabilities) if count >= MANY else None
    if large is not None:
        return large
    if part >= WORTH:
        return small
    if count * THIN_SHAPE.part_of_tiles(lengths) >= BUSY:
        return THIN_SHAPE
    return small if max(1, count * part) >= FEWEST else None


def short_shape(rows: int, columns: int) -> Shape | None:
    """Return what a block computes of a product with few columns or rows, None if there are more of both, or fewer."""
    if max(rows, columns) < LONG_SIDE or not FEWEST_SHORT <= min(rows, columns) <= SHORT_SIDE:
        return None
    return FEW_COLUMNS if columns <= SHORT_SIDE else FEW_ROWS


def small_shape(capabilities: Capabilities) -> Shape:
    """Return what a block computes if it is not sure that there are many iterations."""
    return FOR_LARGE_THREADS if capabilities.has_large_threads else SMALL


def large_shape(plan: Plan, capabilities: Capabilities) -> Shape | None:
    """Return what a block computes of many iterations, None if that is as of others."""
    shape = LARGE
    if capabilities.has_large_threads:
        shape = LARGE_OF_ANY_SIZE if plan.is_of_any_size else LARGE_BUFFERED
    known = [length for axis in (plan.row, plan.column) if (length := count_along(plan.loop, axis)) is not None]
    is_thin = shape.part_of_tiles(known) < WORTH * small_shape(capabilities).part_of_tiles(known)
    return None if plan.is_wide or is_thin or plan.bytes_of(shape) > capabilities.max_shared_bytes else shape


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
    if not all(map(is_given, loop.ends)):
        return False
    count = trip_count(loop)
    rows, columns = (count_along(loop, axis) for axis in (-2, -1))
    is_thick = all(length is None or length >= THIN for length in (rows, columns))
    if count is None or rows is None or columns is None:
        return is_thick and (count is None or count >= FEWEST)
    is_short = short_shape(rows, columns) is not None or THIN_SHAPE.part_of_tiles([rows, columns]) >= WORTH
    return count >= FEWEST and (is_thick or is_short)


def _is_plain_serial(serial: RangeFor) -> bool:
    """Return whether a serial loop counts up by one between bounds that all threads know, and only computes."""
    if serial.unroll or serial.cells is not None or len(serial.starts) != 1 or not is_const(serial.steps[0], 1):
        return False
    start, end, length = serial.starts[0], serial.ends[0], count_along(serial, 0)
    if not isinstance(start, Const) or not is_invariant(end) or start.type != i32 or end.type != i32:
        return False
    if int(start.value) < 0 or (length is not None and length < SHORT):
        return False
    allowed = (*VALUES, *PLACES, GlobalLoad, Alloca, LocalLoad, LocalStore)
    return all(isinstance(s, allowed) and not blocks(s) for s in serial.body)


def _find_staged(plan: Plan) -> bool:
    """Record what is read through shared memory; return whether rows and columns are, and no other element."""
    plan.axes = axes = _axes_used(plan)
    inner = {s for s in plan.serial.body if _is_of_side(s, plan)}
    with_loads: set[Statement] = set()
    for statement in [*plan.before, *plan.serial.body]:
        if isinstance(statement, GlobalLoad) or any(operand in with_loads for operand in operands(statement)):
            with_loads.add(statement)
    used_outside = {o for s in plan.serial.body if s not in inner for o in operands(s)}
    for value in plan.serial.body:
        if value in inner and value in used_outside and value in with_loads:
            staged = _staged(value, plan, axes)
            if staged is None:
                return False
            plan.staged.append(staged)
    for load in plan.combined:
        if isinstance(load, GlobalLoad) and load not in {staged.value for staged in plan.staged}:
            if axes[load.pointer] & {plan.row, plan.column, UNKNOWN}:  # of a block that are no iterations, or no tile
                return False
    return {staged.own for staged in plan.staged} == {plan.row, plan.column} and len(plan.staged) <= MOST_STAGED


def _is_of_side(statement: Statement, plan: Plan) -> bool:
    """Return whether a value depends on the index of the serial loop, and on either that of rows or of columns."""
    used = plan.axes[statement]
    if UNKNOWN in used or SERIAL not in used or len(used & {plan.row, plan.column}) != 1:
        return False
    kind = statement.type
    is_number = isinstance(kind, Scalar) and kind.kind != "bool"
    return isinstance(statement, PLACES) or (isinstance(statement, (Operation, Cast, GlobalLoad)) and is_number)


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
        elif not isinstance(statement, (*VALUES, *PLACES, GlobalLoad)):
            used = {UNKNOWN}
        found[statement] = used
    return found


def _staged(value: Statement, plan: Plan, axes: dict[Statement, set[int]]) -> Staged | None:
    """Return how a value of the serial loop goes through shared memory, None if it cannot."""
    loads = [s for s in computed_from(value) if isinstance(s, GlobalLoad)]
    if isinstance(value, PLACES) or not all(map(_is_plain_load, loads)):
        return None
    (axis,) = axes[value] & {plan.row, plan.column}
    for load in [s for s in plan.serial.body if s in loads]:
        assert isinstance(load, GlobalLoad) and isinstance(load.pointer, (GlobalPtr, MatrixPtr))
        by_last = [axes[index] & {axis, SERIAL} for index in reversed(load.pointer.indices)]
        if set().union(*by_last) == {axis, SERIAL}:
            last = next(used for used in by_last if used)
            return Staged(value, load, load.pointer, axis, is_transposed=axis not in last)
    return None


def _is_plain_load(load: GlobalLoad) -> bool:
    """Return whether a load may be done by another thread: of an element of an array in memory."""
    pointer = load.pointer
    if isinstance(pointer, MatrixPtr):
        return isinstance(pointer.origin, GlobalTemporary)
    if not isinstance(pointer, GlobalPtr) or pointer.cell or pointer.is_flat or not isinstance(load.type, Scalar):
        return False
    array = pointer.array
    return not (array.is_shared or array.node or array.clamped or array.place or array.strided)


def _given_end(serial: RangeFor) -> tuple[Length | None, int]:
    """Return what has the end of a serial loop, or a part of it, and as how many such parts it ends."""
    match serial.ends[0]:
        case Operation(op="mul", operands=[part, Const(value=factor)]):
            return given_length(part), int(factor)
    return given_end(serial), 1


def _is_zero(value: Statement) -> bool:
    """Return whether a value is 0, and not -0.0."""
    return is_const(value, 0) and copysign(1, value.value) > 0  # type: ignore[attr-defined]


def _adds_product(store: LocalStore, loads: set[Statement]) -> bool:
    """Return whether a store adds to a variable what is 0 if all that is loaded is, as a product, or subtracts it."""
    value = store.value
    if not isinstance(value, Operation) or value.op not in ("add", "sub"):
        return False
    old, term = value.operands
    if value.op == "add" and isinstance(term, LocalLoad):
        old, term = term, old
    return isinstance(old, LocalLoad) and old.pointer is store.pointer and _is_zero_with(term, loads)


def _is_zero_with(value: Statement, loads: set[Statement]) -> bool:
    """Return whether a value is 0 if all of some loads are: a product, a difference, the square of one."""
    if value in loads:
        return True
    if isinstance(value, Cast):
        return not value.bits and _is_zero_with(value.value, loads)
    if not isinstance(value, Operation) or value.op not in ("add", "sub", "mul", "abs"):
        return False
    return all(_is_zero_with(operand, loads) for operand in value.operands)


def _find_variables(plan: Plan) -> bool:
    """Record the local variables that the serial loop shares with what is around it; return whether all are numbers."""
    around = [s for s in plan.before if isinstance(s, Alloca)]
    later = [*walk(plan.serial.body), *walk(Block(plan.after))]
    used = {value for statement in later for value in reads(statement)}
    plan.variables = [variable for variable in around if variable in used]
    kinds = [variable.type for variable in plan.variables]
    if not all(isinstance(kind, Scalar) and kind.kind != "bool" for kind in kinds):
        return False
    return sum(kind.size_bytes for kind in kinds if isinstance(kind, Scalar)) <= MOST_VARIABLE_BYTES


def _are_values_known(plan: Plan) -> bool:
    """Record what is computed again after the statements before the loop; return whether no other value is used."""
    unknown: set[Statement] = set(plan.before)
    for statement in plan.before:
        is_value = isinstance(statement, (*VALUES, *PLACES))
        if is_value and not any(operand in unknown for operand in operands(statement)):
            plan.again.append(statement)
            unknown.discard(statement)
    unknown.difference_update(plan.variables)
    values = {staged.value for staged in plan.staged}
    later = [*(s for s in plan.combined if s not in values), *walk(Block(plan.after))]
    return not any(value in unknown for statement in later for value in reads(statement))
