"""Integers whose overflow nobody sees (`wrapping`): a query that changes nothing.

LLVM makes other code of a sum that does not wrap where it compares, divides, shifts, masks or converts the sum. Sums
and products have the same bits either way, and so has what is stored of them.

    counts[k] += x[i]                  the sum is stored
    n = n + x[i]; ...; out[i] = n      likewise, over a variable
    n = n + x[i]; if n > 10 { ... }    the sum is compared
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from ....ir.constants import constant_range
from ....ir.functions import Call, Reference
from ....ir.nodes import Block, Statement, blocks, operands, walk_blocks
from ....ir.ops import WRAPPING
from ....ir.statements import (
    Alloca,
    ArgLoad,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    IfExp,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    Return,
    While,
    base_pointer,
)
from ....ir.tasks import Kernel
from ....ir.types import Scalar, i32
from ...analysis.addresses import address_values, is_flat_pointer
from ...analysis.value_ranges import same_value

LARGE = 1 << 30
"""LLVM turns the addition of -2**31 into one of bits; smaller numbers it adds."""
MOST = i32.limits[1]
RESULTS = "results of functions"


def unobserved(kernel: Kernel) -> set[Statement]:
    """Return the sums and products that are only indices, or are only added up, multiplied and stored."""
    values = list(kernel.statements())
    seen: set[Statement] = {
        operand for task in kernel.tasks if task.loop is not None for operand in operands(task.loop)
    }
    choices = {block: s for s in values if isinstance(s, IfExp) for block in blocks(s)}
    for block in (block for root in kernel.roots() for block in walk_blocks(root)):
        if block.result is not None and block not in choices:
            seen.add(block.result)
    # What a function stores through a reference its callers see.
    only_addresses = _addresses(kernel)
    memory: set[Hashable] = {p for function in kernel.functions for p in function.parameters if p.by_reference}
    while True:
        before = len(memory)
        for value in reversed(values):  # the users of a value come after it
            if value not in only_addresses:
                seen.update(_seen_by(value, value in seen, memory))
        if len(memory) == before:
            return {value for value in values if _is_sum(value) and value not in seen and not _has_large(value)}


def _addresses(kernel: Kernel) -> set[Statement]:
    """Return the conversions of indices that are in bounds if nothing wraps, which they show to nothing else."""
    if any(is_flat_pointer(s) and s.array.offset for s in kernel.statements() if isinstance(s, GlobalPtr)):
        return set()
    return {value for value in address_values(kernel) if isinstance(value, Cast)}


def _seen_by(user: Statement, is_seen: bool, memory: set[Hashable]) -> Iterator[Statement]:
    """Yield the operands of a statement whose overflow would be seen. memory: of which loads are seen; it grows."""
    match user:
        case GlobalPtr(cell=None) if not user.array.clamped and not user.array.offset:
            return
        case LocalStore(pointer=pointer, value=value) | GlobalStore(pointer=pointer, value=value):
            if _place(pointer) in memory:
                yield value
        case AtomicOp(op="add" | "sub", value=value):
            return
        case LocalLoad(pointer=pointer) | GlobalLoad(pointer=pointer):
            if is_seen:
                memory.add(_place(pointer))
        case Return(values=values):
            yield from values if RESULTS in memory else ()
        case Call(function=function, arguments=arguments):
            if is_seen:
                memory.add(RESULTS)
            for parameter, argument in zip(function.parameters, arguments, strict=True):
                if parameter.by_reference or parameter in memory:
                    yield argument
        case ArgLoad(parameter=parameter):
            if is_seen:
                memory.add(parameter)
        case Operation(op="select", operands=[condition, *chosen]):
            yield condition
            yield from chosen if is_seen else ()
        case IfExp(condition=condition, then=then, otherwise=otherwise):
            yield condition
            if is_seen:
                yield from (block.result for block in (then, otherwise) if block.result is not None)
        case Operation() if _is_sum(user):
            if is_seen or _has_large(user):
                yield from user.operands
        case _:
            yield from operands(user)


def _is_sum(value: Statement) -> bool:
    """Return whether a value is a sum or a product of integers that C computes in their own type."""
    kind = value.type
    is_whole = isinstance(kind, Scalar) and kind.is_integral and kind.bits >= 32
    return isinstance(value, Operation) and value.op in WRAPPING and is_whole


def _has_large(value: Statement) -> bool:
    return any(isinstance(operand, Const) and abs(operand.value) >= LARGE for operand in operands(value))


def _place(pointer: Statement) -> Hashable:
    """Return what is the same for pointers that may have the same address."""
    base = base_pointer(pointer)
    if isinstance(base, Reference):
        return base.parameter
    if isinstance(base, GlobalPtr):
        return base.array  # no compiler knows that another one is the same memory
    return base.temporary if isinstance(base, GlobalTemporary) else base


# --- counters ---------------------------------------------------------------------------------------------------------


def steps_of_counters(kernel: Kernel) -> set[Statement]:
    """Return the additions of 1 to variables that count iterations, of which there are no more than an i32 can count.

    A loop over tiles, whose length divides 2**31, has at most 2**31 - 1 iterations, although its bounds allow one more.
    """
    found: set[Statement] = set()
    for root in kernel.roots():
        search = _Counters(root)
        for variable, steps in search.steps.items():
            if variable not in search.others and sum(count for _, count in steps) <= MOST + 1:
                found.update(step for step, _ in steps)
    return found


class _Counters:
    """The variables of a block that count from 0.

    steps: additions of 1 by variable, each with how often it may run. others: variables that something else changes.
    """

    def __init__(self, root: Block) -> None:
        self.steps: dict[Statement, list[tuple[Statement, int]]] = {}
        self.others: set[Statement] = set()
        self.depth: dict[Statement, int] = {}
        self._visit(root, [])

    def _visit(self, block: Block, trips: list[int]) -> None:
        for statement in block.statements:
            if isinstance(statement, Alloca):
                self.depth[statement] = len(trips)
            elif isinstance(statement, LocalStore):
                self._store(statement, trips)
            elif not isinstance(statement, LocalLoad):
                self.others.update(operand for operand in operands(statement) if isinstance(operand, Alloca))
            inside = [*trips, _most_trips(statement)] if isinstance(statement, (RangeFor, While)) else trips
            for inner in blocks(statement):
                self._visit(inner, inside)

    def _store(self, store: LocalStore, trips: list[int]) -> None:
        variable, value = store.pointer, store.value
        match value:
            case Operation(op="add", operands=[LocalLoad(pointer=pointer), Const(value=1)]) if pointer is variable:
                count = 1
                for trip in trips[self.depth.get(variable, 0) :]:
                    count *= trip
                self.steps.setdefault(variable, []).append((value, count))
            case Const(value=0):
                pass
            case _:
                self.others.add(base_pointer(variable))


def _most_trips(loop: RangeFor | While) -> int:
    """Return the most iterations of a loop."""
    if isinstance(loop, While):
        return MOST
    count = 1
    for axis, step in enumerate(loop.steps):
        assert isinstance(step, Const)
        indices = constant_range(loop, axis)
        most = -(-_most_between(loop.starts[axis], loop.ends[axis]) // abs(int(step.value)))
        count *= most if indices is None else len(indices)
    return count


def _most_between(start: Statement, end: Statement) -> int:
    """Return the most numbers between two bounds; that of the loop in a tile is the length of the tile."""
    match end:
        case Const(value=last) if isinstance(start, Const):
            return int(last) - int(start.value)
        case Operation(op="min", operands=parts):
            return min(_most_between(start, part) for part in parts)
        case Operation(op="add", operands=[first, Const(value=length)]) if same_value(first, start):
            return int(length)
    return MOST - 1
