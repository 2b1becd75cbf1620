"""Run-time expressions of the numbers of a static loop that is kept as a loop.

In: a `PerIteration`. Out: a statement that has exactly these numbers, in the types that the constants of the unrolled
loop would have: an expression of the index as the user wrote it, else a multiple of the index, else an element of a
constant local array. If there is none, the loop is unrolled.

    2 * i + 1     ->    2 * i + 1          i / 2     ->    float(i) / 2.0
    w[i]          ->    w[i], where w is an array of constants, since Python's list has no place in the source
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ...ir.builder import Builder
from ...ir.constants import constant_range
from ...ir.nodes import Statement
from ...ir.ops import OPS
from ...ir.statements import ListInit, ListItem
from ...ir.types import SCALARS, Scalar, Tensor, i32, u1
from ...options import CompileOptions
from ..source.named_numbers import plain
from .per_iteration import MISSING, PerIteration, StaticLoop, each

INTEGER = frozenset(
    {"add", "sub", "mul", "floordiv", "mod", "neg", "abs", "bit_and", "bit_or", "bit_xor", "bit_not", "shl", "sar",
     "select"}
)  # fmt: skip
"""Operations that devices compute as Python does, if no number exceeds the type."""
ROUNDED = frozenset({"add", "sub", "mul", "neg", "abs", "select"})
"""Operations on floats that every device rounds correctly."""
COMPARED = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
LOGICAL = frozenset({"logical_not", "logical_and", "logical_or", "select"})
SHIFTS = frozenset({"shl", "sar"})


class StaticNumbers:
    """Makes the expressions of one build."""

    def __init__(self, builder: Builder, options: CompileOptions) -> None:
        self.builder = builder
        self.integer = SCALARS[options.default_ip]
        self.float = SCALARS[options.default_fp]

    def statement(self, value: Any) -> Statement:
        """Return the numbers as a statement in the current block. Raises: NeedsUnroll."""
        if isinstance(value, PerIteration):
            value = value.common
        if not isinstance(value, PerIteration):
            return self.builder.const(value, self._type(type(value)))
        kind = self._kind(value)
        made = self._by_form(value, kind)
        return made if made is not None else self._by_index(value, kind)

    def _type(self, kind: type) -> Scalar:
        return u1 if kind is bool else self.integer if issubclass(kind, int | np.integer) else self.float

    def _kind(self, value: PerIteration) -> type:
        """Return the Python type of all numbers. Raises: NeedsUnroll if they differ, or do not fit the type."""
        present = [_plain(number) for number in value.present]
        kinds = {type(number) for number in present}
        kind: type = kinds.pop()
        if kinds or kind not in (bool, int, float):
            value.needs_one()
        if kind is int:
            low, high = (-(2**31), 2**31) if self.integer.name == "i32" else (-(2**63), 2**63)
            is_plain = self.integer.name in ("i32", "i64")
            if not is_plain or not all(low <= number < high for number in present):
                value.needs_one()
        return kind

    def vectors(self, value: PerIteration) -> Statement | None:
        """Return vectors as an item of a constant array that an index selects; None if they are not alike."""
        rows: PerIteration = each("", lambda vector: tuple(map(_plain, vector.entries.tolist())), value)
        kinds = {type(number) for row in rows.present for number in row}
        found = _deciding_index(rows)
        if found is None or kinds not in ({int}, {float}):
            return None
        loop, axis, by_index = found
        places = _places(loop, axis)
        if places is None:
            return None
        unused = tuple(0.0 if kinds == {float} else 0 for _ in rows.present[0])
        items = [by_index.get(i, unused) for i in places]
        return self.item(self._constants(value, kinds.pop(), items), loop.indices[axis])

    # --- as the user wrote it

    def _by_form(self, value: PerIteration, kind: type) -> Statement | None:
        if value.form is None:
            return None
        name, *operands = value.form
        if name == "index":
            return self.builder.cast(value.loop.indices[operands[0]], self.integer)
        if name == "element":
            made = self._element(*operands)
            return made if kind is int else None
        if name == "component":
            vector = self.vectors(operands[0])
            return None if vector is None else self.builder.element(vector, [self.builder.const(operands[1], i32)])
        rows, results = _rows(value, operands)
        if not _is_exact(name, rows, results, kind, self.float):
            return None
        return self.builder.op(name, *[self.statement(operand) for operand in operands])

    def _element(self, vector: Statement, index: PerIteration) -> Statement | None:
        """Return an element of the vector of indices of a grouped loop."""
        assert isinstance(vector.type, Tensor)
        if not all(isinstance(k, (int, np.integer)) and 0 <= k < vector.type.size for k in index.present):
            return None
        position = self.builder.cast(self.statement(index), i32)
        return self.builder.cast(self.builder.element(vector, [position]), self.integer)

    # --- by the index of one loop

    def _by_index(self, value: PerIteration, kind: type) -> Statement:
        """Return a multiple of an index, or an element of a constant array that the index selects."""
        found = _deciding_index(value)
        if found is None:
            value.needs_one()
        loop, axis, by_index = found
        numbers = {i: _plain(number) for i, number in by_index.items()}
        index, (first, second, *_) = loop.indices[axis], numbers
        if kind is int:
            factor, rest = divmod(numbers[second] - numbers[first], second - first)
            start = numbers[first] - factor * first
            if not rest and all(number == factor * i + start for i, number in numbers.items()):
                if abs(factor) < 2**15 and abs(start) < 2**30:
                    return self._multiple(self.builder.cast(index, self.integer), factor, start)
        places = _places(loop, axis)
        if places is None:
            value.needs_one()
        unused = {bool: False, int: 0, float: 0.0}[kind]  # where the current statement does not run
        items = [numbers.get(i, unused) for i in places]
        return self.item(self._constants(value, kind, items), index)

    def _multiple(self, index: Statement, factor: int, start: int) -> Statement:
        build = self.builder
        made = index if factor == 1 else build.op("mul", index, build.const(factor, self.integer))
        return made if not start else build.op("add", made, build.const(start, self.integer))

    def _constants(self, value: PerIteration, kind: type, numbers: list[Any]) -> Statement:
        outermost = value.loop.chain[0]
        key = (value.name, kind, tuple(map(repr, numbers)))
        if key not in outermost.lists:
            outer, self.builder.location = self.builder.location, outermost.loop.location
            with self.builder.into(outermost.before):
                items = [self._constant(number, self._type(kind)) for number in numbers]
                outermost.lists[key] = self.list(items, value.name)
            self.builder.location = outer
        return outermost.lists[key]

    def _constant(self, number: Any, type: Scalar) -> Statement:
        """Return a number, or the vector of a tuple."""
        if not isinstance(number, tuple):
            return self.builder.const(number, type)
        return self.builder.tensor([self.builder.const(part, type) for part in number], (len(number),), type)

    # --- local arrays

    def list(self, items: Sequence[Statement], name: str) -> Statement:
        """Return a local array of values of one type."""
        assert items[0].type is not None
        made = self.builder.add(ListInit([*items], type=items[0].type))
        made.name = name or None
        return made

    def item(self, array: Statement, index: Statement) -> Statement:
        """Return an item of a local array."""
        return self.builder.add(ListItem(array, index, type=array.type))


def _places(loop: StaticLoop, axis: int) -> range | None:
    """Return the places of a list that has one for each index along an axis, also where no statement uses it: passes
    may compute what a condition does not need. None if an index is negative, or many places had no number.
    """
    indices = constant_range(loop.loop, axis)
    assert indices is not None
    last = max(indices)
    return range(last + 1) if min(indices) >= 0 and last < len(loop.origins) else None


def _is_exact(name: str, rows: list[tuple[Any, ...]], results: Sequence[Any], kind: type, float_type: Scalar) -> bool:
    """Return whether a device computes the same numbers. rows: the operands for each result."""
    kinds = {type(number) for row in rows for number in (row[1:] if name == "select" else row)}
    if not kinds <= {bool, int, float}:
        return False
    if name in COMPARED and bool not in kinds:
        round_ = _rounder(float_type) if float in kinds else (lambda number: number)
        meaning = OPS[name].meaning
        return all(bool(meaning(*map(round_, row))) == result for row, result in zip(rows, results, strict=True))
    if kind is bool:
        return name in LOGICAL and kinds == {bool}
    if bool in kinds:
        return False
    if kind is int:
        return name in INTEGER and kinds == {int} and (name not in SHIFTS or all(0 <= row[1] < 32 for row in rows))
    if name == "select" and kinds != {float}:
        return False
    if name == "div":
        return all(_divides(row, result, float_type) for row, result in zip(rows, results, strict=True))
    return name in ROUNDED and all(_rounds(name, row, r, float_type) for row, r in zip(rows, results, strict=True))


def _plain(number: Any) -> Any:
    """Return a number of NumPy as Python's."""
    number = plain(number)
    return number.item() if isinstance(number, np.generic) else number


def _rows(value: PerIteration, operands: Sequence[Any]) -> tuple[list[tuple[Any, ...]], list[Any]]:
    """Return the operands and the result in each iteration in which the current statement runs."""
    columns = [o.along(value.loop) if isinstance(o, PerIteration) else (o,) * len(value.values) for o in operands]
    active = [a and v is not MISSING for v, a in zip(value.values, value.loop.active, strict=True)]
    pairs = zip(zip(*columns, strict=True), active, strict=True)
    rows = [tuple(map(_plain, row)) for row, is_active in pairs if is_active]
    return rows, [_plain(number) for number, is_active in zip(value.values, active, strict=True) if is_active]


def _rounder(type: Scalar) -> Callable[[Any], Any]:
    return lambda number: type.numpy.type(number)


def _rounds(name: str, row: tuple[Any, ...], result: float, type: Scalar) -> bool:
    """Return whether one rounded operation on rounded operands gives the rounded result."""
    if name == "select":
        return True
    with np.errstate(all="ignore"):
        operands = [type.numpy.type(number) for number in row]
        if not all(np.isfinite(operand) for operand in operands):
            return False
        if any(isinstance(n, int) and int(o) != n for n, o in zip(row, operands, strict=True)):
            return False  # a device rounds the integer, Python does not
        computed = type.numpy.type(OPS[name].meaning(*operands))
    return bool(computed.tobytes() == type.numpy.type(result).tobytes())


def _divides(row: tuple[Any, ...], result: float, type: Scalar) -> bool:
    """Return whether a quotient needs no rounding: devices may divide coarsely."""
    numbers = [type.numpy.type(number) for number in (*row, result)]
    exact = all(np.isfinite(n) and float(n) == v for n, v in zip(numbers, (*row, result), strict=True))
    negative_zero = result == 0 and (np.signbit(numbers[2]) or np.signbit(numbers[1]))
    return exact and not negative_zero and Fraction(row[0]) / Fraction(row[1]) == Fraction(result)


def _deciding_index(value: PerIteration) -> tuple[StaticLoop, int, dict[int, Any]] | None:
    """Return the loop, the axis and the numbers by index, if one index alone decides the number."""
    for loop in reversed(value.loop.chain):
        for axis, number in enumerate(loop.numbers):
            by_index: dict[int, Any] = {}
            pairs, _ = _rows(value, (number, value))
            if all(repr(by_index.setdefault(index, item)) == repr(item) for index, item in pairs) and len(by_index) > 1:
                return loop, axis, by_index
    return None
