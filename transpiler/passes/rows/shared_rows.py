"""Nested parallelism: several threads share a loop over a row of a matrix, where each would have one of its own.

    for i {                                       for i, lane in (0 .. n, 0 .. 4) {
        s = 0                                         s = 0
        for k in starts[i] .. starts[i + 1] {         for k in starts[i] + lane .. starts[i + 1] step 4 {
            s += values[k] * x[columns[k]]    ->          s += values[k] * x[columns[k]]
        }                                             }
                                                      s += s of lane ^ 1, s += s of lane ^ 2
        y[i] = s                                      if lane == 0 { y[i] = s }
    }                                             }

A thread that walks a row of its own reads one element of each line of a cache at a time, and as many threads as a GPU
runs evict the lines of each other: 2^21 rows of 27 entries took an H200 .27 ms, .17 with four threads a row, which read
neighbours together. Rows whose bounds are read from memory, as those of a sparse matrix, get four threads each.

Rows of arrays, `s += a[i, k]`, get as many as leave each four elements, up to a warp, and a block where they are long
and too few to keep a GPU busy with a warp each: its warps join what they have in shared memory. Where only the launch
knows their length, long rows get a warp, and others eight threads, which read 32 bytes of f32 together, what a GPU
loads at once.
A loop that also loads elements whose last index is one of the iteration's stays: there neighbouring threads read
neighbours already.

An iteration may have several such loops, one after another, and they may store to elements of their own in the row, as
a softmax does (the greatest element, the sum, the quotients): a thread stores and loads the same elements in all of
them. 8,192 rows of 1,024 floats took an H200 .344 ms, .034 with 32 threads a row. If a stored ndarray may overlap
another one, a launch chooses a task in which a thread has a row of its own.

Between the loops all threads compute the same; stores, atomic operations and sums of the parallel loop itself, as a
loss, are for the first of them (`first_lane`). Those sums stay reductions: an addition to one number for each row would
wait for the others where there are many rows, and a reduction costs no launch. Its grid-stride loop counts by whole
blocks, so that all threads of a row come to an exchange together. Behind few long rows they are a task of their own
(`tasks_behind`), so that rows have blocks: written so by hand, losses of 2,048 rows of 32,000 took an H200 .13 ms in
place of .19 with a warp each.

A loop over rows may be inside of another serial loop, as for weights in groups that have a scale each (`row_loops`).

A loop may also find where the least or greatest element is, bit by bit as a plain loop does (`row_extremes`).

Nests of serial loops are one loop (`flat_nests`), as the moments of a channel in a batch of images: a block has each of
a few thousand, which threads with a nest each would leave a GPU idle for. Where there are even fewer, chunks of a row
have a block each, and a second task joins what they have found (`row_chunks`).

A loop over all elements that adds to one element a row, `s[i] += a[i, k]`, becomes one over the rows (`axis_sums`).

A loop may also count into a histogram, or change elements of neighbours in a graph, where the order does not matter and
nothing else in the iteration accesses the array (`scatters`). What `demote_atomics` has made plain is atomic again.

Rows may be parts of one long array, `for k in range(i * 256, (i + 1) * 256): s += a[k]`, or `s += a[i * 256 + k]`. In
the first, a thread counts from the start of the row, `for offset in lane .. 256 step 32: k = i * 256 + offset`, which
comes nowhere near 2^31; the bounds of the row may, so they are compared first where they are not known to stay below.

The order of a sum differs from Python's, so sums of floats need `fast_math`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, walk, walk_blocks
from ...ir.statements import (
    Alloca,
    Array,
    ArrayShape,
    AtomicOp,
    GlobalStore,
    If,
    LoopIndex,
    MatrixPtr,
    RangeFor,
    repeats,
)
from ...ir.tasks import Apart, AtLeast, AtMost, Condition, Kernel, Length, Task
from ...ir.threads import Barrier, Collective
from ...ir.types import Tensor, i32
from ...options import MAX_ITERATIONS
from ..analysis.aliasing import writes_what_is_read
from ..analysis.loops.scatters import Scatter, scatters
from ..analysis.loops.stretches import Stretch, added_to, stretch_of
from ..analysis.queries import names_of, trip_count
from ..context import PassContext
from ..tasks.parts.copies import copy_of, put_in_place, say_when, split
from ..tiles.parts.tasks_behind import with_task_behind
from ..tiles.parts.tiled_loops import add_axis, replace_indices
from .parts.accumulators import accumulators, start_with_zeros
from .parts.exchanges import add_steps, join_subgroups, shared_for_subgroups, steps_of
from .parts.first_lane import add_parts, must_be_apart, seen_by_all, users_in
from .parts.flat_nests import flatten, has_nests
from .parts.own_stores import joined_pairs, own_stores
from .parts.row_chunks import chunks_of, divided
from .parts.row_extremes import add_exchange, add_places, extremes, start_alike, stores_of
from .parts.row_lengths import (
    FEWEST,
    LANES,
    LANES_OF_UNKNOWN,
    LONG_OF_UNKNOWN,
    MANY_ROWS,
    MOST_LANES,
    MOST_THREADS,
    THREADS_OF_UNKNOWN,
    has_much_behind,
    is_of_nest,
    lanes_of,
    length_of,
    pays_for_vectors,
    stretch_in,
    threads_of_block,
)
from .parts.row_loops import Late, RowLoops, exchange_together, is_counted, joined_late, loops_over_rows
from .parts.rows_in_branches import leave_branch
from .parts.strided_rows import GUARD, stride

FEW_EXCHANGES = 3
"""So many exchanges are written one after another, more in a loop."""
MANY_ELEMENTS = 1 << 23
"""The fewest elements of all rows for which a launch more is worth a block for each row."""
WORDS = {4: "four", 8: "eight"}
FOUND = "the threads of a row compare what they have found (shared_rows)"


def shared_rows(kernel: Kernel, context: PassContext) -> bool:
    """Share such loops of GPUs among the threads of a subgroup."""
    capabilities = context.capabilities
    most = min(capabilities.subgroup_size or 0, MOST_LANES)
    if not capabilities.has_warps or most < LANES:
        return False
    if "shuffle" not in capabilities.subgroup_features or context.options.deterministic:
        return False
    changed = False
    for task in list(kernel.tasks):
        is_shared = _divide_flat(kernel, task, most, context) or _divide(kernel, task, most, context)
        changed |= is_shared or _divide_in_branch(kernel, task, most, context)
    return changed


def _divide_flat(kernel: Kernel, task: Task, most: int, context: PassContext) -> bool:
    """Share all iterations of nests of serial loops, if that is right and worth it; return whether it is.

    A nest whose indices are quotients is for a block. Where only the launch knows lengths, it chooses between a block,
    a subgroup and a thread.
    """
    loop = task.loop
    if loop is None or not has_nests(task) or not all(map(is_counted, (*loop.starts, *loop.ends))):
        return False
    trial = copy_of(task)
    flat = flatten(trial)
    loops, lanes = _worth_sharing(trial, most)
    changes = _changes(trial, loops.rows, context) if flat and lanes else None
    apart = None if changes is None else _apart(trial, loops, changes)
    if flat is None or changes is None or apart is None or not _may_join(trial, loops, changes, context):
        return False
    may_have_block = _may_have_blocks(trial, loops, context)
    if not flat.lengths:
        has_block = may_have_block and threads_of_block(loop, loops.rows) > 0
        if not has_block and (flat.divides or lanes < _worth_sharing(task, most)[1]):
            return False
        flatten(task)
        return _divide(kernel, task, most, context)
    axes = tuple(map(Length, range(len(loop.starts))))
    sizes = [(MOST_THREADS, MANY_ROWS - 1, LONG_OF_UNKNOWN)] if may_have_block else []
    sizes += [(most, MAX_ITERATIONS // most, FEWEST * most)] if not flat.divides else []
    for lanes, rows, length in sizes:
        least = AtLeast(flat.lengths, -(-length // flat.known))
        conditions = [AtMost(axes, rows), least, *flat.conditions, *apart]
        other = split(task, *conditions)
        words = (f"up to {rows:,} rows", "shorter or more rows") if lanes == MOST_THREADS else ("rows", "shorter rows")
        say_when(task, other, [AtLeast(flat.lengths, length), *apart], *words)
        put_in_place(kernel, task, [task, other])
        flatten(task)
        _share(kernel, task, loops.outer_are_rows, lanes, context)
        task = other
    return bool(sizes)


def _divide(kernel: Kernel, task: Task, most: int, context: PassContext, is_first: bool = True) -> bool:
    """Give the rows of a task several threads each, if that is right and worth it; return whether it is.

    A task whose rows have a length that only the launch knows becomes two, for long rows and for others; before that it
    becomes two for few rows that have a block each, and for others. is_first: that is to be done.
    """
    loops, lanes = _worth_sharing(task, most)
    rows = loops.rows
    changes = _changes(task, rows, context) if lanes else None
    apart = None if changes is None else _apart(task, loops, changes)
    if apart is None or changes is None or not _may_join(task, loops, changes, context):
        return False
    if lanes == most and not apart and (alone := _without_totals(kernel, task, loops, context)) is not None:
        return _divide(kernel, alone, most, context, is_first)
    if any(is_of_nest(row.ends[0]) for row in rows):
        return False  # nobody has compared the product with the greatest number
    assert task.loop is not None
    end, own, conditions = rows[0].ends[0], lanes, list[Condition](apart)
    is_known = all(map(is_counted, (*task.loop.starts, *task.loop.ends)))  # by the launch, which chooses
    if apart and not is_known:
        return False
    is_unknown = lanes == LANES_OF_UNKNOWN < most and is_known
    axes = tuple(map(Length, range(len(task.loop.starts))))
    if is_unknown and isinstance(end, ArrayShape) and isinstance(end.array, Array):
        length = (Length(end.axis, end.array),)
        if is_first and len(axes) == 1 and _may_have_blocks(task, loops, context):
            other = _split_off_blocks(kernel, task, [AtLeast(length, LONG_OF_UNKNOWN), *apart])
            _share(kernel, task, loops.outer_are_rows, THREADS_OF_UNKNOWN, context)
            return _divide(kernel, other, most, context, is_first=False)
        conditions.insert(0, AtLeast(length, most * FEWEST))
        own = most
    if conditions:
        other = split(task, AtMost(axes, MAX_ITERATIONS // own), *conditions)  # all threads can be counted
        say_when(task, other, conditions, "rows" if is_first else "other rows")
        put_in_place(kernel, task, [task, other])
        if not apart:
            _share(kernel, other, loops.outer_are_rows, lanes, context)
    elif lanes == most and _may_have_blocks(task, loops, context):
        own = max(threads_of_block(task.loop, rows), lanes)
        if own > lanes and len(rows) == 1:
            task = _with_chunks(kernel, task, rows[0], context)
    _share(kernel, task, loops.outer_are_rows, own, context)
    return True


def _divide_in_branch(kernel: Kernel, task: Task, most: int, context: PassContext) -> bool:
    """Share rows that are in a branch of a task, if that is right and worth it; return whether it is."""
    if task.loop is None or not any(isinstance(s, If) and any(map(repeats, walk(s.then))) for s in task.body):
        return False
    whole = copy_of(task)
    if not leave_branch(whole):
        return False
    put_in_place(kernel, task, [whole])
    if _divide(kernel, whole, most, context):
        return True
    put_in_place(kernel, whole, [task])
    return False


def _with_chunks(kernel: Kernel, task: Task, row: RangeFor, context: PassContext) -> Task:
    """Return the task for chunks of a few long rows, each of which has a block; the task itself if they have none."""
    count, length, joined = trip_count(task.loop) if task.loop else None, trip_count(row), _joined(row, (), context)
    chunks = 1 if count is None or length is None else chunks_of(count, length)
    pair = divided(task, row, joined, chunks, "shared_rows") if chunks > 1 and joined else None
    if pair is None:
        return task
    first, second, memory = pair
    kernel.temporaries += memory
    put_in_place(kernel, task, [first, second])
    return first


def _without_totals(kernel: Kernel, task: Task, loops: RowLoops, context: PassContext) -> Task | None:
    """Split what follows long rows from a task, which adds to a total of all rows; return the one for the rows.

    A row can have a block then. None if it cannot, or if one launch more takes as long as that saves.
    """
    pair = with_task_behind(task, loops.outermost[-1]) if task.reductions and not loops.around else None
    if pair is None:
        return None
    first, second, memory = pair
    own = loops_over_rows(first, loops.outer_are_rows)
    loop = first.loop
    assert loop is not None
    total = (trip_count(loop) or 0) * max((length_of(row, loop) for row in own.rows), default=0)
    if total < MANY_ELEMENTS or not _may_have_blocks(first, own, context):
        return None
    if threads_of_block(loop, own.rows) <= MOST_LANES:
        return None
    kernel.temporaries += memory
    put_in_place(kernel, task, [first, second])
    return first


def _split_off_blocks(kernel: Kernel, task: Task, conditions: list[Condition]) -> Task:
    """Leave a task to launches of few long rows; return one for others, which says nothing of that."""
    launches, other = task.launches, split(task, AtMost((Length(0),), MANY_ROWS - 1), *conditions)
    say_when(task, other, conditions, f"up to {MANY_ROWS - 1:,} rows")
    other.launches = launches
    put_in_place(kernel, task, [task, other])
    return other


def _may_have_blocks(task: Task, loops: RowLoops, context: PassContext) -> bool:
    """Return whether a row may have a block: its threads join sums only, and wait for each other."""
    loop, capabilities, options = task.loop, context.capabilities, context.options
    assert loop is not None
    is_chosen = loop.block_dim is not None or loop.grid_stride or options.has_own_block_dim
    is_plain = not (loops.around or task.reductions or task.block_sums or any(map(extremes, loops.rows)))
    return is_plain and not is_chosen and capabilities.has_shared_memory and capabilities.max_block_dim >= MOST_THREADS


def _worth_sharing(task: Task, most: int) -> tuple[RowLoops, int]:
    """Return the loops of a task that threads may share, and how many threads should; 0 if none should."""
    loops, lanes = RowLoops(), 0
    for outer_are_rows in (False, True):
        if task.loop is not None and lanes == 0:
            loops = loops_over_rows(task, outer_are_rows)
            around = loops.around
            lanes = min((lanes_of(row, task.loop, around.get(row), most) for row in loops.rows), default=0)
    is_worth = lanes and not has_much_behind(task.body.statements, loops.outermost, lanes)
    return loops, lanes if is_worth else 0


def _changes(task: Task, rows: list[RangeFor], context: PassContext) -> dict[Statement, Scatter] | None:
    return scatters(task, rows, context.options.fast_math, context.capabilities.atomics)


def _apart(task: Task, loops: RowLoops, changes: dict[Statement, Scatter]) -> list[Apart] | None:
    """Return which ndarrays must be apart for threads to share rows; None if one loads what another one stores."""
    before = task.body.statements[: task.body.statements.index(loops.outermost[-1]) + 1]
    own, others = own_stores(task, loops.rows, changes), must_be_apart(*seen_by_all(before, users_in(task.body)))
    return None if own is None or others is None else joined_pairs(own, others)


def _may_join(task: Task, loops: RowLoops, changes: Collection[Statement], context: PassContext) -> bool:
    """Return whether threads can join all that rows compute."""
    joined = {row: found for row in loops.rows if (found := _joined(row, changes, context)) is not None}
    has_vectors = any(isinstance(variable.type, Tensor) for found in joined.values() for variable in found)
    if len(joined) < len(loops.rows) or (has_vectors and loops.around):
        return False
    if not all(start_alike(task.body, row, extremes(row), context.options.fast_math) for row in joined):
        return False
    return exchange_together(loops, joined, [row for row in joined if extremes(row)])


def _joined(row: RangeFor, changes: Collection[Statement], context: PassContext) -> dict[Alloca, str] | None:
    """Return the accumulators of a loop, which may also find extremes, and change elements in any order."""
    known, vectors = stores_of(extremes(row)).union(changes), pays_for_vectors(row)
    return accumulators(row, context.options.fast_math, known, vectors)


def _share(kernel: Kernel, task: Task, outer_are_rows: bool, lanes: int, context: PassContext) -> None:
    """Give each iteration of a task several threads."""
    loops = loops_over_rows(task, outer_are_rows)
    changes = _changes(task, loops.rows, context) or {}
    _Sharing(kernel, task, loops, changes, lanes, context).run()


class _Sharing:
    """Gives each iteration of a task several threads.

    Attributes:
        lanes: threads of a row. width: those of a subgroup; a row has one, a part of one, or those of a block.
        joined: the accumulators of each row, with the operations that join those of the threads.
        late: what is joined behind a serial loop around rows. found: what rows find.
        stretches: the bounds of rows that are parts of long ones.
    """

    def __init__(
        self,
        kernel: Kernel,
        task: Task,
        loops: RowLoops,
        changes: dict[Statement, Scatter],
        lanes: int,
        context: PassContext,
    ) -> None:
        loop, rows = task.loop, loops.rows
        assert loop is not None
        self.kernel, self.task, self.loops, self.lanes = kernel, task, loops, lanes
        self.width = min(lanes, MOST_LANES, context.capabilities.subgroup_size or lanes)
        self.joined = {row: _joined(row, changes, context) or {} for row in rows}
        self.late = {
            outer: joined_late(outer, {row: self.joined[row] for row in rows if loops.around.get(row) is outer})
            for outer in set(loops.around.values())
        }
        self.found = {row: extremes(row) for row in rows}
        self.stretches = {row: stretch_of(row, loop) or stretch_in(row, loops.around.get(row)) for row in rows}
        self.users = users_in(task.body)
        for row in rows:
            make_atomic(row.body, changes)
        add_axis(task, {}, lanes, "lane" if lanes == self.width else "thread")
        if lanes > self.width:
            loop.grid_stride = False
            task.block_dim, task.tile = lanes, (lanes,)
        self.builder = Builder(Block(), loop.location)
        self.lane = self.builder.add(LoopIndex(loop, len(loop.starts) - 1, type=i32, name=loop.names[-1]))

    def run(self) -> None:
        """Replace the body of the task."""
        body, builder, first = self.task.body.statements, self.builder, self.loops.rows[0]
        number = WORDS.get(self.lanes, f"{self.lanes:,}")
        block = ", a block," if self.lanes > self.width else ""
        note = f"{number} threads{block} share a row and read neighbours together (shared_rows)"
        first.remarks = (Remark(note, "above", first.location), *first.remarks)
        outermost = self.loops.outermost
        last = body.index(outermost[-1])
        self.add(body[: last + 1])
        if body[last + 1 :]:
            together = [outer for outer in outermost if self._joins(outer)]
            joined = max((body.index(outer) + 1 for outer in together), default=0)  # all have come so far there
            if writes_what_is_read(Block(body[last + 1 :]), Block(body[joined : last + 1])):
                builder.add(Barrier("subgroup" if self.lanes == self.width else "block"))
            builder.add(If(builder.op("eq", self.lane, builder.const(0)))).then.statements += body[last + 1 :]
        self.task.body.statements = builder.block.statements

    def _joins(self, outer: RangeFor) -> bool:
        """Return whether all threads of a row certainly wait for each other behind a loop."""
        return bool(self.late[outer].joined if outer in self.late else self.joined[outer] or self.found[outer])

    def add(self, statements: list[Statement]) -> None:
        """Add statements for all threads of a row."""
        between: list[Statement] = []
        for statement in statements:
            if not isinstance(statement, RangeFor):
                between.append(statement)
                continue
            add_parts(self.builder, between, self.lane, self.users)
            between.clear()
            self.builder.location = statement.location
            if statement in self.late:
                self._add_outer(statement, self.late[statement])
            else:
                self._add_row(statement)
        add_parts(self.builder, between, self.lane, self.users)

    def _add_outer(self, outer: RangeFor, late: Late) -> None:
        """Add a loop that all threads of a row run, and what joins what they add to in it."""
        builder = self.builder
        start_with_zeros(builder, list(builder.block), late.joined, self.lane)
        inside, outer.body.statements = outer.body.statements, []
        builder.add(outer)
        with builder.into(outer.body):
            self.add(inside)
        self._join(late.joined)

    def _add_row(self, row: RangeFor) -> None:
        """Add the loop over a row for one of its threads, and what joins the accumulators of all."""
        builder, late = self.builder, self.late.get(self.loops.around[row]) if row in self.loops.around else None
        joined = {v: op for v, op in self.joined[row].items() if not late or v not in {*late.joined, *late.parts}}
        places = add_places(builder, row, self.found[row])
        start_with_zeros(builder, list(builder.block), joined, self.lane)
        stretch = self.stretches[row]
        if stretch is None:
            stride(builder, row, self.lane, self.lanes)
        else:
            _stride_from_start(builder, row, self.lane, self.lanes, stretch)
        self._join(joined)
        if places:
            steps = add_exchange(builder, self.lanes, places)
            steps.remarks = (Remark(FOUND, "above", steps.location),)

    def _join(self, joined: Mapping[Alloca, str]) -> None:
        """Let all threads of a row join what they have."""
        builder, count = self.builder, steps_of(self.width)
        if count * sum(map(_size, joined)) <= FEW_EXCHANGES:
            for step in range(count):
                self._add_others(joined, builder.const(1 << step))
        elif joined:
            steps, distance = add_steps(builder, self.width)
            with builder.into(steps.body):
                self._add_others(joined, distance)
        if joined and self.lanes > self.width:
            self._join_subgroups(joined)

    def _join_subgroups(self, joined: Mapping[Alloca, str]) -> None:
        """Let all threads of a block join what its subgroups have."""
        count = self.lanes // self.width
        own = self.builder.op("floordiv", self.lane, self.builder.const(self.width))
        arrays = {variable: shared_for_subgroups(self.kernel, variable, count) for variable in joined}
        join_subgroups(self.builder, joined, arrays, own, together=False)

    def _add_others(self, joined: Mapping[Alloca, str], distance: Statement) -> None:
        """Add what the thread at a distance has to what each thread has."""
        builder = self.builder
        for variable, op in joined.items():
            for number in _numbers_of(builder, variable):
                own = builder.load(number)
                other = builder.add(Collective("shuffle_xor", [own, distance], type=own.type))
                other.hint = f"other_{variable.name or variable.hint or 'value'}"
                builder.store(number, builder.op(op, own, other))


def _size(variable: Alloca) -> int:
    return variable.type.size if isinstance(variable.type, Tensor) else 1


def _numbers_of(builder: Builder, variable: Alloca) -> list[Statement]:
    """Return a variable, or pointers to the elements of a vector."""
    if not isinstance(variable.type, Tensor):
        return [variable]
    indices = product(*map(range, variable.type.shape))
    element = variable.type.element
    return [builder.add(MatrixPtr(variable, [builder.const(k) for k in index], type=element)) for index in indices]


def make_atomic(block: Block, changes: dict[Statement, Scatter]) -> None:
    """Replace loads, operations and stores by the atomic operations that they are where several threads change an
    element."""
    dropped = {statement for scatter in changes.values() for statement in scatter.plain}
    for inner in walk_blocks(block):
        statements = [statement for statement in inner if statement not in dropped]
        for place, store in enumerate(statements):
            if isinstance(store, GlobalStore) and store in changes:
                scatter, others = changes[store], [r for r in store.remarks if "(demote_atomics)" not in r.template]
                remark = Remark("atomic: the other threads of the row change it, too (shared_rows)")
                atomic = AtomicOp(scatter.op, store.pointer, scatter.value, type=store.pointer.type)
                atomic.location, atomic.remarks = store.location, (*others, remark)
                statements[place] = atomic
        inner.statements = statements


def _stride_from_start(builder: Builder, row: RangeFor, lane: Statement, lanes: int, stretch: Stretch) -> None:
    """Add the loop over a row, of which each thread takes every `lanes`th element, by offsets from the start."""
    start, end = row.starts[0], row.ends[0]
    if not isinstance(start, LoopIndex):
        start.hint = start.hint or f"start_{names_of(row)[0]}"
    guard = None if stretch.is_certain else builder.add(If(builder.op("lt", start, end)))
    if guard is not None:
        guard.remarks = (Remark(GUARD, "above", guard.location),)
    with builder.into(builder.block if guard is None else guard.then):
        is_known = stretch.length is not None and not stretch.is_cut
        length = builder.const(stretch.length or 0) if is_known else added_to(start, end)
        length = length or builder.op("sub", end, start)
        row.starts, row.ends, row.steps = [lane], [length], [builder.const(lanes)]
        own = Builder(Block(), row.location)
        index = own.op("add", start, own.add(LoopIndex(row, 0, type=i32, name="offset")))
        index.name = names_of(row)[0]
        replace_indices(row.body, row, {0: index})
        row.body.statements[:0] = own.block.statements
        row.names = ["offset"]
        builder.add(row)
