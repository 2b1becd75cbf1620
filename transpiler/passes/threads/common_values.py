"""Values that iterations along an axis of a parallel loop have in common: a task before the loop computes them once.

    for b, o in y {                                 for b, i in 4096, 64 {
        for i in 64 {                                   n = bases(x[b, i])
            n = bases(x[b, i])                          for k in 8 { n_of_b_i[b, i * 8 + k] = n[k] }
            for k in 8 {                      ->    }
                s += n[k] * c[o, i, k]              for b, o in y {
            }                                           for i in 64, k in 8 { s += n_of_b_i[b, i * 8 + k] * c[o, i, k] }
        }                                               y[b, o] = s
        y[b, o] = s                                 }
    }

The loop computed `bases` for each `o` again. Each iteration computes such a value, in no branch, so that the task
before it loads what the loop would load. What is left may be a product of matrices (`register_tiles`). The results are
those of the loop, to the bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from math import prod
from operator import attrgetter

from ...ir.builder import Builder
from ...ir.constants import constant_range
from ...ir.functions import Call
from ...ir.nodes import Block, Statement, clone, operands, reads, replace_uses, walk, walk_blocks
from ...ir.statements import (
    Const,
    GlobalTemporary,
    LoopIndex,
    MatrixElement,
    Operation,
    RangeFor,
    Temporary,
)
from ...ir.tasks import Kernel, Task, TaskKind
from ...ir.types import Scalar, Tensor, i32
from ...lazy_dataclasses import dataclass
from ..analysis.queries import names_of
from ..context import PassContext
from ..tasks.parts.copies import put_in_place
from .parts.repeated_values import LEAST_OF_NUMBER, MOST_NUMBERS, Axis, Repeated, extent_of, repeated_values

WORDS = {"add": "sum", "sub": "difference", "mul": "product", "div": "quotient"}
"""What values of operations are called."""
MOST_WHOLE = 16
"""The most numbers of a value that the loop needs as a whole."""


def common_values(kernel: Kernel, context: PassContext) -> bool:
    """Compute such values of the loops of GPUs in tasks before them."""
    if not context.capabilities.has_warps or context.options.own_templates:
        return False
    changed = False
    for task in list(kernel.tasks):
        groups: dict[tuple[Axis, ...], list[_Stored]] = defaultdict(list)
        for repeated in repeated_values(task):
            stored = _stored(task, repeated)
            if stored is not None:
                kernel.temporaries.append(stored.memory)
                groups[stored.axes].append(stored)
        if groups:
            put_in_place(kernel, task, [*(_task_before(task, group) for group in groups.values()), task])
            for stored in chain.from_iterable(groups.values()):
                _load(task, stored)
            changed = True
    return changed


@dataclass(eq=False, slots=True)
class _Stored:
    """A value that crosses tasks.

    axes: on which it depends. numbers: that the loop needs. is_whole: as one value, not one by one.
    groups: the axes that are one index in memory: those of the parallel loop, `own`, and others, with the numbers.
    """

    value: Statement
    axes: tuple[Axis, ...]
    numbers: int
    is_whole: bool
    groups: list[list[Axis]]
    memory: Temporary
    own: RangeFor | None


def _stored(task: Task, repeated: Repeated) -> _Stored | None:
    """Return how a value is stored, None if it is not made of numbers, or of too many."""
    value, kind, axes = repeated.value, repeated.value.type, repeated.axes
    if not isinstance(kind, (Scalar, Tensor)):
        return None
    element, numbers = (kind, 1) if isinstance(kind, Scalar) else (kind.element, kind.size)
    users = [s for s in walk(task.body) if value in reads(s)]  # it may be what a choice results in
    is_whole = not all(map(_is_element, users))
    if isinstance(kind, Tensor) and len(kind.shape) == 1 and not is_whole:
        numbers = max(map(_end_of, users))
    if element.bits < 32 or (is_whole and numbers > MOST_WHOLE) or repeated.cost < numbers * LEAST_OF_NUMBER:
        return None
    if repeated.entries * numbers > MOST_NUMBERS:
        return None
    own = [axis for axis in axes if axis[0] is task.loop]
    inner = [axis for axis in axes if axis not in own]
    groups = [own, inner] if inner or numbers > 1 else [own]
    shape = [prod(map(extent_of, group)) * (numbers if group is inner else 1) for group in groups]
    if axes[0] in inner:
        groups.reverse()
        shape.reverse()
    names = "_".join(names_of(loop)[axis] for loop, axis in axes)
    memory = Temporary(f"{_word_for(value)}_of_{names}", Tensor(tuple(shape), element))
    return _Stored(value, axes, numbers, is_whole, groups, memory, task.loop)


def _word_for(value: Statement) -> str:
    """Return what a value is: the name of its variable, or of the function that it is of."""
    if isinstance(value, Call):
        return value.name or value.function.name
    return value.name or (WORDS.get(value.op, value.op) if isinstance(value, Operation) else "value")


def _is_element(user: Statement) -> bool:
    return isinstance(user, MatrixElement) and all(_end_of_index(index) is not None for index in user.indices)


def _end_of(user: Statement) -> int:
    assert isinstance(user, MatrixElement)
    return max(_end_of_index(index) or 0 for index in user.indices)


def _end_of_index(index: Statement) -> int | None:
    """Return the number behind the greatest one that an index may be, None if that is not known."""
    if isinstance(index, Const):
        return int(index.value) + 1
    if isinstance(index, LoopIndex) and isinstance(index.loop, RangeFor):
        indices = constant_range(index.loop, index.axis)
        return max(indices) + 1 if indices else None
    return None


# --- the tasks --------------------------------------------------------------------------------------------------------


def _task_before(task: Task, group: Sequence[_Stored]) -> Task:
    """Return a task that computes values with the same axes."""
    axes, prologue = group[0].axes, Builder(Block(), task.location)
    starts, ends, steps = (
        [prologue.again(bounds(loop)[axis]) for loop, axis in axes]
        for bounds in (attrgetter("starts"), attrgetter("ends"), attrgetter("steps"))
    )
    names = [names_of(loop)[axis] for loop, axis in axes]
    loop = RangeFor(starts, ends, steps, names, location=group[0].value.location)
    builder = Builder(loop.body, loop.location)
    indices: dict[Axis, Statement] = {a: builder.add(LoopIndex(loop, n, type=i32)) for n, a in enumerate(axes)}
    mapping: dict[Statement, Statement] = {}
    for stored in group:
        value = _computed(builder, stored.value, indices, mapping)
        if isinstance(value.type, Scalar):
            builder.store(_place(builder, stored, indices), value)
        else:
            _store_numbers(builder, stored, indices, value)
    made = Task(task.name, TaskKind.RANGE_FOR, loop.body, prologue.block, loop, location=task.location)
    own = task.loop
    assert own is not None
    others = ", ".join(name for axis, name in enumerate(names_of(own)) if (own, axis) not in axes)
    words = ", ".join(dict.fromkeys(_word_for(stored.value) for stored in group))
    made.launches = f"{words} for all {others} (common_values)"
    return made


def _store_numbers(builder: Builder, stored: _Stored, indices: Mapping[Axis, Statement], value: Statement) -> None:
    """Store the numbers of a vector or matrix."""
    kind = value.type
    assert isinstance(kind, Tensor)
    loops = [(stored.numbers, "k")] if len(kind.shape) == 1 else list(zip(kind.shape, ("row", "column"), strict=True))
    outer, places = builder.block, list[Statement]()
    for count, name in loops:
        start, end, step = (builder.const(bound) for bound in (0, count, 1))
        loop = builder.add(RangeFor([start], [end], [step], [name], unroll=True))
        builder.block = loop.body
        places.append(builder.add(LoopIndex(loop, type=i32)))
    number = _number_of(builder, kind, places)
    builder.store(_place(builder, stored, indices, number), builder.element(value, places))
    builder.block = outer


def _computed(
    builder: Builder, value: Statement, indices: Mapping[Axis, Statement], mapping: dict[Statement, Statement]
) -> Statement:
    """Compute a value again, with all that it is computed from, for other indices."""
    if isinstance(value, LoopIndex) and isinstance(value.loop, RangeFor):
        return indices[value.loop, value.axis]
    if value not in mapping:
        for operand in operands(value):
            mapping[operand] = _computed(builder, operand, indices, mapping)
        mapping[value] = builder.add(clone(value, mapping))
        mapping[value].remarks = ()
    return mapping[value]


def _number_of(builder: Builder, kind: Tensor, places: Sequence[Statement]) -> Statement:
    """Return which number of a vector or matrix an element is."""
    if len(places) == 1:
        return places[0]
    row, column = places
    return builder.op("add", builder.op("mul", row, builder.const(kind.shape[1])), column)


def _place(
    builder: Builder, stored: _Stored, indices: Mapping[Axis, Statement], number: Statement | None = None
) -> Statement:
    """Return where a number of a value is in memory."""
    found: list[Statement] = []
    for group in stored.groups:
        place: Statement | None = None
        for axis in group:
            low, extent = (constant_range(*axis) or range(1))[0], extent_of(axis)
            index = builder.shifted(indices[axis], -low)
            place = index if place is None else _joined(builder, place, extent, index)
        if number is not None and not any(loop is stored.own for loop, _ in group):
            place = number if place is None else _joined(builder, place, stored.numbers, number)
        assert place is not None
        found.append(place)
    origin = builder.add(GlobalTemporary(stored.memory, type=stored.memory.type))
    return builder.element_ptr(origin, found)


def _joined(builder: Builder, place: Statement, extent: int, index: Statement) -> Statement:
    return builder.op("add", builder.op("mul", place, builder.const(extent)), index)


def _load(task: Task, stored: _Stored) -> None:
    """Let a task load a value that a task before it has computed."""
    value, mapping = stored.value, dict[Statement, Statement]()
    for block in list(walk_blocks(task.body)):
        for statement in list(block.statements):
            if statement is value if stored.is_whole else value in operands(statement):
                builder = Builder(Block(), statement.location)
                loaded = _loaded(builder, stored, statement)
                loaded.name, loaded.hint, loaded.copies = statement.name, statement.hint, statement.copies
                block.insert_before(statement, builder.block.statements)
                mapping[statement] = loaded
    replace_uses(task.body, mapping)


def _loaded(builder: Builder, stored: _Stored, statement: Statement) -> Statement:
    """Load a value, or the element of it that a statement is."""
    kind = stored.value.type
    indices: dict[Axis, Statement] = {a: builder.add(LoopIndex(a[0], a[1], type=i32)) for a in stored.axes}
    if isinstance(kind, Scalar):
        return builder.load(_place(builder, stored, indices))
    assert isinstance(kind, Tensor)
    if isinstance(statement, MatrixElement) and not stored.is_whole:
        return builder.load(_place(builder, stored, indices, _number_of(builder, kind, statement.indices)))
    numbers = [_place(builder, stored, indices, builder.const(number)) for number in range(kind.size)]
    return builder.tensor(list(map(builder.load, numbers)), kind.shape, kind.element)
