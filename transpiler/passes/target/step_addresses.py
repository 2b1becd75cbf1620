"""Lets loops of GPUs step from element to element of ndarrays, where they computed each address by multiplications.

    for k_next step 16:                                 $from = (long(i) * n1 + k), $step = 8 * n1
        for load in range(8):                           for k_next step 16:
            x[i + load * 8, k_next + k]        ->           for load in range(8):
                                                                x at $from + load * $step
                                                            $from += 16

In: unrolled loops in a serial loop, as those by which `register_tiles` loads a tile. A launch has the extents, so that
an address needs products of 64 bits; where a load has a condition, compilers compute all of them anew each time. An
index is a sum of what does not change in the serial loop, the index of that loop, and that of the unrolled one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from ...ir.builder import Builder
from ...ir.elements.numbers import why_not_flat
from ...ir.nodes import Block, Statement, blocks, walk, walk_blocks
from ...ir.statements import (
    Alloca,
    ArgLoad,
    ArrayShape,
    Const,
    GlobalPtr,
    LoopIndex,
    Operation,
    RangeFor,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i32, i64
from ...lazy_dataclasses import dataclass
from ..analysis.queries import is_index_of
from ..context import PassContext
from ..rewrite import Rewriter


@dataclass(slots=True)
class Sum:
    """An index: the number of times that it contains each of the two loop indices, and other values with their sign."""

    by_tile: int = 0
    by_load: int = 0
    constant: int = 0
    others: list[tuple[int, Statement]] = field(default_factory=list)


Access = tuple[RangeFor, list[Sum]]
"""The unrolled loop of a pointer, and its indices."""


def step_addresses(kernel: Kernel, context: PassContext) -> bool:
    """Count up the numbers of elements in such loops."""
    if context.capabilities.blocks_as_loops or context.capabilities.blocks_in_lockstep:
        return False
    kind = i64 if context.capabilities.has_pointers else i32
    changed = False
    for task in kernel.tasks:
        for block in list(walk_blocks(task.body)):
            for serial in [s for s in block.statements if isinstance(s, RangeFor) and _is_serial(s)]:
                accesses = dict(_accesses(serial))
                if accesses:
                    _step(block, serial, accesses, kind)
                    changed = True
    return changed


def _is_serial(loop: RangeFor) -> bool:
    """Return whether a loop runs as it is written, from a constant in steps that are constant."""
    if not repeats(loop) or loop.unroll or len(loop.starts) != 1 or loop.cells is not None:
        return False
    return isinstance(loop.starts[0], Const) and isinstance(loop.steps[0], Const)


# --- what is stepped through ------------------------------------------------------------------------------------------


def _accesses(serial: RangeFor) -> Iterator[tuple[GlobalPtr, Access]]:
    """Yield the pointers to elements of ndarrays in unrolled loops, if their indices are sums."""
    inside = set(walk(serial.body))
    for loads in _unrolled(serial.body):
        for pointer in walk(loads.body):
            if isinstance(pointer, GlobalPtr) and _is_of_ndarray(pointer):
                found = [_sum_of(index, serial, loads, inside) for index in pointer.indices]
                sums = [each for each in found if each is not None]
                if len(found) == len(sums) and any(each.by_load for each in sums):
                    yield pointer, (loads, sums)


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


def _sum_of(index: Statement, serial: RangeFor, loads: RangeFor, inside: set[Statement]) -> Sum | None:
    """Return an index as a sum, None if it is none. inside: the statements of the serial loop."""
    found = Sum()

    def add(value: Statement, sign: int) -> bool:
        match value:
            case Const(value=number):
                found.constant += sign * int(number)
            case Operation(op="add" | "sub" as op, operands=[first, second]) if value in inside:
                return add(first, sign) and add(second, sign if op == "add" else -sign)
            case Operation(op="mul", operands=[first, Const(value=number)]) if is_index_of(first, loads):
                found.by_load += sign * int(number)
            case _ if is_index_of(value, loads):
                found.by_load += sign
            case _ if is_index_of(value, serial):
                found.by_tile += sign
            case ArgLoad() | ArrayShape():
                found.others.append((sign, value))
            case LoopIndex(loop=loop) if loop not in inside:
                found.others.append((sign, value))
            case _ if value not in inside:
                found.others.append((sign, value))
            case _:
                return False
        return True

    return found if index.type == i32 and add(index, 1) else None


# --- numbers of elements ----------------------------------------------------------------------------------------------


def _step(block: Block, serial: RangeFor, accesses: Mapping[GlobalPtr, Access], kind: Scalar) -> None:
    """Replace pointers by such to elements whose numbers are counted up. block: that of the serial loop."""
    before, after = Builder(Block(), serial.location), Builder(serial.body, serial.location)
    numbers = {pointer: _Number(before, after, serial, pointer, sums, kind) for pointer, (_, sums) in accesses.items()}
    position = block.statements.index(serial)
    block.statements[position:position] = before.block.statements

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
        self, before: Builder, after: Builder, serial: RangeFor, pointer: GlobalPtr, sums: Sequence[Sum], kind: Scalar
    ) -> None:
        array, (start, by) = pointer.array, (serial.starts[0], serial.steps[0])
        assert isinstance(start, Const) and isinstance(by, Const)
        axes = range(array.ndim)
        extents = [before.cast(before.add(ArrayShape(array, axis, type=i32)), kind, True) for axis in axes]
        indices = [_first_index(before, each, int(start.value), kind) for each in sums]
        self.first = before.add(Alloca(type=kind, hint=f"{array.name}_from", location=serial.location))
        before.store(self.first, _number(before, indices, extents))
        self.step = _distance(before, [each.by_load for each in sums], extents, kind)
        self.step.hint = f"{array.name}_step"
        advance = _distance(before, [each.by_tile * int(by.value) for each in sums], extents, kind)
        advance.hint = f"{array.name}_advance"
        after.store(self.first, after.op("add", after.load(self.first), advance))


def _first_index(builder: Builder, index: Sum, start: int, kind: Scalar) -> Statement:
    """Return an index in the first iterations of both loops. start: the first index of the serial loop."""
    total: Statement | None = None
    for sign, value in sorted(index.others, key=lambda term: -term[0]):
        is_of_all = isinstance(value, (ArgLoad, ArrayShape, LoopIndex))  # may be one of the loop
        own = builder.cast(builder.again(value) if is_of_all else value, kind, True)
        if total is None:
            total = own if sign > 0 else builder.op("neg", own)
        else:
            total = builder.op("add" if sign > 0 else "sub", total, own)
    constant = builder.const(index.constant + index.by_tile * start, kind)
    if total is None or constant.value == 0:
        return total or constant
    return builder.op("add", total, constant)


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
