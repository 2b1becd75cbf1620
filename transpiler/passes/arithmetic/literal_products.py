"""Writes products of matrices with literal zeros out, for GPUs whose compiler keeps products by 0.

    $1 = [[c, -s, 0], [s, c, 0], [0, 0, 1]]          $3 = mul c, $2.x
    $3 = matmul $1, $2                               $4 = mul s, $2.y        ...
                                           ->        $9 = [$3 - $4, ..., $2.z]

Rotations about an axis, transitions of filters and selections are mostly zeros, but 0 times infinity is no number, so
that NVRTC keeps these products: a step of a Kalman filter of 4 x 4 has 330 instructions before, 150 after. With
`fast_math` they are left out, as NVIDIA's Vulkan driver does. C has `lean_products`.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.functions import in_loops
from ...ir.nodes import Statement, walk
from ...ir.statements import (
    Const,
    LocalLoad,
    MatrixElement,
    MatrixInit,
    Operation,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel
from ...ir.types import Tensor, Type, f32, f64, i32
from ..analysis.only_values import only_values
from ..context import PassContext
from ..rewrite import Rewriter
from .parts.literal_matrices import has_many_zeros

MOST_ELEMENTS = 16
"""The most elements of a result that is written out."""

Rows = list[list[Statement]]
"""The elements of a matrix."""
Element = Callable[[int, int], Statement]
"""Takes the row and the column."""


def literal_products(kernel: Kernel, context: PassContext) -> bool:
    """Write such products out in loops and functions of CUDA."""
    capabilities = context.capabilities
    if not capabilities.keeps_zero_products or capabilities.has_constant_tests or not context.options.fast_math:
        return False
    return _Products(kernel).run(kernel)


class _Products(Rewriter):
    """inner: the operations in loops. variables: those with one value, a matrix of numbers."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__({Operation: _written_out})
        bodies = in_loops(kernel.roots(), repeats)
        self.inner = {s for body in bodies for s in walk(body) if isinstance(s, Operation)}
        self.variables = {
            variable: value
            for variable, value in only_values(kernel).items()
            if isinstance(value, MatrixInit) and all(isinstance(element, Const) for element in value.elements)
        }

    def rows_of(self, value: Statement) -> Rows | None:
        """Return the elements of a matrix that is written as such, or of the transpose of one."""
        if isinstance(value, Operation) and value.op == "transpose":
            rows = self.rows_of(value.operands[0])
            return None if rows is None else [list(column) for column in zip(*rows, strict=True)]
        if isinstance(value, LocalLoad) and value.pointer in self.variables:
            value = self.variables[value.pointer]
        if not isinstance(value, MatrixInit) or not isinstance(value.type, Tensor) or len(value.type.shape) != 2:
            return None
        columns = value.type.shape[1]
        return [value.elements[k : k + columns] for k in range(0, len(value.elements), columns)]

    def element_of(self, value: Statement, rows: Rows | None, replaced: Statement) -> Element:
        """Return what gives an element of a matrix or a vector. rows: its elements, if they are known."""
        assert isinstance(value.type, Tensor)
        rank, scalar = len(value.type.shape), value.type.element
        found: dict[tuple[int, int], Statement] = {}

        def element(row: int, column: int) -> Statement:
            known = rows[row][column] if rows is not None else None
            if known is not None and not isinstance(known, Const):
                return known
            if (row, column) not in found:
                if isinstance(known, Const):
                    made: Statement = Const(known.value, type=scalar, origin=known.origin)
                else:
                    indices = [self.made(Const(k, type=i32), replaced) for k in (row, column)[:rank]]
                    made = MatrixElement(value, indices, type=scalar)
                found[row, column] = self.made(made, replaced)
            return found[row, column]

        return element

    def made(self, statement: Statement, replaced: Statement) -> Statement:
        """Emit a statement in place of another one."""
        self.emit(statement, replaced)
        return statement

    def sum_of(self, op: str, left: Statement | None, right: Statement, replaced: Statement) -> Statement:
        """Return a sum or a difference. left: None for 0."""
        if left is None:
            return right if op == "add" else self.made(Operation("neg", [right], type=right.type), replaced)
        return self.made(Operation(op, [left, right], type=right.type), replaced)


def _written_out(products: _Products, operation: Operation) -> Statement | None:
    """Return the elements of a product with a matrix of zeros, None for another operation."""
    if operation.op != "matmul" or operation not in products.inner or not _is_small(operation.type):
        return None
    rows = [products.rows_of(operand) for operand in operation.operands]
    if not any(map(_has_zeros, rows)):
        return None
    elements = _product(products, operation, rows)
    assert isinstance(operation.type, Tensor)
    zero = operation.type.element
    found = [element or products.made(Const(0.0, type=zero), operation) for element in elements]
    return products.made(MatrixInit(found, type=operation.type, hint=operation.hint), operation)


def _product(products: _Products, operation: Operation, rows: list[Rows | None]) -> list[Statement | None]:
    """Return the elements of a product, None for those that are 0."""
    a, b = operation.operands
    left, right = products.element_of(a, rows[0], operation), products.element_of(b, rows[1], operation)
    assert isinstance(a.type, Tensor) and isinstance(b.type, Tensor)
    columns = b.type.shape[1] if len(b.type.shape) == 2 else 1
    elements: list[Statement | None] = []
    for i in range(a.type.shape[0]):
        for j in range(columns):
            total: Statement | None = None
            for k in range(a.type.shape[1]):
                if _is_zero(rows[0], i, k) or _is_zero(rows[1], k, j):
                    continue
                (x, minus_x), (y, minus_y) = _with_sign(left(i, k)), _with_sign(right(k, j))
                if is_const(x, 1) or is_const(x, -1):
                    x, y = y, x
                is_negative = minus_x ^ minus_y ^ is_const(y, -1)
                term = x
                if not (is_const(y, 1) or is_const(y, -1)):
                    term = products.made(Operation("mul", [x, y], type=x.type), operation)
                total = products.sum_of("sub" if is_negative else "add", total, term, operation)
            elements.append(total)
    return elements


def _with_sign(value: Statement) -> tuple[Statement, bool]:
    """Return what a value is the negative of, and whether it is one."""
    if isinstance(value, Operation) and value.op == "neg":
        return value.operands[0], True
    return value, False


def _is_zero(rows: Rows | None, row: int, column: int) -> bool:
    return rows is not None and is_const(rows[row][column], 0)


def _is_small(type: Type | None) -> bool:
    return isinstance(type, Tensor) and type.element in (f32, f64) and type.size <= MOST_ELEMENTS


def _has_zeros(rows: Rows | None) -> bool:
    return has_many_zeros([element for row in rows or () for element in row])
