"""Nested parallelism: several threads share a loop over a column of a matrix, where there are too few columns.

    for j in n {                                  for j_tile in n step 32, thread in 0 .. 1024 {
        s = 0                                         part, column = thread / 32, thread % 32
        for i in m {                                  j = j_tile + column
            s += a[i, j] * x[i]                       s = 0
        }                                             for i in part .. m step 32 { s += a[i, j] * x[i] }
        y[j] = s                      ->              s_parts[part, column] = s
    }                                                 barrier
                                                      if part == 0 {
                                                          for other in 1 .. 32 { s += s_parts[other, column] }
                                                          y[j] = s
                                                      }
                                                  }

Neighbouring threads read neighbouring columns already, but 8192 threads have too few loads in flight: the product of a
vector with 8192 x 8192 floats took an H200 .51 ms, .133 with 8 threads a column, .080 with 16 and .065 with 32, in CUDA
C by hand.

A thread may have several such loops, one after another, and they may store to elements of their own in the column, of
fields of known extents: all threads of a column join what they have, and go on. Normalizing 1,024 columns of 16,384
floats took an H200 1.31 ms with a thread for each column, and .14 ms with several.

Nests of serial loops are one loop (`flat_nests`). What is behind the columns is a task of its own if it adds to a sum
of all columns, since threads of such a task do not wait for each other. Chunks of a few long columns have blocks of
their own, and a second task joins what they have found (`row_chunks`).

Threads behind the last column compute it again, and store nothing: all threads of a block come to the barrier. Sums of
floats need `fast_math`, since their order changes. Over ndarrays, or up to an argument, a launch chooses the task.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.elements.own_memory import is_plain_field
from ...ir.nodes import Block, Remark, Statement, walk
from ...ir.statements import (
    Alloca,
    Array,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    RangeFor,
    base_pointer,
    is_const,
)
from ...ir.tasks import AtLeast, AtMost, Kernel, Length, Task
from ...ir.threads import Barrier
from ...ir.types import i32
from ...options import MAX_ITERATIONS, Capabilities
from ..analysis.aliasing import writes_what_is_read
from ..analysis.queries import (
    axes_in,
    count_along,
    given_end,
    is_given,
    is_index_of,
    long_enough,
    names_of,
    summands,
    trip_count,
)
from ..context import PassContext
from ..tasks.parts.copies import copy_of, put_in_place, split
from ..tiles.parts.tasks_behind import with_task_behind
from ..tiles.parts.tiled_loops import add_axis, new_shared, replace_indices
from .parts.accumulators import accumulators, start_with_zeros
from .parts.flat_nests import Flat, flatten, has_nests
from .parts.own_stores import own_stores
from .parts.row_chunks import chunks_of, divided
from .parts.row_lengths import is_of_nest
from .parts.row_loops import rows_of
from .parts.strided_rows import stride

COLUMNS = 32
"""The columns of a block: those of a warp, which reads 128 bytes of a row of floats."""
MOST_PARTS, FEWEST_PARTS = 32, 8
"""The most and the fewest threads of a column."""
LONG = 64
"""The fewest rows of each thread that make it worth sharing a column; a guess, as is `MANY`."""
MANY, FEW, FEWER, NARROW = 1 << 16, 1 << 14, 1 << 10, 8
"""Columns that keep a GPU busy with a thread each, so few that most of it is idle, and so few that a block has only as
many as are in 32 bytes."""


Columns = dict[RangeFor, dict[Alloca, str]]
"""Serial loops over columns, with their accumulators and the operations that join those of several threads."""


def shared_columns(kernel: Kernel, context: PassContext) -> bool:
    """Share such loops of GPUs among threads of a block."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_shared_memory or options.deterministic:
        return False
    if options.has_own_block_dim:
        return False
    changed = False
    for task in list(kernel.tasks):
        columns = _columns_of(task, options.fast_math)
        parts, width = (0, 0) if task.loop is None or not columns else _parts(task.loop, columns, capabilities)
        if parts:
            if len(columns) == 1:
                _choose_by_size(kernel, task, next(iter(columns)), parts)
            _share(kernel, task, columns, parts, width, options.fast_math)
        changed |= parts > 0 or _share_nests(kernel, task, context) or _share_without_total(kernel, task, context)
    return changed


def _share_without_total(kernel: Kernel, task: Task, context: PassContext) -> bool:
    """Share the columns of a task that also adds to a sum of all, which a second task does then; return whether that is
    right and worth it."""
    serial = [s for s in task.body.statements if isinstance(s, RangeFor)]
    apart = with_task_behind(task, serial[-1]) if serial and task.reductions else None
    if apart is None:
        return False
    first, second, memory = apart
    columns = _columns_of(first, context.options.fast_math)
    parts, width = (0, 0) if first.loop is None or not columns else _parts(first.loop, columns, context.capabilities)
    if parts:
        kernel.temporaries += memory
        put_in_place(kernel, task, [first, second])
        _Sharing(kernel, first, columns, parts, width).run()
    return parts > 0


def _share_nests(kernel: Kernel, task: Task, context: PassContext) -> bool:
    """Share all iterations of nests of serial loops; return whether that is right and worth it."""
    if task.loop is None or not has_nests(task):
        return False
    trial, fast_math = copy_of(task), context.options.fast_math
    flat, columns = flatten(trial), _columns_of(trial, fast_math, is_flat=True)
    if flat is None or not columns or trial.loop is None:
        return False
    parts, width = _parts(trial.loop, columns, context.capabilities)
    if not parts or (flat.lengths and len(columns) > 1):
        return False
    if len(columns) == 1:
        _choose_by_size(kernel, task, next(iter(columns)), parts, flat)
    flatten(task, "shared_columns")
    _share(kernel, task, _all_columns(task, fast_math), parts, width, fast_math)
    return True


def _share(kernel: Kernel, task: Task, columns: Columns, parts: int, width: int, fast_math: bool) -> None:
    """Share columns; chunks of a few long ones, if these have a task that joins what all have found."""
    count = None if task.loop is None else trip_count(task.loop)
    column, *others = columns
    length = count_along(column, 0)
    if not others and count is not None and length is not None:
        chunks = chunks_of(-(-count // width), length, width)
        pair = divided(task, column, columns[column], chunks, "shared_columns") if chunks > 1 else None
        if pair is not None:
            first, second, memory = pair
            kernel.temporaries += memory
            put_in_place(kernel, task, [first, second])
            task = first
            columns = _all_columns(task, fast_math)
    _Sharing(kernel, task, columns, parts, width).run()


def _all_columns(task: Task, fast_math: bool) -> Columns:
    """Return the serial loops of a task, all of which are over columns, with their accumulators."""
    return {column: accumulators(column, fast_math) or {} for column in rows_of(task)}


# --- which loops ------------------------------------------------------------------------------------------------------


def _columns_of(task: Task, fast_math: bool, is_flat: bool = False) -> dict[RangeFor, dict[Alloca, str]]:
    """Return the serial loops over columns of a task, with their accumulators; {} if threads may not share them.

    is_flat: a loop may be a nest in one, whose number of iterations a launch compares.
    """
    loop = task.loop
    if loop is None or task.choices or not _is_usual(loop):
        return {}
    columns = {column: accumulators(column, fast_math) for column in rows_of(task)}
    if not is_flat and any(is_of_nest(column.ends[0]) for column in columns):
        return {}  # nobody has compared the product with the greatest number
    found = {column: joined for column, joined in columns.items() if joined is not None}
    if len(found) < len(columns) or not all(_has_columns(column, loop) for column in found):
        return {}
    stores = any(isinstance(s, GlobalStore) for column in found for s in walk(column.body))
    if len(found) > 1 or stores:
        is_known = trip_count(loop) is not None and all(isinstance(column.ends[0], Const) for column in found)
        if not is_known or own_stores(task, list(found)) != []:
            return {}
    return found


def _is_usual(loop: RangeFor) -> bool:
    """Return whether a loop has few iterations, as far as is known; the host counts them, and they are one apart."""
    if loop.block_dim is not None or loop.grid_stride or not all(is_const(step, 1) for step in loop.steps):
        return False
    count = trip_count(loop)
    starts = [int(start.value) for start in loop.starts if isinstance(start, Const)]
    if len(starts) < len(loop.starts) or starts[-1] > MAX_ITERATIONS - MANY - COLUMNS:  # the last block may not wrap
        return False
    return all(map(is_given, loop.ends)) and (count is None or count <= MANY)


def _has_columns(column: RangeFor, loop: RangeFor) -> bool:
    """Return whether a serial loop loads or stores elements of columns, one of each iteration, and of no rows.

    Else it loads only what is the same for all columns, such as `x[i]`.
    """
    found, last = False, len(loop.starts) - 1
    for access in walk(column.body):
        pointer = base_pointer(access.pointer) if isinstance(access, (GlobalLoad, GlobalStore)) else None
        if not isinstance(pointer, GlobalPtr) or not any(axes_in(index, column) for index in pointer.indices):
            continue
        if _is_in_column(pointer, loop):
            found = True
        elif any(last in axes_in(index, loop) for index in pointer.indices):
            return False
    return found


def _is_in_column(pointer: GlobalPtr, loop: RangeFor) -> bool:
    """Return whether neighbouring iterations load neighbours, and others load other elements, unless they are few."""
    array, last = pointer.array, len(loop.starts) - 1
    if pointer.cell is not None or array.clamped or array.strided or array.place is not None or array.is_shared:
        return False
    if array.shape is not None and not is_plain_field(array):
        return False
    *before, innermost = pointer.indices
    own = [(sign, value) for sign, value in summands(innermost) if last in axes_in(value, loop)]
    is_next = len(own) == 1 and own[0][0] == 1 and is_index_of(own[0][1], loop)
    axes = [axes_in(index, loop) for index in before]
    if not is_next or any(last in found for found in axes):
        return False
    return {last}.union(*axes) == set(range(last + 1)) or (trip_count(loop) or MANY) <= FEW


def _parts(loop: RangeFor, columns: dict[RangeFor, dict[Alloca, str]], capabilities: Capabilities) -> tuple[int, int]:
    """Return how many threads share a column, 0 if a thread should have it alone, and how many columns a block has."""
    joined, count = [variable for variables in columns.values() for variable in variables], trip_count(loop)
    for width in (NARROW, COLUMNS):
        parts = min(_parts_of(column, joined, width, capabilities) for column in columns)
        if width == COLUMNS or (count is not None and count <= FEWER and parts > MOST_PARTS):
            break
    return parts, width


def _parts_of(column: RangeFor, joined: list[Alloca], width: int, capabilities: Capabilities) -> int:
    """Return how many threads one of the serial loops is long enough for. joined: all accumulators."""
    start, end, length = column.starts[0], column.ends[0], count_along(column, 0)
    is_given = given_end(column) is not None or is_of_nest(end)
    if not isinstance(start, Const) or int(start.value) < 0 or (length is None and not is_given):
        return 0
    if isinstance(end, Const) and int(end.value) > MAX_ITERATIONS - MOST_PARTS * COLUMNS:  # the next index would wrap
        return 0
    row_bytes = width * sum(variable.type.size_bytes for variable in joined if variable.type is not None)
    threads, parts = capabilities.max_block_dim, MOST_PARTS * COLUMNS // width
    while parts * width > threads or parts * row_bytes > capabilities.max_shared_bytes or _is_short(length, parts):
        parts //= 2
        if parts < FEWEST_PARTS:
            return 0
    return parts


def _is_short(length: int | None, parts: int) -> bool:
    return length is not None and length < LONG * parts


def _choose_by_size(kernel: Kernel, task: Task, column: RangeFor, parts: int, flat: Flat | None = None) -> None:
    """Add a task with a thread for each column, if only the launch knows how many and how long they are.

    flat: of what several loops the column is one.
    """
    loop, end = task.loop, given_end(column)
    assert loop is not None and isinstance(column.starts[0], Const)
    axes, least = tuple(map(Length, range(len(loop.starts)))), int(column.starts[0].value) + LONG * parts
    long = long_enough(end, least)
    if flat is not None and flat.lengths:
        long = [AtLeast(flat.lengths, -(-least // flat.known)), *flat.conditions]
    conditions = [*([] if trip_count(loop) is not None else [AtMost(axes, MANY)]), *long]
    if not conditions:
        return
    plain = split(task, *conditions)
    task.launches = f"for up to {MANY:,} iterations{f', {least:,} and more inside' if long else ''}"
    plain.launches = f"for more than {MANY:,} iterations{f', or fewer than {least:,} inside' if long else ''}"
    put_in_place(kernel, task, [plain, task])


# --- the parts --------------------------------------------------------------------------------------------------------


class _Sharing:
    """Gives each column of a task several threads.

    Attributes:
        columns: the serial loops, with their accumulators and the operations that join those of the threads.
        parts: threads of a column. width: columns of a block.
        axis: that of the columns, the last one. name: of its index.
        is_whole: whether all blocks certainly have so many.
    """

    def __init__(
        self,
        kernel: Kernel,
        task: Task,
        columns: dict[RangeFor, dict[Alloca, str]],
        parts: int,
        width: int,
    ) -> None:
        assert task.loop is not None
        self.kernel, self.task, self.loop, self.columns, self.parts = kernel, task, task.loop, columns, parts
        self.axis = len(task.loop.starts) - 1
        self.name = names_of(task.loop)[-1]
        self.width = width
        self.is_whole = (count_along(task.loop, self.axis) or 1) % self.width == 0
        self.builder = Builder(Block(), task.loop.location)

    def run(self) -> None:
        """Replace the body of the task."""
        builder, body, end = self.builder, self.task.body, self.loop.ends[self.axis]
        self._add_threads()
        thread, first = (builder.add(LoopIndex(self.loop, axis, type=i32)) for axis in (self.axis + 1, self.axis))
        part = builder.op("floordiv", thread, builder.const(self.width))
        column = builder.op("mod", thread, builder.const(self.width))
        part.hint, column.hint = "part", "column"
        limit = None if self.is_whole else builder.op("sub", builder.again(end), first)
        last = None if limit is None else builder.op("sub", limit, builder.const(1))
        index = builder.op("add", first, column if last is None else builder.op("min", column, last))
        index.name = self.name
        replace_indices(self.task.body, self.loop, {self.axis: index})
        loops = list(self.columns)
        start, stop = body.statements.index(loops[0]), body.statements.index(loops[-1])
        after = body.statements[stop + 1 :]
        builder.block.statements += body.statements[:start]
        note = f"{self.parts:,} threads share a column: the rows of each are {self.parts} apart (shared_columns)"
        loops[0].remarks = (Remark(note, "above", loops[0].location), *loops[0].remarks)
        is_own = None if limit is None else builder.op("lt", column, limit)
        for statement in body.statements[start : stop + 1]:
            if not isinstance(statement, RangeFor):
                builder.add(statement)
                continue
            arrays = self._add_column(statement, part, column, is_own)
            if arrays and statement is not loops[-1]:
                self._join_for_all(arrays, self.columns[statement], column)
        if not arrays and writes_what_is_read(Block(after), Block(body.statements[start : stop + 1])):
            builder.add(Barrier("block"))
        is_first = builder.all_of([builder.op("eq", part, builder.const(0)), *([] if is_own is None else [is_own])])
        assert is_first is not None
        if arrays or after:
            with builder.into(builder.add(If(is_first)).then):
                self._join(arrays, self.columns[loops[-1]], column)
                builder.block.statements += after
        body.statements[:] = builder.block.statements

    def _add_column(self, rows: RangeFor, part: Statement, column: Statement, is_own: Statement | None) -> list[Array]:
        """Add a serial loop for one of its threads; return where all have stored what they have added up."""
        builder, joined = self.builder, self.columns[rows]
        builder.location = rows.location
        start_with_zeros(builder, list(builder.block), joined, part)
        if is_own is not None and any(isinstance(s, GlobalStore) for s in walk(rows.body)):
            with builder.into(builder.add(If(is_own)).then):
                stride(builder, rows, part, self.parts)
        else:
            stride(builder, rows, part, self.parts)
        arrays = self._store_parts(joined, part, column)
        if arrays:
            builder.add(Barrier("block"))
        return arrays

    def _add_threads(self) -> None:
        """Make blocks of columns of the last axis, and add an axis of the threads of a block."""
        threads = self.parts * self.width
        add_axis(self.task, {self.axis: self.width}, threads, "thread")
        self.loop.grid_stride = False
        self.task.block_dim, self.task.tile = threads, (threads,)

    def _store_parts(self, joined: dict[Alloca, str], part: Statement, column: Statement) -> list[Array]:
        """Let each thread store what it has added up; return the arrays in shared memory."""
        arrays = []
        for variable in joined:
            name = f"{variable.name or variable.hint or self.name}_parts"
            arrays.append(new_shared(self.kernel, name, variable.type, (self.parts, self.width)))
            place = self.builder.add(GlobalPtr(arrays[-1], [part, column], type=variable.type))
            self.builder.store(place, self.builder.load(variable))
        return arrays

    def _join_for_all(self, arrays: list[Array], joined: dict[Alloca, str], column: Statement) -> None:
        """Let all threads of a column join what they have, in the same order."""
        builder, first = self.builder, self.builder.const(0)
        for variable, array in zip(joined, arrays, strict=True):
            place = builder.add(GlobalPtr(array, [first, column], type=variable.type))
            builder.store(variable, builder.load(place))
        self._join(arrays, joined, column)

    def _join(self, arrays: list[Array], joined: dict[Alloca, str], column: Statement) -> None:
        """Join what the first thread of a column has with what the others have."""
        if not arrays:
            return
        builder = self.builder
        one, parts = builder.const(1), builder.const(self.parts)
        others = builder.add(RangeFor([one], [parts], [one], ["other"]))
        with builder.into(others.body):
            other = builder.add(LoopIndex(others, type=i32))
            for (variable, op), array in zip(joined.items(), arrays, strict=True):
                own = builder.add(LocalLoad(variable, type=variable.type))
                value = builder.load(builder.add(GlobalPtr(array, [other, column], type=variable.type)))
                builder.add(LocalStore(variable, builder.op(op, own, value)))
