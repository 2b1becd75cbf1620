"""How many threads should share a loop over a row (for `shared_rows`): a query.

Where threads with a row each would read neighbours already, as of a column, each has its row alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....ir.elements.own_memory import is_alone
from ....ir.functions import Call
from ....ir.nodes import Statement, blocks, operands, walk
from ....ir.statements import (
    ArrayShape,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    Operation,
    RangeFor,
    base_pointer,
    is_const,
    repeats,
)
from ....ir.types import Scalar
from ....options import MAX_ITERATIONS
from ...analysis.loops.flat_indices import is_fastest
from ...analysis.loops.stretches import Stretch, is_in_stretch, stretch_of
from ...analysis.queries import (
    axes_in,
    base_array,
    count_along,
    is_field_in_order,
    is_given,
    is_index_of,
    product_of,
    summands,
    trip_count,
)

LANES = 4
"""The threads of a sparse row: rows of finite differences have 5 to 27 entries, and two threads are as fast as
four."""
LANES_OF_UNKNOWN, MOST_LANES = 8, 32
"""The threads of a row of an array whose length is not known, and the most threads of any row."""
FEWEST = 4
"""The fewest elements of a thread that make it worth sharing a row."""
USUAL_LENGTH, MUCH = 32, 16
"""Iterations of loops of which the number is not known, and how many times as long is much longer."""
MANY_READERS = 16
"""Iterations that share a row, from which neighbours probably do."""
NEAR_BYTES = 64
"""The greatest distance of elements that threads of a row may load together."""
WIDE_BYTES = 16
"""The least size of elements that make it worth to exchange vectors in short rows."""
LONG, MANY_ROWS = 1024, 1 << 13
"""The shortest rows that have a block each, and so many that a warp for each keeps a GPU busy."""
LONG_OF_UNKNOWN, THREADS_OF_UNKNOWN = 4096, 512
"""The shortest such rows, and the threads of their blocks, where only the launch knows how long rows are."""
MOST_THREADS, LEAST_THREADS, ELEMENTS, BUSY = 1024, 128, 32, 1 << 19
"""The most and the fewest threads of such a block, how many elements each has, and the most threads of all blocks.

512 rows of 32,768 floats took an H200 .29 ms with a warp each, .109, .082, .078 and .063 with blocks of 128, 256, 512
and 1,024 threads; 2,048 rows of 4,096 .043, .025, .026, .026 and .035; 8,192 of 1,024 .023, .023, .027, .042, .067.
"""


def lanes_of(row: RangeFor, loop: RangeFor, outer: RangeFor | None, most: int) -> int:
    """Return how many threads should share a row, 0 if a thread should have it alone.

    outer: a serial loop around it.
    """
    pointers = [base_pointer(s.pointer) for s in walk(row.body) if isinstance(s, (GlobalLoad, GlobalStore))]
    elements = [pointer for pointer in pointers if isinstance(pointer, GlobalPtr)]
    end = _end_of(row)
    if all(_is_read(bound, loop) for bound in (*row.starts, end)):
        is_own = any(len(p.indices) == 1 and is_index_of(p.indices[0], row) for p in elements)
        own = [p for p in elements if _is_in_row_of(p, row, loop, outer)]
        is_shared = (is_own or own) and not any(_is_in_column_of(pointer, row, loop) for pointer in elements)
        lanes = (LANES if is_own else min(_lanes_between(p, loop, most) for p in own)) if is_shared else 0
    elif is_const(row.starts[0], 0) and _is_read(end, loop):
        own = [p for p in elements if _is_in_row_of(p, row, loop, outer)]
        is_shared = own and not any(_is_in_column_of(pointer, row, loop) for pointer in elements)
        lanes = min(_lanes_of_part(pointer, most) for pointer in own) if is_shared else 0
    elif (stretch := stretch_of(row, loop)) is not None:
        is_own = any(p.indices and is_index_of(p.indices[-1], row) and _is_in_order(p) for p in elements)
        is_shared = is_own and not any(_is_in_column_of(pointer, row, loop) for pointer in elements)
        lanes = _lanes_of_rows(stretch.length, most) if is_shared else 0
    elif any(_is_in_row_of(pointer, row, loop, outer) for pointer in elements) and not any(
        _is_in_column_of(pointer, row, loop) for pointer in elements
    ):
        stretch = stretch_in(row, outer)
        lanes = _lanes_of_length(row, most) if stretch is None else _lanes_of_rows(stretch.length, most)
    else:
        lanes = 0
    return lanes if _most_rows(loop) * lanes <= MAX_ITERATIONS else 0


def _is_in_row_of(pointer: GlobalPtr, row: RangeFor, loop: RangeFor, outer: RangeFor | None) -> bool:
    """Return whether an element is in a row of its own of each iteration: neighbours are those of the next `row`.

    It may also be in one of several such rows, between bounds of `outer` that are read.
    """
    if not _is_in_order(pointer):
        return False
    before, last = pointer.indices[:-1], pointer.indices[-1:]
    own = [loop] if outer is None or not all(_is_read(b, loop) for b in (*outer.starts, *outer.ends)) else [loop, outer]
    is_own = any(_is_made_of(index, around) for index in before for around in own)
    is_row = is_own and any(_counts(index, row, loop) for index in last) and not _is_of_many(pointer, loop)
    return is_row or is_in_stretch(pointer, row, loop)


def _is_of_many(pointer: GlobalPtr, loop: RangeFor) -> bool:
    """Return whether many iterations certainly have the same row, whose number is a quotient or the like.

    Neighbours that have it load its elements together already. The light on 2,073,600 pixels, from lists of 3,456 parts
    of a picture, took an H200 1.41 ms with 32 threads a pixel.
    """
    before, shape = pointer.indices[:-1], pointer.array.shape
    is_sum = any(is_index_of(value, loop) for index in before for _, value in summands(index))
    return not is_sum and shape is not None and prod(shape[:-1]) * MANY_READERS < _most_rows(loop)


def _counts(index: Statement, row: RangeFor, loop: RangeFor) -> bool:
    """Return whether an index is that of a row, or is more than that by what all iterations add."""
    parts = [(sign, value) for sign, value in summands(index) if axes_in(value, row)]
    is_next = len(parts) == 1 and parts[0][0] > 0 and (is_index_of(parts[0][1], row) or is_fastest(parts[0][1], row))
    return is_next and not _is_made_of(index, loop)


def stretch_in(row: RangeFor, outer: RangeFor | None) -> Stretch | None:
    """Return the bounds of a row that is a part of a longer one, `for k in range(g * 64, (g + 1) * 64)`, in a loop."""
    return None if outer is None or len(outer.starts) > 1 else stretch_of(row, outer)


def _is_in_order(pointer: GlobalPtr) -> bool:
    """Return whether elements are in memory in the order of their last index; numbers may be short."""
    array = pointer.array
    is_field = is_field_in_order(array) or (is_alone(array) and isinstance(array.element, Scalar))
    return array.shape is None or is_field


def _is_in_column_of(pointer: GlobalPtr, row: RangeFor, loop: RangeFor) -> bool:
    """Return whether an element is one of a column, `b[k, j]`: neighbours are those of the next iterations.

    So are those of rows whose numbers are read, `w[rows[k], j]`. A sparse matrix, 100,000 rows of 16 entries, times one
    of 64 columns took an H200 .195 ms with four threads for each of these sums, and .068 with one.
    """
    if _is_far_apart(pointer, row, loop):
        return True
    is_next = any(_is_made_of(index, loop) for index in pointer.indices[-1:]) and not is_in_stretch(pointer, row, loop)
    if not is_next or any(_is_made_of(index, row) for index in pointer.indices):
        return is_next
    stored = {base_array(s.pointer) for s in walk(row.body) if isinstance(s, GlobalStore)}
    return pointer.array not in stored and any(_depends(index, row) for index in pointer.indices)


def _is_far_apart(pointer: GlobalPtr, row: RangeFor, loop: RangeFor) -> bool:
    """Return whether all iterations of the parallel loop load one element, and the threads of a row elements far apart.

    So for `w[k, e]` with `e` of another serial loop: one thread a row has it from a broadcast.
    """
    outer, last = pointer.indices[:-1], pointer.indices[-1:]
    shape, element = pointer.array.shape, pointer.array.element
    if (
        not last
        or any(_depends(index, loop) for index in pointer.indices)
        or any(_depends(index, row) for index in last)
    ):
        return False
    is_apart = shape is None or shape[-1] * element.size_bytes > NEAR_BYTES
    return is_apart and any(is_index_of(index, row) for index in outer)


def _lanes_of_length(row: RangeFor, most: int) -> int:
    """Return the threads of a row of an array, each of which has four elements if the length is known; 0 for none."""
    start, end = row.starts[0], _end_of(row)
    if not isinstance(start, Const) or int(start.value) < 0:
        return 0
    if not isinstance(end, Const):
        return min(most, LANES_OF_UNKNOWN) if isinstance(end, ArrayShape) or is_of_nest(end) else 0
    return _lanes_of_rows(int(end.value) - int(start.value), most)


def is_of_nest(end: Statement) -> bool:
    """Return whether a number is the product of lengths that the launch knows, as of loops that are one."""
    return isinstance(end, Operation) and end.op == "mul" and is_given(end)


def _lanes_of_rows(length: int | None, most: int) -> int:
    if length is None:
        return min(most, LANES_OF_UNKNOWN)
    lanes = most
    while lanes >= LANES and lanes * FEWEST > length:
        lanes //= 2
    return lanes if lanes >= LANES else 0


def _lanes_of_part(pointer: GlobalPtr, most: int) -> int:
    """Return the threads of the first part of a row whose length is read: on average it is half of the row."""
    shape = pointer.array.shape
    return _lanes_of_rows(None if shape is None else shape[-1] // 2, most)


def _lanes_between(pointer: GlobalPtr, loop: RangeFor, most: int) -> int:
    """Return the threads of a part of a row whose bounds are read: iterations with the same row have equal parts."""
    shape, own = pointer.array.shape, set[int]().union(*(axes_in(index, loop) for index in pointer.indices))
    parts = product_of([count_along(loop, axis) for axis in range(len(loop.starts)) if axis not in own])
    return _lanes_of_rows(None if shape is None or not parts else shape[-1] // parts, most)


def pays_for_vectors(row: RangeFor) -> bool:
    """Return whether to exchange vectors is worth it: rows are not short, or have large elements.

    Products of sparse matrices of 3 x 3 blocks, 200,000 rows of 9, with a vector took an H200 .054 ms, .037 with four
    threads a row. A mean of six neighbours, of which a row has only the numbers, is as fast with one.
    """
    pointers = [base_pointer(s.pointer) for s in walk(row.body) if isinstance(s, GlobalLoad)]
    own = [p.array for p in pointers if isinstance(p, GlobalPtr) and any(is_index_of(i, row) for i in p.indices)]
    return is_const(row.starts[0], 0) or any(array.element.size_bytes >= WIDE_BYTES for array in own)


def has_much_behind(body: Sequence[Statement], loops: Sequence[RangeFor], lanes: int) -> bool:
    """Return whether what one of the threads computes behind the loops takes much longer than the loops.

    40 steps of Newton's method for each of two sums of 128 numbers took an H200 .073 ms with 32 threads a row, and .013
    with one.
    """
    behind = body[body.index(loops[-1]) + 1 :]
    return _operations(behind) * lanes > MUCH * _operations(loops)


def _operations(statements: Sequence[Statement], depth: int = 8) -> int:
    """Return about how many operations statements are: those of loops and called functions as often as they run."""
    total = len(statements)
    for statement in statements if depth else ():
        bodies = [*blocks(statement), *([statement.function.body] if isinstance(statement, Call) else [])]
        inner = sum(_operations(body.statements, depth - 1) for body in bodies)
        count = trip_count(statement) if isinstance(statement, RangeFor) else None
        total += (count or USUAL_LENGTH if repeats(statement) else 1) * inner
    return total


def threads_of_block(loop: RangeFor, rows: Sequence[RangeFor]) -> int:
    """Return how many threads of a block should share each of a few long rows, 0 if none should."""
    count, lengths = _most_rows(loop) or _rows_of_arrays(loop, rows), [length_of(row, loop) for row in rows]
    if not 0 < count < MANY_ROWS or min(lengths) < LONG:
        return 0
    threads = MOST_THREADS
    while threads > LEAST_THREADS and (threads * count > BUSY or threads * ELEMENTS > min(lengths)):
        threads //= 2
    return threads


def _rows_of_arrays(loop: RangeFor, rows: Sequence[RangeFor]) -> int:
    """Return how many rows the arrays have of which each iteration of a loop reads one, 0 if that is not known.

    Projections of 2^18 numbers on the first k of 13 other vectors, `for j in range(k): for i in range(n): s += w[i]
    * v[j, i]`, took an H200 .19 ms with a warp each.
    """
    if len(loop.starts) > 1:
        return 0
    found = []
    for access in (s for row in rows for s in row.body if isinstance(s, GlobalLoad)):
        pointer = base_pointer(access.pointer)
        if isinstance(pointer, GlobalPtr) and pointer.array.shape is not None:
            pairs = zip(pointer.indices, pointer.array.shape, strict=True)
            found += [extent for index, extent in pairs if is_index_of(index, loop)]
    return min(found, default=0)


def length_of(row: RangeFor, loop: RangeFor) -> int:
    """Return the number of elements of a row, 0 if it is not known; of one in a branch, if that is taken."""
    start, end = row.starts[0], _end_of(row)
    if isinstance(start, Const) and isinstance(end, Const):
        return int(end.value) - int(start.value)
    stretch = stretch_of(row, loop)
    return 0 if stretch is None or stretch.is_cut else stretch.length or 0


def _end_of(row: RangeFor) -> Statement:
    """Return the end of a row; of one in a branch (`rows_in_branches`), if that is taken."""
    match row.ends[0]:
        case Operation(op="select", operands=[_, whole, none]) if none is row.starts[0]:
            return whole
    return row.ends[0]


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
