"""Integers that serve as indices, whose sums `wrapping` leaves as they are: a query that changes nothing.

    stack[top + 1] = k; top += 2; while top > 0     `top` is an index somewhere, so no sum of it is expected to wrap
    p = (h * 31 + x[i]) & (m - 1); x[p]             `p` is an index; what it is a remainder of is any number

A wrapped index is out of bounds of any array; the bounds of a loop without iterations are any numbers, and so are the
arguments of a kernel. The values that an index consists of, and what is stored to the variables
among them, are found from the indices backwards; remainders, masks, shifts and quotients end the search.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from ....ir.functions import Call
from ....ir.nodes import Block, Statement, walk
from ....ir.statements import (
    Alloca,
    ArgLoad,
    Cast,
    Const,
    GlobalPtr,
    IfExp,
    LocalLoad,
    LocalStore,
    MatrixElement,
    MatrixPtr,
    Operation,
    Parameter,
    base_pointer,
)
from ....ir.tasks import Kernel
from ....ir.types import Scalar

SUMS = frozenset({"add", "sub", "neg"})
PASSED = SUMS | {"mul", "min", "max", "abs"}
"""Operations whose operands are as much of an index as their result."""


def place_of(value: Statement) -> Hashable:
    """Return what is the same for all loads of a variable, a parameter or an element of a vector."""
    match value:
        case LocalLoad(pointer=pointer):
            return base_pointer(pointer)
        case ArgLoad(parameter=parameter):
            return parameter
        case MatrixElement(value=vector, indices=[Const(value=number)]):
            return place_of(vector), int(number)
    return value


def places_of_indices(kernel: Kernel) -> set[Hashable]:
    """Return the values, variables and parameters of functions that indices of memory consist of."""
    search = _Search(kernel)
    for root in kernel.roots():
        search.add_block(root)
    search.run()
    return search.found


class _Search:
    """A search from the indices of a kernel backwards.

    found: the places so far. stored: values by the variable that they are stored to. passed: arguments by parameter.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.found: set[Hashable] = set()
        self.seen: set[Statement] = set()
        self.waiting: list[Statement] = []
        self.stored: dict[Statement, list[Statement]] = {}
        self.passed: dict[Parameter, list[Statement]] = {}

    def add_block(self, root: Block) -> None:
        """Add the indices of a block, and what it stores to variables and passes to functions."""
        for statement in walk(root):
            match statement:
                case GlobalPtr(indices=indices) if not statement.array.clamped:
                    self.waiting += indices
                case MatrixPtr(indices=indices) | MatrixElement(indices=indices):
                    self.waiting += indices
                case LocalStore(pointer=Alloca() as variable, value=value):
                    self.stored.setdefault(variable, []).append(value)
                case Call(function=function, arguments=arguments):
                    for parameter, argument in zip(function.parameters, arguments, strict=True):
                        self.passed.setdefault(parameter, []).append(argument)

    def run(self) -> None:
        """Find what the indices consist of."""
        while self.waiting:
            value = self.waiting.pop()
            if value not in self.seen:
                self.seen.add(value)
                self.waiting += self._parts_of(value)

    def _parts_of(self, value: Statement) -> Iterator[Statement]:
        """Yield the values that an index consists of; record it if it is no sum itself."""
        match value:
            case Const():
                return
            case Operation(op=op, operands=parts) if op in PASSED:
                yield from parts
            case Operation(op="select", operands=[_, *parts]):
                yield from parts
            case IfExp(then=then, otherwise=otherwise):
                yield from (block.result for block in (then, otherwise) if block.result is not None)
            case Cast(value=inner, type=Scalar(is_integral=True)) if _is_whole(inner):
                yield inner
            case _:
                place = place_of(value)
                self.found.add(place)
                if isinstance(place, Statement):
                    yield from self.stored.get(place, ())
                elif isinstance(place, Parameter):
                    yield from self.passed.get(place, ())


def _is_whole(value: Statement) -> bool:
    return isinstance(value.type, Scalar) and value.type.is_integral
