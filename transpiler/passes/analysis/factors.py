"""Finds the elements of arrays of which values are made: their terms, by sums and copies, and factors, by products.

    v[i] = v[i] * d + f[i] * dt        no terms, the factors v and f
    x[i] = x[i] + dt * v[i]            the term x, the factor v

Values are followed through local variables, members of structs, calls and what crosses tasks. A function such as `exp`
ends a chain: its result is not small where the operand is.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple

from ...ir.functions import Call, CallResult
from ...ir.nodes import Statement, walk
from ...ir.nodes import operands as operands_of
from ...ir.statements import (
    ArgLoad,
    Array,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    IfExp,
    LocalLoad,
    LocalStore,
    MatrixElement,
    MatrixInit,
    Operation,
    Return,
    StructElement,
    StructPtr,
    base_pointer,
    origin_of,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Struct, Tensor, Type, element_of, f32, f64

PRODUCTS = frozenset({"mul", "matmul", "lean_matmul", "dot", "cross", "outer_product"})
QUOTIENTS = frozenset({"div", "raw_div"})
"""Products of the dividend, if the divisor is given: what a kernel computes itself mostly normalizes."""
SUMS = frozenset({"add", "sub", "neg", "abs", "min", "max", "select", "sum", "transpose"})


class Place(NamedTuple):
    """All elements of an array, or a member of them. member: "" for elements that are no structs, or whole ones."""

    array: Array
    member: str


class Parts(NamedTuple):
    """What a value is made of."""

    terms: frozenset[Place] = frozenset()
    factors: frozenset[Place] = frozenset()

    @property
    def all(self) -> frozenset[Place]:
        """Terms and factors."""
        return self.terms | self.factors


NOTHING = Parts()


class Factors:
    """The parts of all values of a kernel that are floats of 32 or 64 bits, or structs.

    Args:
        kernel: after `offload`.
        arrays: those whose elements count.

    Attributes:
        stored: by the statements that store, what they store is made of. From then on it counts as loaded from there.
    """

    def __init__(self, kernel: Kernel, arrays: Set[Array]) -> None:
        self.arrays = arrays
        self.parts: dict[Statement, Parts] = {}
        self.stored: dict[Statement, Parts] = {}
        self.contents: dict[tuple[object, str], Parts] = {}  # of variables, or members of them, and of results
        roots = kernel.roots()
        callees = {id(function.body): function for function in kernel.functions}
        self.multiplies = {f: any(map(_is_product, walk(f.body))) for f in kernel.functions}
        self.changed = True
        while self.changed:  # once more where a value comes from what is stored, or a result, further down
            self.changed = False
            for root in roots:
                statements = list(walk(root))
                for statement in statements:
                    self._visit(statement, callees.get(id(root)))
                for choice in [s for s in statements if isinstance(s, IfExp)]:
                    self._store(choice, "", _joined([self.of(choice.then.result), self.of(choice.otherwise.result)]))

    def of(self, value: Statement | None) -> Parts:
        """Return the parts of a value."""
        return NOTHING if value is None else self.parts.get(value, NOTHING)

    def _visit(self, statement: Statement, function: object) -> None:
        """Note what a statement stores, and what its value is made of."""
        if isinstance(statement, (LocalStore, GlobalStore)):
            base, member, value = base_pointer(statement.pointer), member_of(statement.pointer), statement.value
            self.stored[statement] = self.of(value)
            if not isinstance(base, GlobalPtr):
                self._store(base, member, self.of(value))
            elif base.array in self.arrays and self.of(value) is not NOTHING:
                self.parts[value] = self._loaded(statement.pointer)
        elif isinstance(statement, Return):
            for value in statement.values:
                self._store(function, "", self.of(value))
        elif is_flushed(statement.type) or isinstance(statement.type, Struct) or isinstance(statement, Call):
            self.parts[statement] = self._parts(statement)

    def _store(self, variable: object, member: str, parts: Parts) -> None:
        key = _variable(variable), member
        old = self.contents.get(key, NOTHING)
        new = _joined([old, parts])
        if new != old:
            self.contents[key] = new
            self.changed = True

    def _parts(self, value: Statement) -> Parts:
        match value:
            case Operation(op=op, operands=operands) if op in PRODUCTS:
                return _multiplied(map(self.of, operands))
            case Operation(op=op, operands=[dividend, divisor]) if op in QUOTIENTS and _is_given(divisor):
                return _multiplied([self.of(dividend)])
            case Operation(op=op, operands=operands) if op in SUMS:
                return _joined(map(self.of, operands))
            case Cast(bits=False, value=inner) | MatrixElement(value=inner) | CallResult(call=inner):
                return self.of(inner)
            case MatrixInit(elements=elements):
                return _joined(map(self.of, elements))
            case IfExp():
                return self.contents.get((value, ""), NOTHING)
            case StructElement(value=inner, member=member):
                return _of_member(self.of(inner), member)
            case Call(function=function, arguments=arguments):
                given = [self.of(argument) for argument in arguments]
                given = [_multiplied(given)] if self.multiplies.get(function) else given
                return _joined([*given, self.contents.get((function, ""), NOTHING)])
            case LocalLoad(pointer=pointer) | GlobalLoad(pointer=pointer):
                return self._loaded(pointer)
        return NOTHING

    def _loaded(self, pointer: Statement) -> Parts:
        base, member = base_pointer(pointer), member_of(pointer)
        if isinstance(base, GlobalPtr):
            return Parts(frozenset({Place(base.array, member)})) if base.array in self.arrays else NOTHING
        variable = _variable(base)
        whole = self.contents.get((variable, ""), NOTHING)
        if not member:
            return whole
        return _joined([_of_member(whole, member), self.contents.get((variable, member), NOTHING)])


def is_flushed(type: Type | None) -> bool:
    """Return whether values of a type are floats of 32 or 64 bits, for which processors have subnormal numbers."""
    return isinstance(type, (Scalar, Tensor)) and element_of(type) in (f32, f64)


def member_of(pointer: Statement) -> str:
    """Return the member of a struct that is, or contains, what a pointer points to; "" if it points to no member."""
    member = ""
    while (origin := origin_of(pointer)) is not None:
        member = pointer.member if isinstance(pointer, StructPtr) else member
        pointer = origin
    return member


def _variable(pointer: object) -> object:
    """Return what statements that point to the same variable have in common."""
    return pointer.temporary if isinstance(pointer, GlobalTemporary) else pointer


def _is_given(value: Statement) -> bool:
    """Return whether a value consists of numbers and arguments."""
    if isinstance(value, (Operation, Cast)):
        return all(map(_is_given, operands_of(value)))
    return isinstance(value, (Const, ArgLoad))


def _is_product(statement: Statement) -> bool:
    return isinstance(statement, Operation) and statement.op in PRODUCTS | QUOTIENTS and is_flushed(statement.type)


def _joined(parts: Iterable[Parts]) -> Parts:
    """Return the parts of a sum."""
    found = [each for each in parts if each is not NOTHING]
    if len(found) <= 1:
        return found[0] if found else NOTHING
    return Parts(frozenset().union(*(p.terms for p in found)), frozenset().union(*(p.factors for p in found)))


def _multiplied(parts: Iterable[Parts]) -> Parts:
    """Return the parts of a product."""
    found = [each.all for each in parts if each is not NOTHING]
    return Parts(frozenset(), frozenset().union(*found)) if found else NOTHING


def _of_member(parts: Parts, member: str) -> Parts:
    """Return the parts of a member of a struct."""
    if parts is NOTHING:
        return NOTHING
    return Parts(*(frozenset(Place(p.array, p.member or member) for p in places) for places in parts))
