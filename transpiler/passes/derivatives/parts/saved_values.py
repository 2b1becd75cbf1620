"""Values of variables that a loop changes, saved for the iterations that the backward sweep runs again.

    for j in 0..n {                      for j in 0..n { s_saved[j] = s; s = sin(s) }
        s = sin(s)             ->        for j in n-1..-1 { s = s_saved[j]; ... }
    }

A loop with a constant trip count keeps the values of each iteration, in a local array. Other loops have `SLOTS` slots,
whatever their trip count: they keep every `stride`-th iteration, and the backward sweep runs those between again.
Values that no derivative needs are removed by `prune`, with all of this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from ....ir.builder import Builder
from ....ir.nodes import Block, Remark, Statement, blocks
from ....ir.statements import Alloca, Const, If, LoopIndex, RangeFor, While
from ....ir.types import Struct, Tensor, i32
from ....lazy_dataclasses import dataclass
from ...analysis.queries import count_along, ends_loop
from .activity import variables_of
from .scope import Scope

MAX_PLAIN = 256
"""The most iterations of a loop with a constant trip count of which all values are saved."""
MIN_SLOTS = 5
"""The fewest slots: what is saved is an array then, not a vector, in the emitted source."""
SLOTS = 64
"""The number of iterations of other loops whose values are kept."""
SAVED = Remark("for the backward loop (reverse_mode)")


@dataclass(slots=True)
class SavedLoop:
    """What a loop keeps.

    Attributes:
        arrays: of each variable that it changes, one for each part that is no struct.
        iterations: the variable that counts the iterations of a loop that may end early, else None.
        stride: the distance of the iterations that are saved, a value or a variable; None if all are saved.
    """

    loop: Statement
    arrays: dict[Alloca, list[Alloca]] = field(default_factory=dict)
    iterations: Alloca | None = None
    stride: Statement | None = None
    slots: int = SLOTS


def begin(builder: Builder, loop: Statement, scope: Scope) -> SavedLoop:
    """Emit, before a loop, what it keeps its values in."""
    saved = SavedLoop(loop)
    if may_end_early(loop):
        saved.iterations = builder.add(Alloca(type=i32, name="iterations"))
        builder.store(saved.iterations, builder.const(0))
    length = constant_trip_count(loop)
    if length is not None and length <= MAX_PLAIN:
        saved.slots = max(length, MIN_SLOTS)
    elif saved.iterations is not None:
        saved.stride = builder.add(Alloca(type=i32, name="stride"))
        builder.store(saved.stride, builder.const(1))
    else:
        assert isinstance(loop, RangeFor)
        one = builder.const(1)
        count = builder.cast(trip_count(builder, loop, scope), i32)
        last = builder.op("sub", builder.op("max", count, one), one)
        saved.stride = builder.op("add", builder.op("plain_div", last, builder.const(SLOTS)), one)
        saved.stride.hint = "stride"
    for variable in variables_of(loop).stored:
        saved.arrays[variable] = [
            builder.add(Alloca(type=_array_of(part, saved.slots), name=_saved_name(variable)))
            for part in parts_of_pointer(Builder(Block()), variable)
        ]
    return saved


def save(builder: Builder, saved: SavedLoop, scope: Scope, index: Statement | None) -> None:
    """Emit, at the start of an iteration, the stores of the values. index: of the loop, None for a `while`."""
    number = iteration_number(builder, saved, scope, index)
    if saved.stride is None:
        _store_all(builder, saved, scope, number)
    else:
        if isinstance(saved.stride, Alloca):
            _double_stride(builder, saved, number)
        stride = _value(builder, saved.stride)
        is_saved = builder.op("eq", builder.op("plain_mod", number, stride), builder.const(0))
        branch = builder.add(If(is_saved))
        with builder.into(branch.then):
            _store_all(builder, saved, scope, builder.op("plain_div", number, stride))
    if saved.iterations is not None:
        builder.store(saved.iterations, builder.op("add", number, builder.const(1)))


def iteration_number(builder: Builder, saved: SavedLoop, scope: Scope, index: Statement | None) -> Statement:
    """Return the number of the present iteration of the loop itself, from 0."""
    if saved.iterations is not None:
        return builder.load(saved.iterations)
    assert isinstance(saved.loop, RangeFor) and index is not None
    return number_of_index(builder, saved.loop, scope, index)


def number_of_index(builder: Builder, loop: RangeFor, scope: Scope, index: Statement) -> Statement:
    """Return the number of the iteration in which the loop's index has a value."""
    start, step = loop.starts[0], loop.steps[0]
    assert isinstance(step, Const)
    if not (isinstance(start, Const) and start.value == 0):
        index = builder.op("sub", index, scope.find(start))
    if step.value != 1:
        index = builder.op("floordiv", index, builder.const(int(step.value)))
    return builder.cast(index, i32)


def restore(builder: Builder, saved: SavedLoop, variable: Alloca, pointer: Statement, number: Statement) -> None:
    """Emit stores to `pointer` of what a variable was before an iteration, or before an earlier one that is saved."""
    slot = number if saved.stride is None else _slot_of(builder, saved, number)
    for array, part in zip(saved.arrays[variable], parts_of_pointer(builder, pointer), strict=True):
        for position, element in enumerate(elements_of_pointer(builder, part)):
            builder.store(element, builder.load(_slot(builder, array, slot, position)))


def first_of_slot(builder: Builder, saved: SavedLoop, number: Statement) -> Statement:
    """Return the number of the iteration whose values are restored for iteration `number`."""
    assert saved.stride is not None
    return builder.op("mul", _slot_of(builder, saved, number), _value(builder, saved.stride))


def _slot_of(builder: Builder, saved: SavedLoop, number: Statement) -> Statement:
    """Return the number of the slot that has the values of an iteration, or of the last saved one before it."""
    assert saved.stride is not None
    slot = builder.op("plain_div", number, _value(builder, saved.stride))
    slot.hint = "slot"
    return slot


def _double_stride(builder: Builder, saved: SavedLoop, number: Statement) -> None:
    """Emit: if all slots are full, keep every other of them and double the stride."""
    assert isinstance(saved.stride, Alloca)
    full = builder.op("mul", builder.load(saved.stride), builder.const(saved.slots))
    branch = builder.add(If(builder.op("eq", number, full)))
    with builder.into(branch.then):
        half = [builder.const(value) for value in (0, saved.slots // 2, 1)]
        loop = builder.add(RangeFor([half[0]], [half[1]], [half[2]], ["slot"], serialize=True))
        with builder.into(loop.body):
            slot = builder.add(LoopIndex(loop, type=i32))
            double = builder.op("mul", slot, builder.const(2))
            every = [one for arrays in saved.arrays.values() for one in arrays]
            for array, position in [(one, k) for one in every for k in range(_row_of(one))]:
                value = builder.load(_slot(builder, array, double, position))
                builder.store(_slot(builder, array, slot, position), value)
        builder.store(saved.stride, builder.op("mul", builder.load(saved.stride), builder.const(2)))


def _store_all(builder: Builder, saved: SavedLoop, scope: Scope, slot: Statement) -> None:
    for variable, arrays in saved.arrays.items():
        for array, part in zip(arrays, parts_of_pointer(builder, scope.find(variable)), strict=True):
            for position, element in enumerate(elements_of_pointer(builder, part)):
                stored = builder.store(_slot(builder, array, slot, position), builder.load(element))
                stored.remarks = (SAVED,)


def _value(builder: Builder, stride: Statement) -> Statement:
    return builder.load(stride) if isinstance(stride, Alloca) else stride


def _saved_name(variable: Alloca) -> str:
    return f"{variable.name or 'value'}_saved"


def _array_of(part: Statement, slots: int) -> Tensor:
    """Return the type of the array that keeps a number, vector or matrix."""
    if isinstance(part.type, Tensor):
        return Tensor((slots, part.type.size), part.type.element)
    assert part.type is not None and not isinstance(part.type, Struct)
    return Tensor((slots,), part.type)


def _row_of(array: Alloca) -> int:
    assert isinstance(array.type, Tensor)
    return array.type.shape[1] if len(array.type.shape) == 2 else 1


def _slot(builder: Builder, array: Alloca, slot: Statement, position: int) -> Statement:
    assert isinstance(array.type, Tensor)
    indices = [slot] if len(array.type.shape) == 1 else [slot, builder.const(position)]
    return builder.element_ptr(array, indices)


def parts_of_pointer(builder: Builder, pointer: Statement) -> Iterator[Statement]:
    """Yield `pointer`, or pointers to the members of a struct and of the members of those."""
    if isinstance(pointer.type, Struct):
        for name, _ in pointer.type.members:
            yield from parts_of_pointer(builder, builder.member_ptr(pointer, name))
    else:
        yield pointer


def elements_of_pointer(builder: Builder, pointer: Statement) -> Iterator[Statement]:
    """Yield `pointer`, or pointers to the elements of a vector or matrix, row by row."""
    if not isinstance(pointer.type, Tensor):
        yield pointer
        return
    shape = pointer.type.shape
    for flat in range(pointer.type.size):
        position = (flat,) if len(shape) == 1 else divmod(flat, shape[1])
        yield builder.element_ptr(pointer, [builder.const(k) for k in position])


def may_end_early(loop: Statement) -> bool:
    """Return whether only the loop itself knows its trip count."""
    return isinstance(loop, While) or any(ends_loop(s) for block in blocks(loop) for s in block)


def number_of_constant_index(builder: Builder, loop: RangeFor, index: Statement) -> Statement:
    """Return the number of the iteration with an index, of a loop whose bounds are constants."""
    start, step = loop.starts[0], loop.steps[0]
    assert isinstance(start, Const) and isinstance(step, Const)
    if start.value != 0:
        index = builder.op("sub", index, builder.const(int(start.value)))
    return index if step.value == 1 else builder.op("floordiv", index, builder.const(int(step.value)))


def constant_trip_count(loop: Statement) -> int | None:
    """Return the trip count of a loop, or the most iterations it has if it may end early; None if it is no constant."""
    return count_along(loop, 0) if isinstance(loop, RangeFor) else None


def trip_count(builder: Builder, loop: RangeFor, scope: Scope) -> Statement:
    """Return the trip count of a loop that no `break` ends; it may be negative."""
    start, end, step = scope.find(loop.starts[0]), scope.find(loop.ends[0]), loop.steps[0]
    assert isinstance(step, Const)
    size = abs(int(step.value))
    if int(step.value) < 0:
        start, end = end, start
    distance = end if isinstance(start, Const) and start.value == 0 else builder.op("sub", end, start)
    if size == 1:
        return distance
    return builder.op("floordiv", builder.op("add", distance, builder.const(size - 1)), builder.const(size))
