"""Loop flattening: nests of serial loops become one loop each, so that threads may share all of its iterations.

    for n in N {                                  for n_i_j in lane .. N * H * W step 1024 {
        for i in H {                                  n, i_j = n_i_j // (H * W), n_i_j % (H * W)
            for j in W { s += x[n, c, i, j] }  ->     s += x[n, c, 0, i_j]
        }                                         }
    }

Loops over neighbouring axes of arrays whose extents they have, as `i` and `j` here, are one axis: the rows of a plane
follow each other in memory, so that element `i_j` of the first row is that of all of them. The other indices are
quotients and remainders.

In: a task, which is changed. Out: what is known of its nests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

from ....ir.builder import Builder
from ....ir.elements.own_memory import is_alone
from ....ir.nodes import Block, Remark, Statement, walk
from ....ir.origins import NAMED, PYTHON, literal, operation
from ....ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LoopIndex,
    Operation,
    RangeFor,
    is_const,
    repeats,
)
from ....ir.tasks import AtLeast, AtMost, Condition, Length, Task
from ....ir.types import i32
from ....lazy_dataclasses import dataclass
from ....options import MAX_ITERATIONS
from ...analysis.loops.stretches import difference, interval_in
from ...analysis.queries import given_length, is_dense, is_index_of, names_of
from ...analysis.value_ranges import I32_MAX
from ...loops.parts.nests import nest_of
from ...rewrite import Rewriter
from ...tiles.parts.tiled_loops import replace_indices
from .first_lane import users_in
from .row_lengths import is_of_nest

PURE = (Const, Operation, Cast, LoopIndex, ArgLoad, ArrayShape, GlobalPtr)
"""Statements that may be computed again in each iteration of a loop inside."""
SPARE = 1 << 10
"""By how much the number of iterations is below the greatest number: the threads of a block count further."""


@dataclass(frozen=True, slots=True)
class Flat:
    """What is known of the nests of a task that are loops of one axis.

    divides: whether an iteration divides to find its indices.
    lengths, known: of the longest: what only the launch knows, and the product of all other lengths.
    conditions: which hold if all iterations can be counted.
    """

    divides: bool
    lengths: tuple[Length, ...]
    known: int
    conditions: list[Condition]


def has_nests(task: Task) -> bool:
    """Return whether a task may have nests that can be loops of one axis, and no product as an end of another loop."""
    loops = [s for s in walk(task.body) if isinstance(s, RangeFor)]
    if any(is_of_nest(end) for loop in loops for end in loop.ends):
        return False
    return any(isinstance(s, RangeFor) and (len(s.starts) > 1 or _only_loop(s) is not None) for s in task.body)


def flatten(task: Task, name: str = "shared_rows") -> Flat | None:
    """Let nests of serial loops be one loop each; None if one has none or too many iterations.

    name: of the pass.
    """
    lengths, known, conditions, divides = tuple[Length, ...](), 0, list[Condition](), False
    for statement in list(task.body):
        nest = _nest_of(_with_single_axes(statement, task.body, task.loop))
        if not nest:
            continue
        found = [_length_of(loop) for loop in nest]
        unknown = tuple(length for length in found if isinstance(length, Length))
        product = prod(length for length in found if isinstance(length, int))
        if not 0 < product <= MAX_ITERATIONS - SPARE:
            return None
        groups = _groups(nest)
        divides |= len(groups) > 1
        _flatten(task, nest, groups, name)
        if unknown:
            conditions.append(AtMost(unknown, (MAX_ITERATIONS - SPARE) // product))
            signed = [each for each in unknown if each.padding or not isinstance(each.of, Array)]
            conditions += [AtLeast((length,), 0) for length in signed]
        if (len(unknown), product) > (len(lengths), known):
            lengths, known = unknown, product
    return Flat(divides, lengths, known, conditions)


# --- which loops ------------------------------------------------------------------------------------------------------


def _with_single_axes(statement: Statement, block: Block, around: RangeFor | None) -> Statement:
    """Return a statement of a block with loops of one axis each in place of those that are directly in each other, from
    numbers on. around: the parallel loop."""
    if not isinstance(statement, RangeFor) or not _is_usual(statement):
        return statement
    outer = innermost = statement
    if len(statement.starts) > 1:
        outer, *_, innermost = nest_of(statement)
        outer.remarks = statement.remarks
        block.replace(statement, [outer])
    elif around is not None:
        _count_from_zero(statement, block, around)
    inner = _only_loop(innermost)
    if inner is not None:
        _with_single_axes(inner, innermost.body, around)
    return outer


def _is_usual(loop: RangeFor) -> bool:
    return loop.cells is None and not loop.order and not loop.unroll_count and not loop.unroll


def _count_from_zero(loop: RangeFor, block: Block, around: RangeFor) -> None:
    """Let a loop count from 0 whose start is computed from indices of a parallel loop, if it is as long in all of its
    iterations: `range(g * 8, g * 8 + 8)`."""
    start, end = loop.starts[0], loop.ends[0]
    if isinstance(start, Const) or not _is_computed(start, around):
        return
    length = difference(end, start, around)
    if length is None or length <= 0 or interval_in(start, around)[1] + length > I32_MAX:
        return
    builder = Builder(Block(), loop.location)
    index = builder.op("add", builder.again(start), builder.add(LoopIndex(loop, type=i32)))
    index.name = names_of(loop)[0]
    replace_indices(loop.body, loop, {0: index})
    loop.body.statements[:0] = builder.block.statements
    number = Builder(Block(), loop.location)
    loop.starts, loop.ends = [number.const(0)], [number.const(length)]
    loop.names = ["offset"]
    block.insert_before(loop, number.block)


def _is_computed(value: Statement, around: RangeFor) -> bool:
    """Return whether a number is computed from indices of a loop and what the launch knows."""
    if isinstance(value, Operation):
        return all(_is_computed(operand, around) for operand in value.operands)
    return isinstance(value, (Const, ArgLoad, ArrayShape)) or is_index_of(value, around)


def _nest_of(statement: Statement) -> list[RangeFor]:
    """Return loops that are directly in each other, the outermost first; [] if there are not several."""
    loops: list[RangeFor] = []
    inner: Statement | None = statement
    while isinstance(inner, RangeFor) and _is_plain(inner):
        loops.append(inner)
        inner = _only_loop(inner)
    if len(loops) < 2:
        return []
    stores = any(isinstance(s, (GlobalStore, AtomicOp)) for s in walk(loops[0].body))
    loads = any(isinstance(s, GlobalLoad) for loop in loops[:-1] for s in loop.body)
    return [] if stores and loads else loops


def _is_plain(loop: RangeFor) -> bool:
    """Return whether a loop counts from a number by one to what is the same in all iterations around it."""
    is_single = _is_usual(loop) and len(loop.starts) == 1 and loop.starts[0].type == i32 and is_const(loop.steps[0], 1)
    return is_single and isinstance(loop.starts[0], Const) and _length_of(loop) is not None


def _length_of(loop: RangeFor) -> int | Length | None:
    start, end = loop.starts[0], loop.ends[0]
    assert isinstance(start, Const)
    if isinstance(end, Const):
        return max(int(end.value) - int(start.value), 0)
    length = given_length(end)
    return None if length is None else Length(length.axis, length.of, -int(start.value))


def _only_loop(loop: RangeFor) -> Statement | None:
    """Return the loop that is all that an iteration does, but for values and loads."""
    inner = [s for s in loop.body if not isinstance(s, (*PURE, GlobalLoad))]
    return inner[0] if len(inner) == 1 and repeats(inner[0]) else None


def _groups(nest: Sequence[RangeFor]) -> list[list[RangeFor]]:
    """Return which loops of a nest are one axis of all arrays."""
    groups = [[nest[0]]]
    for loop in nest[1:]:
        if _is_one_axis([*groups[-1], loop], nest[0]):
            groups[-1].append(loop)
        else:
            groups.append([loop])
    return groups


def _is_one_axis(group: Sequence[RangeFor], outermost: RangeFor) -> bool:
    """Return whether the indices of some loops are always those of neighbouring axes with their extents."""
    users = users_in(outermost.body)
    indices = [s for s in walk(outermost.body) if isinstance(s, LoopIndex) and s.loop in group]
    pointers = dict.fromkeys(user for index in indices for user in users.get(index, ()))
    return bool(pointers) and all(isinstance(p, GlobalPtr) and _axis_of(p, group) is not None for p in pointers)


def _axis_of(pointer: GlobalPtr, group: Sequence[RangeFor]) -> int | None:
    """Return the first of the axes that loops run over, None if these are not all, one after another, and whole."""
    array = pointer.array
    if pointer.cell is not None or pointer.lanes > 1 or pointer.is_flat or not _is_in_order(array):
        return None
    if not all(is_const(loop.starts[0], 0) for loop in group):
        return None
    loops = [index.loop if isinstance(index, LoopIndex) else None for index in pointer.indices]
    own = [axis for axis, loop in enumerate(loops) if loop in group]
    if [loops[axis] for axis in own] != list(group) or own != list(range(own[0], own[0] + len(own))):
        return None
    pairs = zip(own[1:], group[1:], strict=True)
    return own[0] if all(_has_extent(loop.ends[0], array, axis) for axis, loop in pairs) else None


def _is_in_order(array: Array) -> bool:
    is_field = array.shape is not None and is_alone(array)
    is_ndarray = array.shape is None and is_dense(array)
    return (is_field or is_ndarray) and not (array.offset or array.clamped or array.strided or array.is_shared)


def _has_extent(end: Statement, array: Array, axis: int) -> bool:
    if array.shape is not None:
        return is_const(end, array.shape[axis])
    return isinstance(end, ArrayShape) and end.array is array and end.axis == axis


# --- one loop ---------------------------------------------------------------------------------------------------------


def _flatten(task: Task, nest: Sequence[RangeFor], groups: Sequence[Sequence[RangeFor]], name: str) -> None:
    """Replace the loops of a nest by one, whose iterations have the same order."""
    outer = nest[0]
    before = Builder(Block(), outer.location)
    end, zero = _product(before, nest), before.const(0)
    names = ["_".join(names_of(loop)[0] for loop in group) for group in groups]
    flat = RangeFor([zero], [end], [before.const(1)], ["_".join(names)], location=outer.location)
    flat.remarks = (*outer.remarks, Remark(f"{_note(groups)} ({name})", "above", outer.location))
    builder = Builder(flat.body, outer.location)
    index = builder.add(LoopIndex(flat, type=i32))
    places = list(_components(builder, index, groups, names))
    for loop in nest[:-1]:
        flat.body.statements += [s for s in loop.body if isinstance(s, (*PURE, GlobalLoad))]
    flat.body.statements += nest[-1].body.statements
    values: dict[RangeFor, Statement] = {loop: zero for group in groups for loop in group[:-1]}
    values |= {group[-1]: place for group, place in zip(groups, places, strict=True)}

    def rule(rewriter: Rewriter, value: Statement) -> Statement | None:
        assert isinstance(value, LoopIndex)
        return values.get(value.loop) if isinstance(value.loop, RangeFor) else None

    Rewriter({LoopIndex: rule}).block(flat.body)
    zero.name = ""
    task.body.replace(outer, [*before.block, flat])


def _note(groups: Sequence[Sequence[RangeFor]]) -> str:
    """Return what is said of a loop in place of several."""
    names = [[names_of(loop)[0] for loop in group] for group in groups]
    merged = [each for each in names if len(each) > 1]
    every = _listed([name for each in names for name in each])
    planes = " and ".join(_listed(each) for each in merged)
    if not merged:
        return f"{every} are one loop"
    one = "are one index" if len(groups) == 1 else f"are one loop, {planes} one index"
    return f"{every} {one}: rows follow each other"


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _components(
    builder: Builder, index: Statement, groups: Sequence[Sequence[RangeFor]], names: Sequence[str]
) -> Iterator[Statement]:
    """Yield the index of each axis."""
    for position, (group, name) in enumerate(zip(groups, names, strict=True)):
        faster = [loop for other in groups[position + 1 :] for loop in other]
        value = builder.op("plain_div", index, _product(builder, faster)) if faster else index
        if position > 0:
            value = builder.op("plain_mod", value, _product(builder, group))
        start = group[0].starts[0]
        if not is_const(start, 0):
            value = builder.op("add", builder.again(start), value)
        if value is not index:
            value.name = name
        yield value


def _product(builder: Builder, loops: Sequence[RangeFor]) -> Statement:
    """Return the product of the lengths of loops."""
    lengths = [_length(builder, loop) for loop in loops]
    return reduce(lambda one, other: _computed(builder, "mul", one, other), lengths)


def _length(builder: Builder, loop: RangeFor) -> Statement:
    start, end = (builder.again(bound) for bound in (loop.starts[0], loop.ends[0]))
    return end if is_const(start, 0) else _computed(builder, "sub", end, start)


def _computed(builder: Builder, op: str, one: Statement, other: Statement) -> Statement:
    """Return a product or a difference, which remembers of what it is made if it is a constant."""
    if not isinstance(one, Const) or not isinstance(other, Const):
        return builder.op(op, one, other)
    number = int(PYTHON[op](int(one.value), int(other.value)))
    parts = tuple(each.origin or literal(each.value, i32) for each in (one, other))
    is_named = any(each.origin is not None and (op == "mul" or each.origin.op == NAMED) for each in (one, other))
    return builder.add(Const(number, operation(op, parts, number, i32) if is_named else None, type=i32))
