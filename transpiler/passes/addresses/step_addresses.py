"""Strength reduction of addresses: loops of GPUs step from element to element, where they multiplied for each.

    for k_next step 16:                                 $from = (long(i) * n1 + k), $step = 8 * n1
        for load in range(8):                           for k_next step 16:
            x[i + load * 8, k_next + k]        ->           for load in range(8):
                                                                x at $from + load * $step
                                                            $from += 16

In: unrolled loops in a serial loop of a task with tiles: those by which `register_tiles` loads one. A launch has the
extents, so that an address needs products of 64 bits; where a load has a condition, compilers compute all of them anew
each time. An index is a sum of what does not change in the serial loop, the index of that loop, and that of the
unrolled one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...ir.builder import Builder
from ...ir.elements.numbers import why_not_flat
from ...ir.nodes import Block, Effect, Statement, blocks, walk, walk_blocks
from ...ir.statements import Alloca, ArrayShape, Const, GlobalPtr, If, LoopIndex, Operation, RangeFor, is_const, repeats
from ...ir.tasks import Kernel, MultipleOf, Task
from ...ir.types import Scalar, i32, i64
from ..analysis.linear import Index, Linear, Reader
from ..analysis.queries import is_index_of
from ..context import PassContext
from ..rewrite import Rewriter

Access = tuple[RangeFor, list[Linear]]
"""The unrolled loop of a pointer, and its indices."""


def step_addresses(kernel: Kernel, context: PassContext) -> bool:
    """Count up the numbers of elements in such loops."""
    if not context.capabilities.has_warps:
        return False
    kind = i64 if context.capabilities.has_pointers else i32
    changed = False
    for task in kernel.tasks:
        for block in list(walk_blocks(task.body)) if task.tile else ():
            for serial in [s for s in block.statements if isinstance(s, RangeFor) and _is_serial(s)]:
                last = _last_tile(task, serial)
                accesses = dict(_accesses(task, serial, last))
                if accesses:
                    _step(block, serial, accesses, last, kind)
                    changed = True
    return changed


def _is_serial(loop: RangeFor) -> bool:
    """Return whether a loop runs from a constant in steps that are constant, and each iteration to its end."""
    if not repeats(loop) or loop.unroll or len(loop.starts) != 1 or loop.cells is not None:
        return False
    if any(s.EFFECT & Effect.CONTROL and not s.BLOCKS for s in walk(loop.body)):  # `continue` would leave out the step
        return False
    return isinstance(loop.starts[0], Const) and isinstance(loop.steps[0], Const)


# --- what is stepped through ------------------------------------------------------------------------------------------


def _last_tile(task: Task, serial: RangeFor) -> Operation | None:
    """Return the least of the index of a loop and that of the last tile, if this is an index of the loop.

    It is where a launch has whole tiles: the index is what the loop loads from, and it loads the last tile twice.
    """
    if not any(isinstance(c, MultipleOf) for choice in task.when for c in choice.conditions):
        return None
    found = (s for s in serial.body if isinstance(s, Operation) and s.op == "min")
    return next((least for least in found if any(is_index_of(operand, serial) for operand in least.operands)), None)


def _accesses(task: Task, serial: RangeFor, last: Operation | None) -> Iterator[tuple[GlobalPtr, Access]]:
    """Yield the pointers to elements of ndarrays in unrolled loops, if their indices are sums.

    last: what counts as the index of the serial loop, None if that is its index alone.
    """
    around: set[Statement] = {serial} if task.loop is None else {serial, task.loop}
    reader = Reader({*walk(serial.body), *around}, {}, scales=True, same={} if last is None else {last: (serial, 0)})
    for loads in _unrolled(serial.body):
        for pointer in walk(loads.body):
            if isinstance(pointer, GlobalPtr) and _is_of_ndarray(pointer):
                found = [reader.read(index) for index in pointer.indices]
                sums = [each for each in found if each is not None and _is_outer(each, {*around, loads})]
                if len(found) == len(sums) and any((loads, 0) in each.indices for each in sums):
                    yield pointer, (loads, sums)


def _is_outer(index: Linear, loops: set[Statement]) -> bool:
    """Return whether an index contains no index of other loops."""
    return all(loop in loops for loop, _ in index.indices)


def _unrolled(body: Block) -> Iterator[RangeFor]:
    """Yield the unrolled loops of a body that are in no other loop."""
    for statement in body:
        if isinstance(statement, RangeFor):
            if statement.unroll and len(statement.starts) == 1 and is_const(statement.starts[0], 0):
                yield statement
        else:
            for inner in blocks(statement):
                yield from _unrolled(inner)


def _is_of_ndarray(pointer: GlobalPtr) -> bool:
    """Return whether a pointer is to a number in an array whose extents only the launch has."""
    array = pointer.array
    is_plain = array.shape is None and array.place is None and not why_not_flat(array) and not pointer.is_flat
    return is_plain and array.ndim > 1 and pointer.lanes == 1 and isinstance(array.element, Scalar)


# --- numbers of elements ----------------------------------------------------------------------------------------------


def _step(
    block: Block, serial: RangeFor, accesses: Mapping[GlobalPtr, Access], last: Operation | None, kind: Scalar
) -> None:
    """Replace pointers by such to elements whose numbers are counted up. block: that of the serial loop."""
    before, after = Builder(Block(), serial.location), Builder(Block(), serial.location)
    numbers = {pointer: _Number(before, after, serial, pointer, access, kind) for pointer, access in accesses.items()}
    block.insert_before(serial, before.block)
    end = Builder(serial.body, serial.location)
    if last is None:
        serial.body.statements += after.block.statements
    else:
        index, limit = sorted(last.operands, key=lambda operand: not is_index_of(operand, serial))
        end.add(If(end.op("lt", index, limit), after.block))

    def flat(rewriter: Rewriter, pointer: GlobalPtr) -> Statement | None:
        if pointer not in numbers:
            return None
        own, builder = numbers[pointer], rewriter.builder(pointer)
        load = builder.cast(builder.add(LoopIndex(accesses[pointer][0], type=i32)), kind, True)
        number = builder.op("add", builder.load(own.first), builder.op("mul", own.step, load))
        return builder.add(GlobalPtr(pointer.array, [number], is_flat=True, type=pointer.type))

    Rewriter({GlobalPtr: flat}).block(serial.body)


class _Number:
    """The number of an element. first: the variable that is counted up. step: how far apart two loads are."""

    def __init__(
        self, before: Builder, after: Builder, serial: RangeFor, pointer: GlobalPtr, access: Access, kind: Scalar
    ) -> None:
        array, (loads, sums), (start, by) = pointer.array, access, (serial.starts[0], serial.steps[0])
        assert isinstance(start, Const) and isinstance(by, Const)
        axes = range(array.ndim)
        extents = [before.cast(before.add(ArrayShape(array, axis, type=i32)), kind, True) for axis in axes]
        by_tile, by_load = ([each.indices.get((loop, 0), 0) for each in sums] for loop in (serial, loads))
        indices = [
            _first_index(before, each, {serial, loads}, count * int(start.value), kind)
            for each, count in zip(sums, by_tile, strict=True)
        ]
        self.first = before.add(Alloca(type=kind, hint=f"{array.name}_from", location=serial.location))
        before.store(self.first, _number(before, indices, extents))
        self.step = _distance(before, by_load, extents, kind)
        self.step.hint = f"{array.name}_step"
        advance = _distance(before, [count * int(by.value) for count in by_tile], extents, kind)
        advance.hint = f"{array.name}_advance"
        after.store(self.first, after.op("add", after.load(self.first), advance))


def _first_index(builder: Builder, index: Linear, inner: set[RangeFor], start: int, kind: Scalar) -> Statement:
    """Return an index in the first iterations of the inner loops, which add `start`."""
    outer = {key: count for key, count in index.indices.items() if key[0] not in inner}
    known: dict[Index, Statement] = {
        (loop, axis): builder.add(LoopIndex(loop, axis, type=i32))  # type: ignore[arg-type]
        for loop, axis in outer
    }
    return Linear(outer, index.values, index.constant + start).emit(builder, known, kind)


def _number(builder: Builder, indices: Sequence[Statement], extents: Sequence[Statement]) -> Statement:
    """Return the number of an element."""
    number = indices[0]
    for index, extent in zip(indices[1:], extents[1:], strict=True):
        number = builder.op("add", builder.op("mul", number, extent), index)
    return number


def _distance(builder: Builder, counts: Sequence[int], extents: Sequence[Statement], kind: Scalar) -> Statement:
    """Return how far apart two elements are whose indices differ by these counts."""
    total: Statement | None = None
    for count, extent in zip(counts, extents, strict=True):
        if total is not None:
            total = builder.op("mul", total, extent)
        if count:
            own = builder.const(count, kind)
            total = own if total is None else builder.op("add", total, own)
    return total if total is not None else builder.const(0, kind)
