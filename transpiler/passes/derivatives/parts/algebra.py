"""Values with Python's operators, so that the tables of derivatives read like formulas.

`-g * a / (b * b)` appends three operations to the builder's block. The element types are those of the op table.
"""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Statement
from ....ir.statements import is_const
from ....ir.types import Scalar, Tensor, Type, element_of
from ....lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """A number, vector or matrix of the kernel that is built by `builder`."""

    builder: Builder
    statement: Statement

    @property
    def type(self) -> Type:
        """Its type."""
        assert self.statement.type is not None
        return self.statement.type

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape, () for a number."""
        return self.type.shape if isinstance(self.type, Tensor) else ()

    @property
    def element(self) -> Scalar:
        """The type of its elements."""
        return element_of(self.type)

    def apply(self, name: str, *others: Value | float) -> Value:
        """Return an operation of the op table with this value as first operand."""
        operands = [self.statement, *(self.lifted(other).statement for other in others)]
        return Value(self.builder, self.builder.op(name, *operands))

    def lifted(self, other: Value | float) -> Value:
        """Return a number as a constant of this value's element type."""
        return other if isinstance(other, Value) else Value(self.builder, self.builder.const(other, self.element))

    def at(self, *indices: int) -> Value:
        """Return an element of a vector or matrix."""
        constants = [self.builder.const(index) for index in indices]
        return Value(self.builder, self.builder.element(self.statement, constants))

    def __add__(self, other: Value | float) -> Value:
        return self.apply("add", other)

    def __radd__(self, other: float) -> Value:
        return self.lifted(other).apply("add", self)

    def __sub__(self, other: Value | float) -> Value:
        return self.apply("sub", other)

    def __rsub__(self, other: float) -> Value:
        return self.lifted(other).apply("sub", self)

    def __mul__(self, other: Value | float) -> Value:
        if isinstance(other, Value) and is_const(self.statement, 1) and not self.shape:
            return other
        if isinstance(other, Value) and is_const(other.statement, 1) and not other.shape:
            return self
        return self.apply("mul", other)

    def __rmul__(self, other: float) -> Value:
        return self.lifted(other).apply("mul", self)

    def __truediv__(self, other: Value | float) -> Value:
        return self.apply("div", other)

    def __rtruediv__(self, other: float) -> Value:
        return self.lifted(other).apply("div", self)

    def __matmul__(self, other: Value) -> Value:
        return self.apply("matmul", other)

    def __neg__(self) -> Value:
        return self.apply("neg")

    @property
    def transposed(self) -> Value:
        """The transpose of a matrix."""
        return self.apply("transpose")


def where(condition: Value, then: Value | float, otherwise: Value | float) -> Value:
    """Return `then` where the condition holds, else `otherwise`; one of them is a value."""
    known = then if isinstance(then, Value) else otherwise
    assert isinstance(known, Value)
    return condition.apply("select", known.lifted(then), known.lifted(otherwise))


def tensor(elements: list[Value], shape: tuple[int, ...]) -> Value:
    """Return the vector or matrix of these elements, row by row."""
    first = elements[0]
    return Value(first.builder, first.builder.tensor([e.statement for e in elements], shape, first.element))
