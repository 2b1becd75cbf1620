"""Lets several threads share a loop over a row of a matrix, where each would have one of its own.

    for i {                                       for i, lane in (0 .. n, 0 .. 4) {
        s = 0                                         s = 0
        for k in starts[i] .. starts[i + 1] {         for k in starts[i] + lane .. starts[i + 1] step 4 {
            s += values[k] * x[columns[k]]    ->          s += values[k] * x[columns[k]]
        }                                             }
                                                      s += s of lane ^ 2, s += s of lane ^ 1
        y[i] = s                                      if lane == 0 { y[i] = s }
    }                                             }

A thread that walks a row of its own reads one element of each line of a cache at a time, and as many threads as a GPU
runs evict the lines of each other: 2^21 rows of 27 entries took an H200 .27 ms, .17 with four threads a row, which read
neighbours together. Rows whose bounds are read from memory, as those of a sparse matrix, get four threads each.

Rows of arrays, `s += a[i, k]`, get as many as leave each four elements, up to a warp. Where only the launch knows their
length, long rows get a warp, and others eight threads, which read 32 bytes of f32 together, what a GPU loads at once.
A loop that also loads elements whose last index is one of the iteration's stays: there neighbouring threads read
neighbours already.

An iteration may have several such loops, one after another, and they may store to elements of their own in the row, as
a softmax does (the greatest element, the sum, the quotients): a thread stores and loads the same elements in all of
them. 8,192 rows of 1,024 floats took an H200 .344 ms, .034 with 32 threads a row. If a stored ndarray may overlap
another one, a launch chooses a task in which a thread has a row of its own.

A loop may also find where the least or greatest element is, bit by bit as a plain loop does (`row_extremes`).

A loop over all elements that adds to one element a row, `s[i] += a[i, k]`, becomes one over the rows (`axis_sums`).

A loop may also count into a histogram, or change elements of neighbours in a graph, where the order does not matter and
nothing else in the iteration accesses the array (`scatters`). What `demote_atomics` has made plain is atomic again.

Rows may be parts of one long array, `for k in range(i * 256, (i + 1) * 256): s += a[k]`, or `s += a[i * 256 + k]`. In
the first, a thread counts from the start of the row, `for offset in lane .. 256 step 32: k = i * 256 + offset`, which
comes nowhere near 2^31; the bounds of the row may, so they are compared first where they are not known to stay below.

The order of a sum differs from Python's, so sums of floats need `fast_math`.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from ...ir.builder import Builder
from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Remark, Statement, operands, walk, walk_blocks
from ...ir.statements import (
    Alloca,
    Array,
    ArrayShape,
    AtomicOp,
    Break,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    RangeFor,
    base_pointer,
    is_const,
    repeats,
)
from ...ir.tasks import AtLeast, AtMost, Condition, Kernel, Length, Task
from ...ir.threads import Barrier, Collective
from ...ir.types import Scalar, i32
from ...options import MAX_ITERATIONS
from ..analysis.aliasing import underlying_object, written_objects
from ..analysis.queries import axes_in, is_given, is_index_of, names_of
from ..analysis.scatters import Scatter, scatters
from ..analysis.stretches import Stretch, added_to, is_in_stretch, stretch_of
from ..context import PassContext
from ..tasks.copies import put_in_place, say_when, split
from ..tiles.block_tiles import may_synchronize
from ..tiles.tiled_loops import add_axis, replace_indices
from .overlap_loads import is_field_in_order
from .own_stores import own_stores
from .row_extremes import add_exchange, add_places, extremes, stores_of

LANES = 4
"""Threads of a sparse row: those of finite differences have 5 to 27 entries, and two threads are as fast as four."""
LANES_OF_UNKNOWN, MOST_LANES = 8, 32
"""Threads of a row of an array, of unknown length and at most."""
FEWEST = 4
"""Elements of a thread that are worth sharing a row."""
WORDS = {4: "four", 8: "eight"}
FOUND = "the threads of a row compare what they have found (shared_rows)"
JOINED = {"add": "add", "sub": "add", "min": "min", "max": "max"}
"""Operations of accumulators, and what joins those of the threads."""


def shared_rows(kernel: Kernel, context: PassContext) -> bool:
    """Share such loops of GPUs among the threads of a subgroup."""
    capabilities = context.capabilities
    most = min(capabilities.subgroup_size or 0, MOST_LANES)
    if capabilities.blocks_as_loops or capabilities.blocks_in_lockstep or most < LANES:
        return False
    if "shuffle" not in capabilities.subgroup_features or context.options.deterministic:
        return False
    changed = False
    for task in list(kernel.tasks):
        changed |= _divide(kernel, task, most, context)
    return changed


def _divide(kernel: Kernel, task: Task, most: int, context: PassContext) -> bool:
    """Give the rows of a task several threads each, if that is right and worth it; return whether it is.

    A task whose rows have a length that only the launch knows becomes two, for long rows and for others.
    """
    rows = rows_of(task)
    lanes = 0 if task.loop is None else min((_lanes_of(row, task.loop, most) for row in rows), default=0)
    changes = _changes(task, rows, context) if lanes else None
    apart = None if changes is None else own_stores(task, rows, changes)
    if apart is None or changes is None or any(_joined(row, changes, context) is None for row in rows):
        return False
    assert task.loop is not None
    end, own, conditions = rows[0].ends[0], lanes, list[Condition](apart)
    is_counted = all(map(_is_counted, (*task.loop.starts, *task.loop.ends)))  # by the launch, which chooses
    if apart and not is_counted:
        return False
    is_unknown = lanes == LANES_OF_UNKNOWN < most and is_counted
    if is_unknown and isinstance(end, ArrayShape) and isinstance(end.array, Array):
        conditions.insert(0, AtLeast((Length(end.axis, end.array),), most * FEWEST))
        own = most
    if conditions:
        axes = tuple(map(Length, range(len(task.loop.starts))))
        other = split(task, AtMost(axes, MAX_ITERATIONS // own), *conditions)  # all threads can be counted
        say_when(task, other, conditions)
        put_in_place(kernel, task, [task, other])
        if not apart:
            _share(other, lanes, context)
    _share(task, own, context)
    return True


def _is_counted(bound: Statement) -> bool:
    """Return whether the host certainly computes a bound of a parallel loop, which may be a number of blocks."""
    if isinstance(bound, Operation) and bound.op == "floordiv" and bound.type == i32:
        first, by = bound.operands
        return is_given(first) and isinstance(by, Const) and by.value > 0
    return is_given(bound)


def _changes(task: Task, rows: list[RangeFor], context: PassContext) -> dict[Statement, Scatter] | None:
    return scatters(task, rows, context.options.fast_math, context.capabilities.atomics)


def rows_of(task: Task) -> list[RangeFor]:
    """Return the loops in the iterations of a task, if several threads may run them, one loop after another."""
    loop = task.loop
    if loop is None or loop.order or loop.cells is not None or task.private or task.tile or task.block_dim % 32:
        return []
    loops = [s for s in walk(task.body) if repeats(s)]
    rows = [s for s in task.body if isinstance(s, RangeFor)]
    if not loops or loops != rows or not may_synchronize(task) or not all(map(_is_row, rows)):
        return []
    before = task.body.statements[: task.body.statements.index(rows[-1])]
    outside = [s for first in before if first not in rows for s in walk(Block([first]))]
    return [] if any(isinstance(s, (GlobalStore, AtomicOp, Call)) for s in outside) else rows


def _is_row(row: RangeFor) -> bool:
    """Return whether a loop has one axis, in steps of 1, and no author who unrolls it."""
    is_plain = len(row.starts) == 1 and is_const(row.steps[0], 1) and not row.unroll_count
    return is_plain and row.starts[0].type == i32


def _lanes_of(row: RangeFor, loop: RangeFor, most: int) -> int:
    """Return how many threads should share a row, 0 if a thread should have it alone."""
    pointers = [base_pointer(s.pointer) for s in walk(row.body) if isinstance(s, (GlobalLoad, GlobalStore))]
    elements = [pointer for pointer in pointers if isinstance(pointer, GlobalPtr)]
    if all(_is_read(bound, loop) for bound in (*row.starts, *row.ends)):
        is_own = any(len(p.indices) == 1 and is_index_of(p.indices[0], row) for p in elements)
        lanes = LANES if is_own else 0
    elif (stretch := stretch_of(row, loop)) is not None:
        is_own = any(p.indices and is_index_of(p.indices[-1], row) and _is_in_order(p) for p in elements)
        is_shared = is_own and not any(_is_in_column_of(pointer, row, loop) for pointer in elements)
        lanes = _lanes_of_rows(stretch.length, most) if is_shared else 0
    elif any(_is_in_row_of(pointer, row, loop) for pointer in elements) and not any(
        _is_in_column_of(pointer, row, loop) for pointer in elements
    ):
        lanes = _lanes_of_length(row, most)
    else:
        lanes = 0
    return lanes if _most_rows(loop) * lanes <= MAX_ITERATIONS else 0


def _is_in_row_of(pointer: GlobalPtr, row: RangeFor, loop: RangeFor) -> bool:
    """Return whether an element is in a row of its own of each iteration: neighbours are those of the next `row`."""
    if not _is_in_order(pointer):
        return False
    before, last = pointer.indices[:-1], pointer.indices[-1:]
    is_row = any(is_index_of(index, row) for index in last) and any(_is_made_of(index, loop) for index in before)
    return is_row or is_in_stretch(pointer, row, loop)


def _is_in_order(pointer: GlobalPtr) -> bool:
    """Return whether elements are in memory in the order of their last index."""
    return pointer.array.shape is None or is_field_in_order(pointer.array)


def _is_in_column_of(pointer: GlobalPtr, row: RangeFor, loop: RangeFor) -> bool:
    """Return whether an element is one of a column, `b[k, j]`: neighbours are those of the next iterations."""
    is_next = any(_is_made_of(index, loop) for index in pointer.indices[-1:]) and not is_in_stretch(pointer, row, loop)
    return is_next and any(_is_made_of(index, row) for index in pointer.indices)


def _lanes_of_length(row: RangeFor, most: int) -> int:
    """Return the threads of a row of an array, each of which has four elements if the length is known; 0 for none."""
    start, end = row.starts[0], row.ends[0]
    if not isinstance(start, Const) or int(start.value) < 0:
        return 0
    if not isinstance(end, Const):
        return min(most, LANES_OF_UNKNOWN) if isinstance(end, ArrayShape) else 0
    return _lanes_of_rows(int(end.value) - int(start.value), most)


def _lanes_of_rows(length: int | None, most: int) -> int:
    if length is None:
        return min(most, LANES_OF_UNKNOWN)
    lanes = most
    while lanes >= LANES and lanes * FEWEST > length:
        lanes //= 2
    return lanes if lanes >= LANES else 0


def _most_rows(loop: RangeFor) -> int:
    """Return the number of iterations of a parallel loop with constant bounds, 0 for others."""
    bounds = [bound.value for bound in (*loop.starts, *loop.ends) if isinstance(bound, Const)]
    axes = len(loop.starts)
    if len(bounds) < 2 * axes:
        return 0
    return prod(max(0, int(end) - int(start)) for start, end in zip(bounds[:axes], bounds[axes:], strict=True))


def _is_read(bound: Statement, loop: RangeFor) -> bool:
    """Return whether a bound is read from memory at a place that depends on the parallel loop."""
    if isinstance(bound, GlobalLoad):
        base = base_pointer(bound.pointer)
        return isinstance(base, GlobalPtr) and any(_depends(index, loop) for index in base.indices)
    return isinstance(bound, Operation) and any(_is_read(operand, loop) for operand in bound.operands)


def _is_made_of(value: Statement, loop: RangeFor) -> bool:
    """Return whether indices of a loop are in a value, without what it loads."""
    return bool(axes_in(value, loop))


def _depends(value: Statement, loop: RangeFor) -> bool:
    return is_index_of(value, loop) or any(_depends(operand, loop) for operand in operands(value))


def _joined(row: RangeFor, changes: Collection[Statement], context: PassContext) -> dict[Alloca, str] | None:
    """Return the accumulators of a loop, which may also find extremes, and change elements in any order."""
    return accumulators(row, context.options.fast_math, stores_of(extremes(row)).union(changes))


def accumulators(
    row: RangeFor, fast_math: bool, known: Collection[Statement] = frozenset()
) -> dict[Alloca, str] | None:
    """Return the variables that a loop only adds to or takes the least or greatest of; None if it does anything else
    than that and storing elements. known: stores and changes of other kinds that threads may share."""
    inside = {s for s in walk(row.body) if isinstance(s, Alloca)}
    found: dict[Alloca, str] = {}
    own_loads: set[Statement] = set()
    for statement in walk(row.body):
        if isinstance(statement, LocalStore):
            variable = statement.pointer
            if base_pointer(variable) in inside or statement in known:
                continue
            op = _joining(statement, fast_math)
            if not isinstance(variable, Alloca) or op is None or found.setdefault(variable, op) != op:
                return None
            own_loads.add(statement.value.operands[0])  # type: ignore[attr-defined]
        elif isinstance(statement, (Break, Continue, Call)) or (
            statement.EFFECT & (Effect.WRITE | Effect.FENCE)
            and not isinstance(statement, (Alloca, GlobalStore))
            and statement not in known
        ):
            return None
    loads = [s for s in walk(row.body) if isinstance(s, LocalLoad)]
    is_read = any(base_pointer(load.pointer) in found for load in loads if load not in own_loads)
    uses = [operand for s in walk(row.body) for operand in operands(s) if operand in own_loads]
    is_sum = own_loads <= set(loads)  # not of what a variable was before the loop: `s = s0 + a[k]` keeps the last
    return found if is_sum and not is_read and len(uses) == len(own_loads) else None


def _joining(store: LocalStore, fast_math: bool) -> str | None:
    """Return the operation that joins the values of a variable, None if a store is no accumulation."""
    value = store.value
    if not isinstance(value, Operation) or value.op not in JOINED or not isinstance(value.type, Scalar):
        return None
    if value.type.bits not in (32, 64) or (value.type.is_float and value.op in ("add", "sub") and not fast_math):
        return None
    first = value.operands[0]
    return JOINED[value.op] if isinstance(first, LocalLoad) and first.pointer is store.pointer else None


def _share(task: Task, lanes: int, context: PassContext) -> None:
    """Give each iteration of a task several threads."""
    loop, body, rows = task.loop, task.body.statements, rows_of(task)
    changes = _changes(task, rows, context) or {}
    joined_of = {row: _joined(row, changes, context) or {} for row in rows}
    found_of = {row: extremes(row) for row in rows}
    assert loop is not None
    stretches = {row: stretch_of(row, loop) for row in rows}
    for row in rows:
        make_atomic(row.body, changes, context.options.why_comments)
    add_axis(task, {}, lanes, "lane")
    first, last = body.index(rows[0]), body.index(rows[-1])
    builder = Builder(Block(body[:first]), rows[0].location)
    lane = builder.add(LoopIndex(loop, len(loop.starts) - 1, type=i32, name=loop.names[-1]))
    if context.options.why_comments:
        note = f"{WORDS.get(lanes, lanes)} threads share a row and read neighbours together (shared_rows)"
        rows[0].remarks = (Remark(note, "above", rows[0].location), *rows[0].remarks)
    for statement in body[first : last + 1]:
        builder.location = statement.location
        if isinstance(statement, RangeFor):
            places = add_places(builder, statement, found_of[statement])
            _add_row(builder, statement, lane, lanes, joined_of[statement], stretches[statement])
            if places:
                steps = add_exchange(builder, lanes, places)
                if context.options.why_comments:
                    steps.remarks = (Remark(FOUND, "above", steps.location),)
        else:
            builder.add(statement)
    if body[last + 1 :]:
        together = [row for row in rows if joined_of[row] or found_of[row]]
        joined = max((body.index(row) + 1 for row in together), default=0)  # all have come so far there
        if writes_what_is_read(Block(body[last + 1 :]), Block(body[joined : last + 1])):
            builder.add(Barrier("subgroup"))
        builder.add(If(builder.op("eq", lane, builder.const(0)))).then.statements += body[last + 1 :]
    task.body.statements = builder.block.statements


def make_atomic(block: Block, changes: dict[Statement, Scatter], comments: bool) -> None:
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
                atomic.location, atomic.remarks = store.location, (*others, *([remark] if comments else []))
                statements[place] = atomic
        inner.statements = statements


def writes_what_is_read(after: Block, before: Block) -> bool:
    """Return whether a thread may write what others, which are not as far, still have to read."""
    read = {underlying_object(s.pointer) for s in walk(before) if isinstance(s, GlobalLoad)}
    arrays = [array for array in read if isinstance(array, Array)]
    written = written_objects(after)
    may_alias = any(isinstance(array, Array) and array.may_alias for array in written)
    return not read.isdisjoint(written) or (may_alias and any(array.may_alias for array in arrays))


def _add_row(
    builder: Builder,
    row: RangeFor,
    lane: Statement,
    lanes: int,
    joined: dict[Alloca, str],
    stretch: Stretch | None,
) -> None:
    """Add the loop over a row for one of its threads, and what joins the accumulators of all."""
    start_with_zeros(builder, list(builder.block), joined, lane)
    if stretch is None:
        stride(builder, row, lane, lanes)
    else:
        _stride_from_start(builder, row, lane, lanes, stretch)
    distances = [distance for distance in (16, 8, 4, 2, 1) if distance < lanes]
    for variable, op in joined.items():
        for distance in distances:
            own = builder.add(LocalLoad(variable, type=variable.type))
            other = builder.add(Collective("shuffle_xor", [own, builder.const(distance)], type=variable.type))
            other.hint = "other"
            builder.add(LocalStore(variable, builder.op(op, own, other)))


def start_with_zeros(builder: Builder, before: list[Statement], joined: dict[Alloca, str], lane: Statement) -> None:
    """Let sums that start with another number start with it in the first of the threads only."""
    for variable, op in joined.items():
        if op == "add" and not _starts_with_zero(before, variable):
            assert isinstance(variable.type, Scalar)
            first = builder.add(If(builder.op("gt", lane, builder.const(0))))
            with builder.into(first.then):
                builder.add(LocalStore(variable, builder.const(0, variable.type)))


def stride(builder: Builder, row: RangeFor, lane: Statement, lanes: int) -> None:
    """Add the loop over a row, of which each thread takes every `lanes`th element."""
    start = row.starts[0]
    row.steps = [builder.const(lanes)]
    if isinstance(start, Const):
        row.starts = [lane if start.value == 0 else builder.op("add", start, lane)]
        builder.add(row)
        return
    is_any = builder.op("lt", start, row.ends[0])  # else the sum may wrap: a row from INT_MAX to 0 is empty
    row.starts = [builder.op("add", start, lane)]
    builder.add(If(is_any)).then.statements.append(row)


def _stride_from_start(builder: Builder, row: RangeFor, lane: Statement, lanes: int, stretch: Stretch) -> None:
    """Add the loop over a row, of which each thread takes every `lanes`th element, by offsets from the start."""
    start, end = row.starts[0], row.ends[0]
    if not isinstance(start, LoopIndex):
        start.hint = start.hint or f"start_{names_of(row)[0]}"
    guard = None if stretch.is_certain else builder.add(If(builder.op("lt", start, end)))
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


def _starts_with_zero(before: list[Statement], variable: Alloca) -> bool:
    """Return whether the last value of a variable before a loop is 0."""
    stores = [
        s for first in before for s in walk(Block([first])) if isinstance(s, LocalStore) and s.pointer is variable
    ]
    if not stores:
        return True
    return stores[-1] in before and isinstance(stores[-1].value, Const) and stores[-1].value.value == 0
