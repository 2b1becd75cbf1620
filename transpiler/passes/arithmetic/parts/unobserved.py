"""Integers whose overflow nobody sees (`wrapping`): a query that changes nothing.

LLVM makes other code of a sum that does not wrap where it compares, divides, shifts right or converts the sum. Sums,
products, masked bits and bits that are shifted left are the same either way, and so is what is stored of them.

    counts[k] += x[i]                      the sum is stored
    n = n + x[i]; ...; out[i] = n          likewise, over a variable
    n = n + x[i]; if n > 10 { ... }        the sum is compared
    out[i] = float(n + x[i])               the sign of the sum would matter, of which LLVM knows nothing (`Summands`)
    min(max(x[i] + 1, 0), m - 1)           what is moved by a number and limited is taken not to wrap
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
    MatrixPtr,
    Operation,
    RangeFor,
    Return,
    While,
    base_pointer,
)
from ....ir.tasks import Kernel
from ....ir.threads import COLLECTIVES, Collective
from ....ir.types import Scalar, i32
from ...analysis.addresses import address_values, is_flat_pointer
from ...analysis.value_ranges import same_value
from .summands import Summands

LARGE = 1 << 30
"""LLVM turns the addition of -2**31 into one of bits; smaller numbers it adds."""
MOST = i32.limits[1]
RESULTS = "results of functions"
OF_SIGNS = frozenset({"floordiv", "mod", "raw_div", "raw_mod", "plain_div", "plain_mod", "sar", "shr", "eq", "ne"})
"""Operations of which LLVM makes others if it knows the signs of their operands."""
OF_ORDER = frozenset({"lt", "le", "gt", "ge", "min", "max"})


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
    summands = Summands(values, kernel.parameters)
    while True:
        before = len(memory)
        for value in reversed(values):  # the users of a value come after it
            if value not in only_addresses:
                seen.update(_seen_by(value, value in seen, memory, summands))
        if len(memory) == before:
            return {value for value in values if _is_sum(value) and value not in seen and not _has_large(value)}


def _addresses(kernel: Kernel) -> set[Statement]:
    """Return the conversions of indices that are in bounds if nothing wraps, which they show to nothing else."""
    if any(is_flat_pointer(s) and s.array.offset for s in kernel.statements() if isinstance(s, GlobalPtr)):
        return set()
    return {value for value in address_values(kernel) if isinstance(value, Cast)}


def _seen_by(user: Statement, is_seen: bool, memory: set[Hashable], summands: Summands) -> Iterator[Statement]:
    """Yield the operands of a statement whose overflow would be seen. memory: of which loads are seen; it grows."""
    match user:
        case Operation(op=op) if op in OF_SIGNS:
            yield from (operand for operand in user.operands if not summands.hides_sign(operand))
        case Cast(value=value, type=Scalar(is_float=True), bits=False):
            yield from () if summands.hides_sign(value) else (value,)
        case Operation(op=op, operands=[a, b]) if op in OF_ORDER:
            for one, other in ((a, b), (b, a)):
                is_near = op in ("min", "max") and summands.is_near(one)
                if not is_near and not summands.hides_order(one, other):
                    yield one
        case GlobalPtr(cell=None) if not user.array.clamped and not user.array.offset:
            return
        case LocalStore(pointer=pointer, value=value) | GlobalStore(pointer=pointer, value=value):
            if _place(pointer) in memory:
                yield value
        case AtomicOp(op=op, pointer=pointer) if op in ("add", "sub") or _is_global(pointer):
            return
        case Collective(op=op, lanes=lanes) if COLLECTIVES[op].result is None:
            yield from () if lanes is None else (lanes,)
        case MatrixPtr(origin=origin):
            yield origin
        case Operation(op="bit_and" | "bit_or" | "bit_xor" | "bit_not" | "shl"):
            yield from _seen_in_bits(user, is_seen)
        case Cast(value=value, type=Scalar(kind="int" | "uint") as new, bits=False) if _is_whole(value):
            assert isinstance(value.type, Scalar)
            if value.type.bits < new.bits or (value.type.bits == new.bits and is_seen):
                yield value
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


def _seen_in_bits(operation: Operation, is_seen: bool) -> Iterator[Statement]:
    """Yield the operands of an operation on bits whose overflow would be seen."""
    match operation:
        case Operation(op="bit_and", operands=[a, b]):
            yield from (a, b) if is_seen and not _is_mask(a) and not _is_mask(b) else ()
        case Operation(op="shl", operands=[value, amount]):
            yield from (amount, value) if is_seen else (amount,)
        case _:
            is_of_sign = any(isinstance(o, Const) and not 0 <= o.value < LARGE for o in operation.operands)
            yield from operation.operands if is_seen or is_of_sign else ()


def _is_global(pointer: Statement) -> bool:
    """Return whether a pointer is to memory of which LLVM does not know who else changes it."""
    return isinstance(base_pointer(pointer), (GlobalPtr, GlobalTemporary))


def _is_mask(value: Statement) -> bool:
    """Return whether a value is a number without the bit of the sign."""
    return isinstance(value, Const) and value.value >= 0


def _is_whole(value: Statement) -> bool:
    return isinstance(value.type, Scalar) and value.type.kind in ("int", "uint")


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
