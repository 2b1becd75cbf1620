"""Run-time values of Python objects: numbers become constants, lists and matrices tensors, dicts structs.

Input: values of expressions. Output: statements with types, appended to the current block.
"""

from __future__ import annotations

import ast
from collections.abc import Sized
from typing import Any

import numpy as np

from ...errors import TaichiTypeError
from ...ir.builder import AXES, Builder
from ...ir.nodes import Statement, operands
from ...ir.statements import Array, Cast, Const, MatrixInit, Operation, Rand
from ...ir.types import SCALARS, Scalar, Struct, Tensor, Type, common_type, describe_type, element_of, u1
from ...lang import struct as lang
from ...lang.annotations import as_type
from ...lang.describe import is_described
from ...lang.matrix import Matrix
from ...options import CompileOptions
from ..source.named_numbers import named, named_member, number_type
from .per_iteration import ArgumentNumber, PerIteration, item_of
from .reporter import Reporter
from .static_numbers import StaticNumbers
from .struct_types import StructTypes
from .values import (
    ArrayMember,
    Formatted,
    Lvalue,
    MeshElement,
    describe_kind,
    is_number,
    matrix_rows,
)

NO_OPERAND: tuple[Const, list[Statement], int] = (Const(0), [], 0)


def fits(value: int, type: Scalar) -> bool:
    """Return whether an integer fits `type` by width; the sign may wrap, as in C."""
    return -(1 << type.bits - 1) <= value < 1 << type.bits


class RuntimeValues:
    """Creates run-time values. structs: the struct types of the kernel. numbers: for those of static loops.

    vectors: by identity, the vectors from outside the kernel, each with its name and the expression that reads it.
    operands: by class and value, the last constant that is an operand, the statements of its block, its position there.
    """

    def __init__(
        self,
        builder: Builder,
        reporter: Reporter,
        structs: StructTypes,
        options: CompileOptions,
        numbers: StaticNumbers,
    ) -> None:
        self.numbers = numbers
        self.builder = builder
        self.reporter = reporter
        self.structs = structs
        self.options = options
        self.vectors: dict[int, tuple[Matrix, str, str]] = {}
        self.operands: dict[tuple[type, float], tuple[Const, list[Statement], int]] = {}

    def lift(self, value: Any, node: ast.AST | None = None) -> Statement:
        """Return `value` as a run-time value: numbers as constants, lists and matrices as tensors.

        Raises: TaichiTypeError for an object that has no value in a kernel.
        """
        if isinstance(value, Statement):
            return value
        if isinstance(value, Lvalue):
            return self.builder.load(value.pointer)
        if is_number(value):
            return self.constant(value)
        if isinstance(value, PerIteration):
            return self._lift_numbers(value)
        if isinstance(value, Matrix):
            return self.tensor(self._rows(value))
        if isinstance(value, (list, tuple)) and value:
            return self.tensor(value)
        if isinstance(value, lang.Struct):
            return self.struct(value)
        kind = describe_kind(value)
        hint = None
        if isinstance(value, (Array, ArrayMember)) or is_described(value):
            hint = "give it indices: `a[i]`, or `a[None]` for a field without axes"
        elif isinstance(value, MeshElement):
            hint = "write `.id` for its number"
        elif isinstance(value, complex):
            hint = "use a vector of 2 elements and `ti.math.cmul`"
        elif isinstance(value, Formatted):
            kind, hint = "an f-string with run-time values", "use it in `print` or `assert` only"
        elif callable(value):
            hint = "call it"
        hint = hint or "use a number, a vector or a matrix"
        raise self.reporter.error(
            TaichiTypeError, f"{kind[0].upper()}{kind[1:]} cannot be used as a value in a kernel", hint, node
        )

    def operand(self, value: Any, node: ast.AST | None = None) -> Statement:
        """Return `value` as a run-time value that is only read: equal numbers in a row are one constant."""
        kind = value.__class__
        if (kind is not int and kind is not float) or value == 0:  # `0.0 == -0.0`; NaN equals nothing
            return self.lift(value, node)
        statements = self.builder.block.statements
        known, block, position = self.operands.get((kind, value), NO_OPERAND)
        if block is statements and position < len(block) and block[position] is known:  # it may have been dropped
            return known
        made = self.constant(value)
        self.operands[kind, value] = made, statements, len(statements) - 1
        return made

    def _lift_numbers(self, value: PerIteration) -> Statement:
        """Return the numbers of a static loop, or its vectors and matrices, as a run-time value."""
        if value.statement is not None:
            return value.statement
        if is_number(value.common):
            return self.constant(value.common)
        shapes = {item.entries.shape if isinstance(item, Matrix) else None for item in value.present}
        shape = shapes.pop()
        if shapes or shape is None:
            return self.numbers.statement(value)
        if len(shape) == 1:
            if (vectors := self.numbers.vectors(value)) is not None:
                return vectors
            return self.tensor([item_of(value, k) for k in range(shape[0])])
        return self.tensor([[item_of(value, (k, j)) for j in range(shape[1])] for k in range(shape[0])])

    def struct(self, value: lang.Struct) -> Statement:
        """Return a struct of Python scope as a run-time value."""
        declared = lang.type_of_struct(value)
        if declared is not None:
            return self.fit(value, self.structs.struct(declared.describe_type(self.options)))
        values = {name: self.lift(part) for name, part in value.items}
        members = tuple((name, part.type) for name, part in values.items() if part.type is not None)
        return self.builder.struct(list(values.values()), self.structs.struct(Struct("", members)))

    def type(self, annotation: Any) -> Type | None:
        """Return the IR type of an annotation or callable, with the kernel's struct names; None if it is no type."""
        type = as_type(annotation, self.options)
        return None if type is None else self.structs.named(type)

    def constant(self, value: Any) -> Const:
        """Return a Python number as a constant of its default type. Raises: TaichiTypeError if it does not fit."""
        kind = value.__class__
        if kind is float:
            return self.builder.const(value, SCALARS[self.options.default_fp])
        if kind is int:
            self.check_range(value)
            return self.builder.const(value, SCALARS[self.options.default_ip])
        type = number_type(value, self.options)
        if type.is_integral and type != u1:
            self.check_range(int(value))
        return self.builder.const(named_member(value, self.options), type)

    def check_range(self, value: int, node: ast.AST | None = None) -> None:
        """Raise TaichiTypeError if an integer literal does not fit the default integer type."""
        if 0 <= value < 128:  # fits all of them
            return
        type = SCALARS[self.options.default_ip]
        low, high = type.limits
        if not low <= value <= high:
            raise self.reporter.error(
                TaichiTypeError,
                f"Integer literal {value} exceeded the range of default_ip: {type}, please specify the dtype via e.g. "
                f"`ti.u64({value})` or set a different `default_ip` in `ti.init()`",
                f"write `ti.i64({value})`",
                node,
            )

    def tensor(self, value: Any, element: Scalar | None = None) -> Statement:
        """Return nested lists of values (or of vectors, as rows) as a tensor; without `element` types promote."""
        if isinstance(value, Sized):
            self.builder.check_size(len(value))
        rows = [self._row(item) for item in value]
        lengths = {len(row) if isinstance(row, list) else -1 for row in rows}
        if not rows or lengths == {0}:
            raise self.reporter.error(
                TaichiTypeError, "A vector needs at least one element", "write `ti.Vector([0.0])`"
            )
        if len(lengths) > 1:
            raise self.reporter.error(
                TaichiTypeError, "The rows of a matrix need equal lengths", "fill up the shorter rows"
            )
        is_matrix = isinstance(rows[0], list)
        flat = [item for row in rows for item in row] if is_matrix else rows
        for item in flat:
            if isinstance(item.type, Tensor):
                raise self.reporter.error(
                    TaichiTypeError, "A matrix has at most two axes; its elements are scalars", "use an array"
                )
        if not is_matrix:
            hint_random(flat)
        type = element or common_type([element_of(item.type) for item in flat])
        return self.builder.tensor(flat, (len(rows), len(rows[0])) if is_matrix else (len(rows),), type)

    def _rows(self, value: Matrix) -> Any:
        """Return a Python-scope matrix as lists of numbers; those of a vector from outside have its name."""
        rows = matrix_rows(value)
        _, name, note = self.vectors.get(id(value), (value, "", ""))
        if not name or value.entries.ndim != 1 or len(rows) > len(AXES):
            return rows
        return [named(number, f"{name}_{c}", f"{note}.{c}", self.options) for c, number in zip(AXES, rows)]

    def _row(self, item: Any) -> Any:
        if isinstance(item, Matrix):
            item = self._rows(item)
        if isinstance(item, (list, tuple)):
            return [self.lift(inner) for inner in item]
        lifted = self.lift(item)
        return self.elements(lifted) if isinstance(lifted.type, Tensor) and len(lifted.type.shape) == 1 else lifted

    def elements(self, value: Statement) -> list[Statement]:
        """Return the elements of a tensor value, row by row."""
        assert isinstance(value.type, Tensor)
        if isinstance(value, MatrixInit):
            return list(value.elements)
        shape = value.type.shape
        if len(shape) == 1:
            return [self.builder.element(value, [self.builder.const(i)]) for i in range(shape[0])]
        return [
            self.builder.element(value, [self.builder.const(i), self.builder.const(j)])
            for i in range(shape[0])
            for j in range(shape[1])
        ]

    def condition(self, value: Any, what: str, node: ast.AST | None = None) -> Statement:
        """Return a scalar of type u1: whether `value` is not 0. what: name of the statement in errors."""
        lifted = self.lift(value, node)
        if not isinstance(lifted.type, Scalar):
            hint = "use `.any()` or `.all()` of the comparison" if isinstance(lifted.type, Tensor) else "test a member"
            message = f"`{what}` conditions must be a scalar; found `{describe_type(lifted.type)}`"
            raise self.reporter.error(TaichiTypeError, message, hint, node)
        if lifted.type == u1:
            return lifted
        assert isinstance(lifted.type, Scalar)
        return self.builder.op("ne", lifted, self.builder.const(0, lifted.type))

    def fit(self, value: Any, type: Type) -> Statement:
        """Return `value` as a run-time value of `type`."""
        if isinstance(value, Statement) and value.type is type:
            return value
        if isinstance(type, Struct) and isinstance(value, (dict, lang.Struct)):
            return self._fit_struct(value, type)
        if isinstance(value, ArgumentNumber):
            return self.builder.fit(self.lift(value), type)
        if isinstance(value, PerIteration):
            value = value.common
            if isinstance(value, PerIteration) and isinstance(type, Scalar) and type.is_integral:
                if not all(
                    isinstance(number, (int, np.integer)) and fits(int(number), type) for number in value.present
                ):
                    value.needs_one()
        if isinstance(type, Scalar) and is_number(value):
            if type.is_integral and type != u1 and isinstance(value, int) and type(value) != value:
                self.check_range(value)
            if type.is_integral and type != u1 and isinstance(value, int) and not fits(value, type):
                self.reporter.warn(
                    f"{value} does not fit `{type}` and wraps to {type(value)}", f"write `{type(value)}`"
                )
                value = int(type(value))
            return (
                self.builder.cast(self.constant(value), type)
                if isinstance(value, float)
                else self.builder.const(value, type)
            )
        if isinstance(type, Tensor) and isinstance(value, (list, tuple, Matrix)):
            value = self.tensor(self._rows(value) if isinstance(value, Matrix) else value, type.element)
        return self.builder.fit(self.lift(value), type)

    def _fit_struct(self, value: Any, type: Struct) -> Statement:
        """Return a dict, or a struct of Python scope, as the struct `type`."""
        given = dict(value.items if isinstance(value, lang.Struct) else value.items())
        if sorted(given) != sorted(type.names):
            message = f"Member mismatch between structs {list(type.names)}, {list(given)}"
            raise self.reporter.error(TaichiTypeError, message, "give a value for each member")
        return self.builder.struct([self.fit(given[name], member) for name, member in type.members], type)


def hint_random(elements: list[Statement]) -> None:
    """Name the random numbers in the elements of a vector after these: `random_x`, `random_y`."""
    if 1 < len(elements) <= len(AXES):
        for letter, element in zip(AXES, elements):
            _hint_random(element, letter)


def _hint_random(value: Statement, letter: str, depth: int = 4) -> None:
    match value:
        case Rand(name=None, hint=None):
            value.hint = f"random_{letter}"
        case Operation() | Cast() if depth and value.name is None:
            for operand in operands(value):
                _hint_random(operand, letter, depth - 1)
