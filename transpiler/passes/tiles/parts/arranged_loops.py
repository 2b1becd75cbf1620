"""Loops arranged as those of a product of matrices, whose tiles `register_tiles` computes.

    for n, m, i, j in y {                               for m, n_i_j in 32, 8 * 64 * 64 {
        for c in 16, a in 3, b in 3 {                       n, i, j = n_i_j // (64 * 64), n_i_j // 64 % 64, n_i_j % 64
            s += x[n, c, i + a, j + b] * w[m, c, a, b]          for c_a_b in 16 * 3 * 3 {
        }                                           ->              c, a, b = c_a_b // 9, c_a_b // 3 % 3, c_a_b % 3
        y[n, m, i, j] = s                                           s += x[n, c, i + a, j + b] * w[m, c, a, b]
    }                                                           }
                                                                y[n, m, i, j] = s
                                                            }

Axes on which some loads depend, and others not, are those of rows and of columns; the others are those of a batch. A
row has one axis, the last of them, or all as one where that is too short for whole tiles. Loops that are directly in
each other become one, as far as their lengths are known; the order of the iterations stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, walk
from ....ir.statements import (
    ArgLoad,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalTemporary,
    LoopIndex,
    MatrixPtr,
    Operation,
    RangeFor,
    is_const,
    repeats,
)
from ....ir.tasks import Task
from ....ir.types import i32
from ...analysis.queries import computed_from, count_along, is_index_of, names_of
from ...rewrite import Rewriter
from .tiled_loops import add_bound, take_names

VALUES = (Const, Operation, Cast, LoopIndex, ArgLoad, ArrayShape)
"""Statements that may be computed again anywhere."""
PLACES = (GlobalPtr, GlobalTemporary, MatrixPtr)
"""Pointers to elements of arrays, and of what tasks before have computed."""
TILE, WORTH = 64, 0.8
"""The iterations of a tile, and which part of those of all tiles a loop has to have."""
MOST = 2**31 - 64
"""The most iterations of loops that are one."""


Arrangement = tuple[tuple[int, ...], ...]
"""Which axes of a parallel loop become which ones, in order: those of the batch, that of rows, that of columns."""


def arrangements_of(task: Task) -> list[Arrangement]:
    """Return how the axes of a task may become those of a product of matrices, best first; nothing if it is none."""
    loop = task.loop
    if loop is None or len(loop.starts) < 2 or loop.cells is not None or not all(is_const(s, 1) for s in loop.steps):
        return []
    serial = [s for s in task.body.statements if repeats(s)]
    groups = _groups(loop, serial[0]) if len(serial) == 1 and isinstance(serial[0], RangeFor) else None
    if groups is None:
        return []
    rows, columns = groups
    last = len(loop.starts) - 1
    if last not in columns and not _are_known(loop, range(last + 1)):
        return []  # neighbouring threads would store far from each other where the loop has no tiles
    found = []
    for own in ((_joined(loop, rows), _joined(loop, columns)), ((rows[-1],), (columns[-1],))):
        batch = [(axis,) for axis in range(last + 1) if not any(axis in axes for axes in own)]
        found.append((*batch, *own))
    return list(dict.fromkeys(found))


def _groups(loop: RangeFor, serial: RangeFor) -> tuple[list[int], list[int]] | None:
    """Return the axes on which some loads depend and others do not: of rows and of columns."""
    used = [axes for axes in _axes_of_loads(loop, serial) if axes]
    if len(used) < 2:
        return None
    batch = set.intersection(*used)
    groups: list[set[int]] = []
    for own in (axes - batch for axes in used):
        together = [group for group in groups if group & own]
        if own:
            groups = [group for group in groups if group not in together] + [own.union(*together)]
    if len(groups) != 2:
        return None
    rows, columns = sorted((sorted(group) for group in groups), key=max)
    return rows, columns


def _axes_of_loads(loop: RangeFor, serial: RangeFor) -> Iterator[set[int]]:
    """Yield the axes of the parallel loop on which each load of a serial loop depends."""
    for statement in walk(serial.body):
        if isinstance(statement, GlobalLoad) and isinstance(statement.pointer, PLACES):
            yield {s.axis for s in computed_from(statement.pointer) if is_index_of(s, loop)}


def _joined(loop: RangeFor, axes: Sequence[int]) -> tuple[int, ...]:
    """Return which of the axes become one: the last, or all if that is too short."""
    length = count_along(loop, axes[-1])
    if length is None or not _are_known(loop, axes) or _part_of_tiles(length) >= WORTH:
        return (axes[-1],)
    return tuple(axes)


def _are_known(loop: RangeFor, axes: Iterable[int]) -> bool:
    """Return whether all of the axes have constant bounds, from 0 on."""
    return all(is_const(loop.starts[axis], 0) and isinstance(loop.ends[axis], Const) for axis in axes)


def _part_of_tiles(length: int) -> float:
    return length / max(1, -(-length // TILE) * TILE)


def arrange_axes(task: Task, arrangement: Arrangement) -> None:
    """Give the parallel loop of a task the axes of a product of matrices."""
    loop = task.loop
    assert loop is not None
    axes = arrangement
    if axes == tuple((axis,) for axis in range(len(loop.starts))):
        return
    names = take_names(task)
    lengths = [count_along(loop, axis) for axis in range(len(names))]
    bounds = [
        tuple(values[axes_of[0]] for values in (loop.starts, loop.ends, loop.steps))
        if len(axes_of) == 1
        else tuple(add_bound(task, bound) for bound in (0, prod(lengths[axis] or 0 for axis in axes_of), 1))
        for axes_of in axes
    ]
    loop.starts, loop.ends, loop.steps = (list(values) for values in zip(*bounds, strict=True))
    loop.names = ["_".join(names[axis] for axis in axes_of) for axes_of in axes]
    builder = Builder(Block(), loop.location)
    indices: dict[int, Statement] = {}
    for position, axes_of in enumerate(axes):
        index = builder.add(LoopIndex(loop, position, type=i32))
        counts = [lengths[axis] or 0 for axis in axes_of]
        indices |= dict(zip(axes_of, _components(builder, index, counts, [names[axis] for axis in axes_of])))
    own = set(builder.block.statements)

    def rule(rewriter: Rewriter, value: Statement) -> Statement | None:
        return indices[value.axis] if is_index_of(value, loop) and value not in own else None

    Rewriter({LoopIndex: rule}).block(task.body)
    task.body.statements[:0] = builder.block.statements


def _components(builder: Builder, index: Statement, counts: Sequence[int], names: Sequence[str]) -> Iterator[Statement]:
    """Yield the indices of loops that have become one, each of so many iterations."""
    for position, name in enumerate(names):
        value, faster = index, prod(counts[position + 1 :])
        if faster > 1:
            value = builder.op("floordiv", value, builder.const(faster))
        if position > 0:
            value = builder.op("mod", value, builder.const(counts[position]))
        if value is not index:
            value.name = name
        yield value


# --- the serial loops -------------------------------------------------------------------------------------------------


def join_serial_loops(task: Task) -> None:
    """Let loops that are directly in each other be one, if it is the only one of a task."""
    serial = [s for s in task.body.statements if repeats(s)]
    if len(serial) != 1 or not isinstance(serial[0], RangeFor):
        return
    outer = serial[0]
    loops = [outer]
    while (inner := _only_loop(loops[-1])) is not None:
        loops.append(inner)
    axes = [(loop, axis) for loop in loops for axis in range(len(loop.starts))]
    counts = [count_along(loop, axis) for loop, axis in axes]
    if len(axes) < 2 or not all(_starts_at_zero(loop) for loop in loops):
        return
    if any(count is None for count in counts[1:]) or prod(count or 1 for count in counts) > MOST:
        return
    known = [count or 0 for count in counts]
    _join(task, outer, loops, known)


def _starts_at_zero(loop: RangeFor) -> bool:
    is_plain = loop.cells is None and not loop.order
    return is_plain and all(is_const(s, 0) for s in loop.starts) and all(is_const(s, 1) for s in loop.steps)


def _only_loop(loop: RangeFor) -> RangeFor | None:
    """Return the loop that is all that an iteration does, but for values."""
    inner = [s for s in loop.body.statements if not isinstance(s, VALUES)]
    return inner[0] if len(inner) == 1 and isinstance(inner[0], RangeFor) else None


def _join(task: Task, outer: RangeFor, loops: Sequence[RangeFor], counts: Sequence[int]) -> None:
    """Replace loops by one. counts: of all axes; that of the first may be unknown, 0."""
    before = Builder(Block(), outer.location)
    end = before.again(outer.ends[0])
    faster = prod(counts[1:])
    if isinstance(end, Const):
        end = before.const(counts[0] * faster)
    elif faster != 1:
        end = before.op("mul", end, before.const(faster))
    names = [name for loop in loops for name in names_of(loop)]
    joined = RangeFor([before.const(0)], [end], [before.const(1)], ["_".join(names)], location=outer.location)
    joined.remarks = outer.remarks
    builder = Builder(joined.body, outer.location)
    index = builder.add(LoopIndex(joined, type=i32))
    values = list(_components(builder, index, counts, names))
    places = {(loop, axis): value for (loop, axis), value in zip(_axes(loops), values, strict=True)}
    for loop in loops[:-1]:
        joined.body.statements += [s for s in loop.body if isinstance(s, VALUES)]
    joined.body.statements += loops[-1].body.statements

    def rule(rewriter: Rewriter, value: Statement) -> Statement | None:
        assert isinstance(value, LoopIndex)
        return places.get((value.loop, value.axis)) if isinstance(value.loop, RangeFor) else None

    Rewriter({LoopIndex: rule}).block(joined.body)
    task.body.replace(outer, [*before.block, joined])


def _axes(loops: Iterable[RangeFor]) -> Iterator[tuple[RangeFor, int]]:
    for loop in loops:
        for axis in range(len(loop.starts)):
            yield loop, axis
