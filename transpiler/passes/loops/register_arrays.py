"""Unrolls the loops that alone index a local array, so that compilers for GPUs keep the array in registers.

    w = [0] * 64                                    w = [0] * 64
    for t in 16 .. 64 {                             unroll all: for t in 16 .. 64 {
        w[t] = w[t - 16] + f(w[t - 2])     ->           w[t] = w[t - 16] + f(w[t - 2])
    }                                               }

An index that is no number after unrolling forces an array into memory. Compilers unroll short loops by themselves,
and guess about others: SHA-256 of 2^18 blocks took an H200 .081 ms before and .031 ms after, on Vulkan; with `w[t &
15]` .092 ms before and .022 ms after, on CUDA.

Loops inside of such a loop may be up to its index, as in decompositions of small matrices:

    for k in 8 { for i in k .. 24 { s += a[i, k] * a[i, k] } }

Householder's QR of 65,536 matrices of 24 x 8, one a thread, took .333 ms before and .027 ms after, on CUDA (Taichi:
.22).

Few elements with one computed index, as rows of pivots, are chosen by comparisons with all indices of the axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...ir.functions import Call, Function
from ...ir.nodes import Block, Statement, blocks, operands, users_of, walk
from ...ir.statements import ALL, Alloca, Const, MatrixPtr, Operation, RangeFor, base_pointer
from ...ir.tasks import Kernel, Task
from ...ir.types import Tensor, i32
from ...lazy_dataclasses import dataclass
from ..analysis.linear import Linear, Reader
from ..analysis.queries import leaves_block
from ..context import PassContext
from .parts.selected_elements import accesses_of, is_worth_selections, may_select, select_elements

FEWEST, MOST = 3, 224
"""The fewest numbers of an array, and the most of all arrays of a task: compilers do what is needed for fewer, and a
thread has up to 255 registers."""
LONGEST = 64
"""The most iterations of a loop that is unrolled."""
MOST_STATEMENTS = 16384
"""The most statements in all copies of the bodies of a task's loops."""


def register_arrays(kernel: Kernel, context: PassContext) -> bool:
    """Mark such loops of GPUs whose compilers leave them alone, and choose elements at computed indices there."""
    if not context.capabilities.leaves_arrays_in_memory or context.options.debug:
        return False
    changed = [_in_task(task) for task in kernel.tasks if task.loop is not None]
    return any(changed)


def _in_task(task: Task) -> bool:
    """Mark the loops of a task whose indices are those of its arrays, and choose elements at few other indices."""
    inside = list(walk(task.body))
    reader = Reader(set(inside), {}, scales=True)
    short = _short_loops([s for s in inside if isinstance(s, RangeFor)], reader)
    unrolled = {s for s in inside if isinstance(s, RangeFor) and s.unroll}
    known = {*short, *unrolled}
    loops_of: dict[Alloca, set[Statement]] = {}
    refused: set[Alloca] = set()
    computed: dict[Alloca, dict[MatrixPtr, int]] = {}
    users = users_of(inside)
    for pointer in [s for s in inside if isinstance(s, MatrixPtr)]:
        array = base_pointer(pointer)
        if not isinstance(array, Alloca) or pointer.origin is not array or not isinstance(array.type, Tensor):
            continue
        found = _loops_in(pointer.indices, reader)
        if found is None and (axis := _computed_axis(pointer, reader)) is not None:
            if may_select(pointer, axis, users.get(pointer, ())):
                computed.setdefault(array, {})[pointer] = axis
                found = _loops_in([*pointer.indices[:axis], *pointer.indices[axis + 1 :]], reader)
        if found is None or not found <= known:
            refused.add(array)
        else:
            loops_of.setdefault(array, set()).update(found - unrolled)
    refused |= _not_selected(task, computed, {loop: short[loop].trips for loop in short})
    arrays = [
        array
        for array, found in loops_of.items()
        if (found or array in computed) and array not in refused and _size(array) >= FEWEST
    ]
    marked = {loop for array in arrays for loop in loops_of[array]}
    while around := {outer for loop in marked for outer in short[loop].around} - marked - unrolled:
        marked |= around
    trips = {loop: short[loop].trips for loop in marked}
    if (
        not (marked or any(array in computed for array in arrays))
        or sum(map(_size, arrays)) > MOST
        or _copies(task.body, trips, {}) > MOST_STATEMENTS
    ):
        return False
    for loop in marked:
        assert isinstance(loop, RangeFor)
        loop.unroll_count = ALL
    selected = {pointer: axis for array in arrays for pointer, axis in computed.get(array, {}).items()}
    select_elements(task.body, selected)
    return True


def _not_selected(
    task: Task, computed: Mapping[Alloca, Mapping[MatrixPtr, int]], trips: Mapping[Statement, int]
) -> set[Alloca]:
    """Return the arrays with computed indices for which comparisons would cost more than memory."""
    if not computed:
        return set()
    accesses: dict[Alloca, dict[Statement, int]] = {array: {} for array in computed}
    for array, access, count in accesses_of(task.body, trips):
        if array in accesses:
            accesses[array][access] = count
    return {array for array in computed if not is_worth_selections(accesses[array], computed[array])}


def _computed_axis(pointer: MatrixPtr, reader: Reader) -> int | None:
    """Return the axis of the only index that is neither a number nor of loops, None if there are several."""
    found = [axis for axis, index in enumerate(pointer.indices) if _loops_in([index], reader) is None]
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class _Short:
    """A loop with few iterations.

    around: the loops whose indices are in its bounds. ranges: the least and the greatest index of each axis.
    trips: of one run, about half of the most if that depends on other loops.
    """

    around: frozenset[Statement]
    ranges: tuple[tuple[int, int], ...]
    trips: int


def _short_loops(loops: Sequence[RangeFor], reader: Reader) -> dict[Statement, _Short]:
    """Return the loops that may be unrolled, from the outermost on."""
    found: dict[Statement, _Short] = {}
    for loop in loops:
        if (short := _short(loop, reader, found)) is not None:
            found[loop] = short
    return found


def _short(loop: RangeFor, reader: Reader, known: Mapping[Statement, _Short]) -> _Short | None:
    """Return a loop with few iterations, all of which run, up to numbers or indices of such loops; None for others."""
    if loop.unroll_count or any(leaves_block(s) for s in loop.body):
        return None
    around, ranges, trips = set[Statement](), list[tuple[int, int]](), 1
    for bounds in zip(loop.starts, loop.ends, loop.steps, strict=True):
        start, end, step = map(reader.read, bounds)
        if start is None or end is None or step is None or start.values or end.values or not step.number:
            return None
        outer = {other for other, _ in (*start.indices, *end.indices)}
        if not outer <= known.keys() or (outer and step.number != 1):
            return None
        least, greatest = (_range_of(bound, known) for bound in (start, end))
        ranges.append((least[0], greatest[1] - 1) if step.number > 0 else (greatest[0] + 1, least[1]))
        most = len(range(0, ranges[-1][1] - ranges[-1][0] + 1, abs(step.number)))
        if not 0 < most <= LONGEST:
            return None
        around |= outer
        trips *= (most + 1) // 2 if outer else most
    return _Short(frozenset(around), tuple(ranges), trips)


def _range_of(bound: Linear, known: Mapping[Statement, _Short]) -> tuple[int, int]:
    """Return the least and the greatest number that a bound is."""
    ends = [tuple(count * n for n in known[loop].ranges[axis]) for (loop, axis), count in bound.indices.items()]
    return bound.constant + sum(map(min, ends)), bound.constant + sum(map(max, ends))


def _loops_in(indices: Iterable[Statement], reader: Reader) -> set[Statement] | None:
    """Return the loops whose indices are in those of an element, None if something else is that is no number."""
    found: set[Statement] = set()
    rest = list(indices)
    while rest:
        index = rest.pop()
        if isinstance(index, Const):
            continue
        linear = reader.read(index)
        if linear is not None and not linear.values:
            found.update(loop for loop, _ in linear.indices)
        elif isinstance(index, Operation) and index.type == i32:  # as `t & 15` of a buffer that is used again
            rest += operands(index)
        else:
            return None
    return found


def _size(array: Alloca) -> int:
    assert isinstance(array.type, Tensor)
    return array.type.size


def _copies(block: Block, trips: Mapping[Statement, int], known: dict[Function, int]) -> int:
    """Return how many operations a block has once loops in it are unrolled, and its calls inlined but of a function by
    itself. trips: of these loops. known: of the functions that have been asked for.
    """
    total = 0
    for statement in block:
        inner = sum(_copies(body, trips, known) for body in blocks(statement))
        if isinstance(statement, Call):
            if statement.function not in known:
                known[statement.function] = 0
                known[statement.function] = _copies(statement.function.body, trips, known)
            inner += known[statement.function]
        total += trips.get(statement, 1) * inner + bool(operands(statement))
    return total
