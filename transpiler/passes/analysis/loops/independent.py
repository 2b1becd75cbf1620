"""Serial loops of which no iteration accesses an element that another one stores: a query.

    for j in 1 .. n {                                    iterations over d store to the elements of j, one each,
        for d in 0 .. 64 {                               and load those of j - 1
            path[i, j, d] = c[i, j, d] + min(path[i, j - 1, d - 1], path[i, j - 1, d])
        }
    }

Of each store and each access to its array, the indices along an axis say how many iterations apart these are if they
are of one element: `d` and `d` none, `d` and `d - 1` one. Iterations are independent if that is none; or if it cannot
be, as of `j` and `j - 1`, `k % 2` and `(k + 1) % 2`, `now` and `1 - now`, or `d` and `k` in a loop from k + 1.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

from ....ir.constants import constant_range
from ....ir.functions import calls
from ....ir.nodes import Block, Statement, walk, walk_blocks, walk_inside
from ....ir.statements import (
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    RangeFor,
    While,
    base_pointer,
)
from ....ir.types import i32
from ..linear import Linear
from ..queries import base_array

Distances = tuple[int, int]
"""The least and the greatest number of iterations between two accesses of one element; there is none if they cross."""
Parity = tuple[frozenset[Hashable], int]
"""Whether an integer is odd: values of which it is the sum, and a bit."""

NEVER: Distances = (1, -1)
ANY: Distances = (-(1 << 31), 1 << 31)
MOST_PAIRS = 1 << 12
"""The most pairs of accesses that are compared: a body of static loops has many."""
MOST_FACTOR = 1 << 10
"""The greatest factor of an index: products of greater ones with indices may wrap."""


def are_independent(loop: RangeFor, body: Block, unordered: Collection[Statement] = frozenset()) -> bool:
    """Return whether no iteration of a serial loop accesses an element that another one stores.

    body: of the task. unordered: atomic operations whose order nobody sees. Arrays do not overlap.
    """
    accesses = [s for s in walk(loop.body) if isinstance(s, (GlobalLoad, GlobalStore, AtomicOp)) and s not in unordered]
    stores = [s for s in accesses if not isinstance(s, GlobalLoad)]
    if not stores:
        return True
    stored = {base_array(s.pointer) for s in stores}
    if None in stored or any(not stored.isdisjoint(call.function.reads) for call in calls(loop.body)):
        return False
    places = _Places(loop, body, stored)
    pointers: dict[Array, list[GlobalPtr]] = {}
    for access in accesses:
        base = base_pointer(access.pointer)
        if isinstance(base, GlobalPtr) and base.array in stored:
            pointers.setdefault(base.array, []).append(base)
    bases = [base for s in stores if isinstance(base := base_pointer(s.pointer), GlobalPtr)]
    if sum(len(pointers[first.array]) for first in bases) > MOST_PAIRS:
        return False
    pairs = {(first, second) for first in bases for second in pointers[first.array]}
    return all(places.are_apart(*pair) for pair in pairs)


class _Places:
    """Reads the indices of the elements that iterations of a loop access.

    Attributes:
        nested: the loops inside. inside: all statements of the loop. stored: the arrays that it stores to.
        assigned: variables that it assigns. current: loads before it of variables that have their values still.
        swapped: pairs of variables with two different numbers, which the task only swaps.
    """

    def __init__(self, loop: RangeFor, body: Block, stored: Collection[Array | None]) -> None:
        self.loop, self.stored = loop, stored
        self.inside = set(walk(loop.body))
        self.nested = {s for s in self.inside if isinstance(s, (RangeFor, While))}
        self.assigned = {base_pointer(s.pointer) for s in self.inside if isinstance(s, LocalStore)}
        self.current = _current_loads(loop, body)
        self.swapped = swapped_variables(body)

    def are_apart(self, first: GlobalPtr, second: GlobalPtr) -> bool:
        """Return whether different iterations certainly access different elements by two pointers."""
        least, most = ANY
        for one, other in zip(first.indices, second.indices, strict=True):
            if self.differ(one, other):
                return True
            low, high = self.distances(one, other)
            least, most = max(least, low), min(most, high)
        return least > most or least == most == 0

    def distances(self, one: Statement, other: Statement) -> Distances:
        """Return how many iterations apart two indices may be equal."""
        first, second = self.read(one), self.read(other)
        if first is None or second is None:
            return ANY
        own, (step,) = (self.loop, 0), self.loop.steps
        factor, factor_there = first.indices.get(own, 0), second.indices.get(own, 0)
        if not isinstance(step, Const) or (factor and factor_there and factor != factor_there):
            return ANY
        if not factor and not factor_there:
            low, high = self.range_of(first, second)
            return ANY if low <= 0 <= high else NEVER
        if not factor or not factor_there:
            return NEVER if self.is_outside(first, second, int(step.value)) else ANY
        by = factor * int(step.value)
        low, high = self.range_of(first, second)
        if abs(by) > MOST_FACTOR or (low, high) == ANY:
            return ANY
        return (-(-low // by), high // by) if by > 0 else (-(-high // by), low // by)

    def range_of(self, first: Linear, second: Linear) -> Distances:
        """Return the least and the greatest number that the second of two indices is more, apart from the loop's."""
        low = high = second.constant - first.constant
        outside = self.outside(second).plus(self.outside(first), -1)
        if outside.indices or outside.values:
            return ANY
        for linear, sign in ((first, -1), (second, 1)):
            for (loop, axis), factor in linear.indices.items():
                if loop in self.nested:
                    indices = constant_range(loop, axis) if isinstance(loop, RangeFor) else None
                    if not indices:
                        return ANY
                    ends = sorted((sign * factor * indices[0], sign * factor * indices[-1]))
                    low, high = low + ends[0], high + ends[1]
        return low, high

    def outside(self, linear: Linear) -> Linear:
        """Return what all iterations have in common of an index, without the number."""
        others = {index: n for index, n in linear.indices.items() if index[0] is not self.loop}
        return Linear({index: n for index, n in others.items() if index[0] not in self.nested}, linear.values)

    def is_outside(self, first: Linear, second: Linear, step: int) -> bool:
        """Return whether an index, of which one has that of the loop, is equal to the other for none of the loop's."""
        own = (self.loop, 0)
        has, has_not = (first, second) if own in first.indices else (second, first)
        factor = has.indices[own]
        if abs(factor) != 1 or any(loop in self.nested for loop, _ in (*has.indices, *has_not.indices)):
            return False
        rest = Linear({index: n for index, n in has.indices.items() if index != own}, has.values, has.constant)
        equal = Linear().plus(has_not.plus(rest, -1), factor)
        start, end = self.read(self.loop.starts[0]), self.read(self.loop.ends[0])
        before = None if start is None else equal.plus(start, -1).number
        behind = None if end is None else equal.plus(end, -1).number
        if step > 0:
            return (before is not None and before < 0) or (behind is not None and behind >= 0)
        return (before is not None and before > 0) or (behind is not None and behind <= 0)

    # --- indices

    def read(self, value: Statement) -> Linear | None:
        """Return an index as a sum of loop indices, values that all iterations have in common, and a number."""
        if value.type != i32:
            return None
        match value:
            case Const(value=number):
                return Linear(constant=int(number))
            case LoopIndex(loop=loop, axis=axis):
                return Linear({(loop, axis): 1})
            case Operation(op="add" | "sub" as op, operands=[first, second]):
                terms = self.read(first), self.read(second)
                if terms[0] is None or terms[1] is None:
                    return None
                return terms[0].plus(terms[1], 1 if op == "add" else -1)
            case Operation(op="mul", operands=[first, Const(value=factor)] | [Const(value=factor), first]):
                term = self.read(first)
                return None if term is None or abs(factor) > MOST_FACTOR else Linear().plus(term, int(factor))
        key = self.key(value)
        return None if key is None else Linear(values={key: (1, value)})

    def key(self, value: Statement) -> Hashable | None:
        """Return what is the same for equal values that all iterations have in common; None for another value."""
        match value:
            case Const(value=number, type=type):
                return "const", number, type
            case LoopIndex(loop=loop, axis=axis):
                return None if loop is self.loop or loop in self.nested else ("index", loop, axis)
            case ArgLoad(parameter=parameter):
                return "argument", parameter
            case ArrayShape(array=array, axis=axis):
                return "shape", array, axis
            case LocalLoad(pointer=Alloca() as variable):
                if value in self.inside:
                    return None if variable in self.assigned or variable in self.inside else ("variable", variable)
                return ("variable", variable) if value in self.current else value
            case GlobalLoad(pointer=GlobalPtr(array=array, indices=indices)) if value in self.inside:
                return None if array in self.stored else self.joined_key("element", array, indices)
            case Operation(op=op, operands=operands):
                return self.joined_key(op, value.type, operands)
            case Cast(value=inner, bits=bits, type=type):
                return self.joined_key(f"cast {bits}", type, [inner])
        return None if value in self.inside else value

    def joined_key(self, word: str, what: Hashable, parts: list[Statement]) -> Hashable | None:
        """Return the key of a value that is computed from others."""
        keys = [self.key(part) for part in parts]
        return None if None in keys else (word, what, *keys)

    # --- indices that are never equal

    def differ(self, one: Statement, other: Statement) -> bool:
        """Return whether two indices differ by what they are divided by, or because one of them alone is odd."""
        match one, other:
            case (
                Operation(op="mod", operands=[first, Const(value=divisor)]),
                Operation(op="mod", operands=[second, Const(value=same)]),
            ) if divisor == same and divisor > 0 and self.differ_by_no_multiple(first, second, int(divisor)):
                return True
            case LocalLoad(), LocalLoad():
                keys = self.key(one), self.key(other)
                variables = {key[1] for key in keys if isinstance(key, tuple) and key[0] == "variable"}
                if frozenset(variables) in self.swapped:
                    return True
        for choice, value in ((one, other), (other, one)):
            if (values := _chosen(choice)) and all(self.differ(each, value) for each in values):
                return True
        found = self.parity(one), self.parity(other)
        return found[0] is not None and found[1] is not None and found[0][0] == found[1][0] and found[0] != found[1]

    def differ_by_no_multiple(self, one: Statement, other: Statement, divisor: int) -> bool:
        """Return whether two sums, which are the same in all iterations, differ by no multiple of a number."""
        first, second = self.read(one), self.read(other)
        if first is None or second is None:
            return False
        if divisor & (divisor - 1) and (first.values or second.values):
            return False  # a sum of these may wrap
        has_own = any(loop is self.loop or loop in self.nested for loop, _ in (*first.indices, *second.indices))
        number = first.plus(second, -1).number
        return not has_own and number is not None and number % divisor != 0

    def parity(self, value: Statement) -> Parity | None:
        """Return whether an integer is odd, if that is the same in all iterations; sums that wrap keep it."""
        if value.type != i32:
            return None
        match value:
            case Const(value=number):
                return frozenset(), int(number) & 1
            case Operation(op="add" | "sub" | "bit_xor", operands=[first, second]):
                found = self.parity(first), self.parity(second)
                if found[0] is None or found[1] is None:
                    return None
                return found[0][0] ^ found[1][0], found[0][1] ^ found[1][1]
            case Operation(op="neg", operands=[first]):
                return self.parity(first)
            case Operation(op="mul" | "bit_and", operands=[first, Const(value=number)] | [Const(value=number), first]):
                return self.parity(first) if int(number) & 1 else (frozenset(), 0)
            case Operation(op="mod", operands=[first, Const(value=number)]) if number and int(number) % 2 == 0:
                return self.parity(first)
        key = self.key(value)
        return None if key is None else (frozenset({key}), 0)


def _chosen(value: Statement) -> list[Statement]:
    """Return the values of which a value is one, [] if it is no choice."""
    match value:
        case IfExp(then=Block(result=Statement() as first), otherwise=Block(result=Statement() as second)):
            return [first, second]
        case Operation(op="select", operands=[_, first, second]):
            return [first, second]
    return []


def _current_loads(loop: RangeFor, body: Block) -> set[Statement]:
    """Return the loads of variables before a loop, which have not been assigned when an iteration of it runs."""
    statements = list(walk(body))
    order = {statement: number for number, statement in enumerate(statements)}
    assigned: dict[Statement, list[int]] = {}
    around: list[tuple[int, int]] = []  # the first and the last statement of each loop, outermost first
    for statement in statements:
        if isinstance(statement, LocalStore):
            assigned.setdefault(base_pointer(statement.pointer), []).append(order[statement])
        elif isinstance(statement, (RangeFor, While)):
            first = order[statement]
            last = first + sum(1 for _ in walk_inside(statement))
            around += [(first, last)] if first <= order[loop] <= last else []
    found: set[Statement] = set()
    for number, load in enumerate(statements[: order[loop]]):
        if isinstance(load, LocalLoad) and isinstance(load.pointer, Alloca):
            last = next(last for first, last in around if not first <= number <= last)
            if not any(number < place <= last for place in assigned.get(load.pointer, ())):
                found.add(load)
    return found


def swapped_variables(body: Block) -> set[frozenset[Statement]]:
    """Return pairs of variables that start as two different numbers and change by `a, b = b, a` alone."""
    stores: dict[Statement, list[tuple[LocalStore, Block]]] = {}
    for block in walk_blocks(body):
        for statement in block:
            if isinstance(statement, LocalStore):
                stores.setdefault(base_pointer(statement.pointer), []).append((statement, block))
    found = set[frozenset[Statement]]()
    for variable, own in stores.items():
        first, block = own[0]
        others = {s.pointer for s in block if isinstance(s, LocalStore) and isinstance(s.pointer, Alloca)} - {variable}
        if first.pointer is variable and variable in block.statements:
            found |= {frozenset((variable, v)) for v in others if _are_swapped(own, stores[v])}
    return found


def _are_swapped(own: list[tuple[LocalStore, Block]], others: list[tuple[LocalStore, Block]]) -> bool:
    """Return whether two variables are assigned together: first two numbers, and later what the other one had."""
    numbers = set[object]()
    for number, ((store, block), (other, same)) in enumerate(zip(own, others, strict=False)):
        pair = (store.pointer, other.pointer)
        if block is not same or pair[1] not in others[0][1].statements:
            return False
        first, last = sorted((block.statements.index(store), block.statements.index(other)))
        if isinstance(store.value, Const) and isinstance(other.value, Const) and number == 0:
            numbers = {store.value.value, other.value.value}
        elif isinstance(store.value, LocalLoad) and isinstance(other.value, LocalLoad):
            loads = [store.value, other.value]
            if (loads[1].pointer, loads[0].pointer) != pair or not all(load in block.statements for load in loads):
                return False
            places = list(map(block.statements.index, loads))
            if max(places) > first:
                return False
            first = min(places)
        else:
            return False
        between = [s for s in block.statements[first:last] if s not in (store, other)]
        if any(s.BLOCKS or (isinstance(s, LocalStore) and base_pointer(s.pointer) in pair) for s in between):
            return False
    return len(own) == len(others) and len(numbers) == 2
