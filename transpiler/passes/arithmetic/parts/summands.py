"""What a compiler may know of the terms of an integer sum, by which it could use that the sum does not wrap.

LLVM derives the sign of a sum from the signs of its terms, and moves numbers over comparisons. It does neither where
the terms are numbers that it loads, of which it knows nothing: `x[i] + y[i] <= z[i]` compares the sum, wrapped or not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ....ir.nodes import Statement
from ....ir.statements import (
    Alloca,
    ArgLoad,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    Operation,
    Parameter,
    base_pointer,
)
from ....ir.threads import Collective
from ....ir.types import Scalar, element_of
from .positions import SUMS

SMALL = 1 << 24
"""Numbers up to this one are distances of elements; greater ones are factors of hashes, or none as infinity."""
HASHED = frozenset({"mul", "shl", "bit_xor", "bit_or", "bit_not"})
"""Operations by which sums leave the numbers that anything counts."""


class Summands:
    """The terms of sums, with what is stored to the variables among them.

    parameters: of the kernel, about whose arguments no compiler knows anything.
    """

    def __init__(self, values: Iterable[Statement], parameters: Iterable[Parameter]) -> None:
        self.parameters = frozenset(parameters)
        self.stored: dict[Statement, list[Statement]] = {}
        for value in values:
            if isinstance(value, LocalStore) and isinstance(value.pointer, Alloca):
                self.stored.setdefault(value.pointer, []).append(value.value)

    def hides_sign(self, total: Statement) -> bool:
        """Return whether no compiler knows the sign of a value, so that it divides and converts what it may be."""
        return _has_sign(total) and not self._has_product(total) and self._is_unknown(total, set())

    def hides_order(self, total: Statement, other: Statement) -> bool:
        """Return whether no compiler can compare other values than a sum with `other`."""
        terms = self._loads_in(total, set())
        return terms is not None and not terms & {_source(term) for term in _terms(other)}

    def _loads_in(self, total: Statement, inside: set[Statement]) -> set[Hashable] | None:
        """Return what a sum of loaded numbers loads, None for any other sum. inside: the variables being searched."""
        found: set[Hashable] = set()
        for part in _parts(total):
            match part:
                case Operation(op="add") | Const(value=0):
                    continue
                case LocalLoad(pointer=Alloca() as variable):
                    found.add(variable)
                    if variable in inside:
                        continue
                    for stored in self.stored.get(variable, ()):
                        others = self._loads_in(stored, inside | {variable})
                        if others is None:
                            return None
                        found |= others
                case GlobalLoad() | ArgLoad() | MatrixElement() if self._is_unknown(part, set()):
                    found.add(_source(part))
                case _:
                    return None
        return found

    def is_near(self, total: Statement) -> bool:
        """Return whether a value is a sum of one number that is no hash, and numbers of elements."""
        if not isinstance(total, Operation) or total.op not in SUMS:
            return False
        others = [term for term in _terms(total) if not self._counts_elements(term)]
        return len(others) <= 1 and not any(map(self._has_product, others))

    def _counts_elements(self, term: Statement) -> bool:
        match term:
            case Const(value=number):
                return abs(number) <= SMALL
            case LoopIndex() | ArrayShape():
                return True
            case Cast(value=value):
                return isinstance(value.type, Scalar) and value.type.kind != "float" and value.type.bits < 32
            case Operation(op="select", operands=[_, *chosen]):
                return all(map(self._counts_elements, chosen))
            case IfExp(then=then, otherwise=otherwise):
                return all(
                    block.result is not None and self._counts_elements(block.result) for block in (then, otherwise)
                )
        return False

    def _is_unknown(self, value: Statement, inside: set[Statement]) -> bool:
        """Return whether a value may have either sign. inside: the variables that are being searched."""
        match value:
            case GlobalLoad() | AtomicOp() | Collective():
                return _has_sign(value)
            case ArgLoad(parameter=parameter):
                return parameter in self.parameters and _has_sign(value)
            case MatrixElement(value=GlobalLoad()):
                return _has_sign(value)
            case Cast(value=inner):
                return inner.type is not None and element_of(inner.type).is_float
            case LocalLoad(pointer=Alloca() as variable) if variable not in inside:
                stored = self.stored.get(variable, ())
                return any(self._is_unknown(one, inside | {variable}) for one in stored)
            case Operation(op=op, operands=parts) if op in SUMS:
                return any(self._is_unknown(part, inside) for part in parts)
        return False

    def _has_product(self, value: Statement) -> bool:
        """Return whether a value is a hash: a sum of products, or a variable to which one is stored."""
        for part in _parts(value):
            match part:
                case Operation(op=op) if op in HASHED:
                    return True
                case LocalLoad(pointer=Alloca() as variable):
                    for stored in self.stored.get(variable, ()):
                        if any(isinstance(one, Operation) and one.op in HASHED for one in _parts(stored)):
                            return True
        return False


def _has_sign(value: Statement) -> bool:
    return isinstance(value.type, Scalar) and value.type.kind == "int" and value.type.bits >= 32


def _parts(total: Statement) -> Iterator[Statement]:
    """Yield a value and, of a sum, what it consists of."""
    yield total
    if isinstance(total, Operation) and total.op in SUMS:
        for operand in total.operands:
            yield from _parts(operand)


def _terms(total: Statement) -> Iterator[Statement]:
    """Yield the terms of a sum."""
    return (part for part in _parts(total) if not (isinstance(part, Operation) and part.op in SUMS))


def _source(term: Statement) -> Hashable:
    """Return what two terms have in common if they may be the same number."""
    match term:
        case LocalLoad(pointer=pointer) | GlobalLoad(pointer=pointer):
            base = base_pointer(pointer)
            return base.array if isinstance(base, GlobalPtr) else base
        case MatrixElement(value=value):
            return _source(value)
        case ArgLoad(parameter=parameter):
            return parameter
    return term
