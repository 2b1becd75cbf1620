"""Indices as sums: which loop indices they contain, and what is added to these.

    x[i + di - 1]    ->    {i: 1, di: 1} - 1        x[t * n + i]    ->    {i: 1} + t * n

In: an index. Out: a `Linear`: loop indices, values that no iteration of the parallel loop changes, and a constant.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field

from ...ir.builder import Builder
from ...ir.nodes import Statement
from ...ir.statements import ArgLoad, Array, ArrayShape, Cast, Const, LoopIndex, Operation
from ...ir.types import Scalar, i32
from ...lazy_dataclasses import dataclass

Index = tuple[Statement, int]
"""The index of a loop along an axis."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum. indices: the factor of each loop index. values: by key, the factor of each other value, and the value."""

    indices: dict[Index, int] = field(default_factory=dict)
    values: dict[Hashable, tuple[int, Statement]] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """Return `self + factor * other`."""
        indices, values = dict(self.indices), dict(self.values)
        for index, count in other.indices.items():
            indices[index] = indices.get(index, 0) + factor * count
        for key, (count, value) in other.values.items():
            values[key] = values.get(key, (0, value))[0] + factor * count, value
        return Linear(
            {index: count for index, count in indices.items() if count},
            {key: pair for key, pair in values.items() if pair[0]},
            self.constant + factor * other.constant,
        )

    def shifted(self, number: int) -> Linear:
        """Return the sum and a number."""
        return Linear(self.indices, self.values, self.constant + number)

    @property
    def number(self) -> int | None:
        """The constant, if nothing else is in the sum."""
        return None if self.indices or self.values else self.constant

    @property
    def key(self) -> Hashable:
        """Equal for equal sums."""
        return frozenset(self.indices.items()), frozenset((k, v[0]) for k, v in self.values.items()), self.constant

    def emit(self, builder: Builder, known: Mapping[Index, Statement], kind: Scalar = i32) -> Statement:
        """Emit the sum, computed in an integer type. known: the value of each loop index."""
        terms = [(count, known[index]) for index, count in self.indices.items()]
        terms += [(count, emit_again(builder, value)) for count, value in self.values.values()]
        total: Statement | None = None
        for count, number in sorted(terms, key=lambda term: -term[0]):
            value = builder.cast(number, kind, is_implicit=True)
            scaled = value if abs(count) == 1 else builder.op("mul", builder.const(abs(count), kind), value)
            if total is None:
                total = scaled if count > 0 else builder.op("neg", scaled)
            else:
                total = builder.op("add" if count > 0 else "sub", total, scaled)
        if total is None:
            return builder.const(self.constant, kind)
        if self.constant:
            total = builder.op("add" if self.constant > 0 else "sub", total, builder.const(abs(self.constant), kind))
        return total


class Reader:
    """Reads indices in a parallel loop.

    inside: its statements. primal: an array by the array of its gradient. scales: products with numbers are sums, too.
    same: values that count as the index of a loop.
    """

    def __init__(
        self,
        inside: set[Statement],
        primal: Mapping[Array, Array],
        scales: bool = False,
        same: Mapping[Statement, Index] | None = None,
    ) -> None:
        self.inside = inside
        self.primal = primal
        self.scales = scales
        self.same = same or {}

    def read(self, value: Statement) -> Linear | None:
        """Return a value as a sum, None if it is none."""
        if isinstance(value, Const):
            return Linear(constant=int(value.value)) if value.type == i32 else None
        if value in self.same:
            return Linear({self.same[value]: 1})
        if isinstance(value, LoopIndex) and value.loop in self.inside:
            return Linear({(value.loop, value.axis): 1}) if value.type == i32 else None
        if isinstance(value, Operation) and value.op in ("add", "sub", "neg") and value.type == i32:
            terms = [self.read(operand) for operand in value.operands]
            if any(term is None for term in terms):
                return None
            first = terms[0]
            assert first is not None
            if value.op == "neg":
                return Linear().plus(first, -1)
            assert terms[1] is not None
            return first.plus(terms[1], 1 if value.op == "add" else -1)
        if self.scales and isinstance(value, Operation) and value.op == "mul" and value.type == i32:
            numbers = [int(operand.value) for operand in value.operands if isinstance(operand, Const)]
            others = [self.read(operand) for operand in value.operands if not isinstance(operand, Const)]
            if len(numbers) == 1 and others[0] is not None and others[0].indices:
                return Linear().plus(others[0], numbers[0])
        return Linear(values={self.key(value): (1, value)}) if value.type == i32 and self.is_uniform(value) else None

    def is_uniform(self, value: Statement) -> bool:
        """Return whether a value is the same in all iterations."""
        if value not in self.inside or isinstance(value, (Const, ArgLoad, ArrayShape)):
            return True
        if isinstance(value, Operation):
            return all(map(self.is_uniform, value.operands))
        return isinstance(value, Cast) and self.is_uniform(value.value)

    def key(self, value: Statement) -> Hashable:
        """Return what is equal for values that are computed in the same way; a gradient has the shape of its array."""
        match value:
            case Const(value=number, type=type):
                return "const", number, type
            case ArgLoad(parameter=parameter):
                return "argument", parameter
            case ArrayShape(array=array, axis=axis):
                return "shape", self.primal.get(array, array) if isinstance(array, Array) else array, axis
            case Operation(op=op, operands=operands):
                return op, *map(self.key, operands)
            case Cast(value=inner, bits=bits, type=type):
                return "cast", bits, type, self.key(inner)
        return value


def emit_again(builder: Builder, value: Statement) -> Statement:
    """Emit again what `Reader.is_uniform` accepts; a value from outside the loop stays the same."""
    match value:
        case Const(value=number, type=type, origin=origin):
            made = builder.const(number, type)  # type: ignore[arg-type]
            made.origin = origin
            return made
        case ArgLoad(parameter=parameter):
            return builder.add(ArgLoad(parameter, type=value.type, name=value.name))
        case ArrayShape(array=array, axis=axis):
            return builder.add(ArrayShape(array, axis, type=value.type))
        case Operation(op=op, operands=operands):
            return builder.op(op, *(emit_again(builder, operand) for operand in operands))
        case Cast(value=inner, bits=bits):
            again = emit_again(builder, inner)
            return builder.add(Cast(again, bits, type=value.type))
    return value
