"""Linearization: replaces the indices of elements by one number, computed by operations of the IR.

    $p = ptr x ($i, $j)      ->    $ij_row = mul $i, 16
                                   $ij = add $ij_row, $j
                                   $p = ptr x at $ij

After it equal parts of addresses are shared (`common_subexpressions`) and leave the loops in which they do not change
(`hoist_addresses`). A constant in an index becomes one of the number: the neighbours of `x[i, j]` are at `$ij + 16` and
`$ij - 1`. The number has the width in which the accessors of the language compute it, so no address changes.

An array keeps its indices if the number cannot be computed here (`why_not_flat`), or if threads have copies of it; a
remark says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...ir.elements.numbers import FlatPart, flat_parts, is_flat_already, why_not_flat
from ...ir.nodes import Remark, Statement
from ...ir.origins import LITERAL, Origin, extent_of, literal, operation
from ...ir.statements import Alloca, Array, ArrayShape, Cast, Const, GlobalPtr, LocalLoad, LoopIndex, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i32, i64, u32
from ..analysis.aliasing import split_offset
from ..context import PassContext
from ..rewrite import Rewriter

FARTHEST = 1 << 16
"""A constant of an index up to which a sum of 32 bits and one of 64 bits are both out of bounds if the first wraps."""
LONGEST_NAME = 12
"""Characters of the names of indices that a number is named after."""


def lower_access(kernel: Kernel, context: PassContext) -> bool:
    """Compute the addresses of elements by operations, where an array has several axes or does not start at 0."""
    arrays = dict.fromkeys(s.array for s in kernel.statements() if isinstance(s, GlobalPtr) and not s.is_flat)
    reasons = {array: _why_not(array, kernel) for array in arrays}
    for array, reason in reasons.items():
        if reason and array.name and not array.is_shared:
            template = f"`{array.name}` keeps its indices: {reason} (lower_access)"
            kernel.remarks.append(Remark(template, "above", kernel.location))
    lowered = [array for array, reason in reasons.items() if not reason and not is_flat_already(array)]
    lowered.sort(key=lambda array: array.binding)
    return _Lowering(lowered, context).run(kernel) if lowered else False


def _why_not(array: Array, kernel: Kernel) -> str:
    copied = [sums.array for task in kernel.tasks for sums in task.private]
    copied += [array for task in kernel.tasks for array in task.block_sums]
    if array in copied:
        return "threads have copies of it"
    return why_not_flat(array)


class _Lowering(Rewriter):
    """The walk. arrays: those whose pointers are replaced."""

    def __init__(self, arrays: Sequence[Array], context: PassContext) -> None:
        super().__init__({GlobalPtr: _pointer})
        self.arrays = arrays
        self.capabilities = context.capabilities
        self.parts = {array: flat_parts(array) for array in arrays}
        self.namesakes = {array: next(a for a in arrays if _has_same_numbers(a, array)) for array in arrays}
        self.pointer: GlobalPtr

    def add(self, statement: Statement) -> Statement:
        """Emit a value that Python does not have, so that a source names it if it is used twice."""
        statement.copies = 0
        return self.emit(statement, self.pointer)

    def width(self, array: Array) -> Scalar:
        """Return the type of the numbers of an array: that in which an accessor computes them."""
        parts = self.parts[array]
        if len(parts) == 1 or not all(part.is_whole for part in parts) or not self.capabilities.has_pointers:
            return i32
        is_large = array.place is None and (array.shape is None or prod(array.shape) >= 1 << 31)
        return i64 if is_large or self.capabilities.has_wide_indices else i32

    def number(self) -> Statement:
        """Return the number of the element at `pointer`."""
        array = self.pointer.array
        kind, parts = self.width(array), self.parts[array]
        number: Statement | None = None
        words: list[str] = []
        distances: list[int] = []
        for part in parts:
            if number is not None and part.extent != 1:
                number = self.operation("mul", number, self.extent(part, kind), self.name_of(words, "row"))
            value, constant = self.value(part, kind)
            distances.append(constant)
            if value is not None:
                words.append(_word(value))
                number = value if number is None else self.operation("add", number, value, self.name_of(words, "index"))
        for position, distance in enumerate(distances):
            if distance:
                number = self.moved(number, distance, self.stride(parts[position + 1 :], abs(distance), kind))
        return number if number is not None else self.const(0, kind)

    def name_of(self, words: list[str], what: str) -> str:
        """Return the name of a number or of a row: `ijk` and `ij_row`, if all arrays have one shape; else `a_row`."""
        joined = ("" if all(len(word) == 1 for word in words) else "_").join(words)
        first = self.namesakes[self.pointer.array]
        if not all(words) or len(joined) > LONGEST_NAME or len(set(self.namesakes.values())) > 1:
            return f"{first.name}_{what}"
        return joined if what == "index" else f"{joined}_{what}"

    def value(self, part: FlatPart, kind: Scalar) -> tuple[Statement | None, int]:
        """Return what an index contributes, without and with a constant: `i + 1` is (i, 1)."""
        array, index = self.pointer.array, self.pointer.indices[part.axis]
        first = array.offset[part.axis] if array.offset else 0
        value, constant = split_offset(index)
        if value is not None and (not part.is_whole or (kind == i64 and abs(constant) > FARTHEST)):
            value, constant = index, 0
        if value is None and not part.is_whole:
            return None, (constant - first) // part.weight % (part.extent or 1)
        if part.is_whole:
            return (None if value is None else self.cast(value, kind)), constant - first
        assert value is not None and part.extent is not None and array.shape is not None
        if first:
            value = self.moved(value, -first, self.const(abs(first), i32))
        unsigned = self.add(Cast(value, type=u32))
        if part.weight > 1:
            unsigned = self.operation("plain_div", unsigned, self.const(part.weight, u32))
        if part.weight * part.extent != array.shape[part.axis]:
            unsigned = self.operation("plain_mod", unsigned, self.const(part.extent, u32))
        return self.cast(unsigned, kind), 0

    def extent(self, part: FlatPart, kind: Scalar) -> Statement:
        """Return an extent: a number, or that of an ndarray."""
        array = self.pointer.array
        if part.extent is None:
            return self.cast(self.add(ArrayShape(array, part.axis, type=i32)), kind)
        return self.const(part.extent, kind, self.extent_name(part))

    def extent_name(self, part: FlatPart) -> Origin | None:
        """Return the name of an extent of a field; fields of one shape have those of the first of them."""
        array = self.pointer.array
        return extent_of(self.namesakes[array], part.axis) if array.place is None else None

    def stride(self, inner: list[FlatPart], times: int, kind: Scalar) -> Statement:
        """Return the distance between elements so many rows or planes apart. inner: the parts of a number in these."""
        if all(part.extent is not None for part in inner):
            number = times * prod(part.extent or 1 for part in inner)
            return self.const(kind(number), kind, self.named_stride(inner, times))
        stride: Statement | None = None
        for part in (part for part in inner if part.extent != 1):
            extent = self.extent(part, kind)
            stride = (
                extent if stride is None else self.operation("mul", stride, extent, f"{self.pointer.array.name}_plane")
            )
        assert stride is not None
        return stride if times == 1 else self.operation("mul", stride, self.const(times, kind))

    def named_stride(self, inner: list[FlatPart], times: int) -> Origin | None:
        """Return a distance as an expression of the extents of a field."""
        array = self.pointer.array
        found = None if array.place is not None else literal(times, i32) if times > 1 else None
        for part in inner if array.place is None else ():
            if part.extent != 1:
                extent = extent_of(self.namesakes[array], part.axis)
                product = (found.value if found is not None else 1) * extent.value
                if product >= 1 << 31:
                    return None
                found = extent if found is None else operation("mul", (found, extent), product, i32)
        return found if found is not None and found.op != LITERAL else None

    def moved(self, number: Statement | None, distance: int, step: Statement) -> Statement:
        """Return a number that is farther by a step, or nearer if the distance is negative."""
        if number is None:
            return step if distance > 0 else self.operation("neg", step)
        return self.operation("add" if distance > 0 else "sub", number, step)

    def const(self, value: int, kind: Scalar, origin: Origin | None = None) -> Statement:
        """Return a number."""
        return self.add(Const(value, origin, type=kind))

    def operation(self, op: str, *operands: Statement | str) -> Statement:
        """Return an operation; a word after its operands is what a variable with it is called."""
        values = [operand for operand in operands if isinstance(operand, Statement)]
        hint = next((operand for operand in operands if isinstance(operand, str)), None)
        return self.add(Operation(op, values, type=values[0].type, hint=hint))

    def cast(self, value: Statement, kind: Scalar) -> Statement:
        """Return a value as one of type `kind`."""
        return value if value.type == kind else self.add(Cast(value, is_implicit=True, type=kind))


def _has_same_numbers(one: Array, other: Array) -> bool:
    """Return whether equal indices have equal numbers in two arrays, as far as the compiler knows."""
    if one is other:
        return True
    if one.shape is None or one.shape != other.shape or one.offset != other.offset:
        return False
    return (
        one.place is None
        and other.place is None
        or (None not in (one.place, other.place) and flat_parts(one) == flat_parts(other))
    )


def _pointer(rewriter: _Lowering, pointer: GlobalPtr) -> Statement | None:
    if pointer.array not in rewriter.arrays or pointer.is_flat:
        return None
    rewriter.pointer = pointer
    flat = GlobalPtr(pointer.array, [rewriter.number()], lanes=pointer.lanes, is_flat=True, type=pointer.type)
    return rewriter.emit(flat, pointer)


def _word(value: Statement) -> str:
    """Return the name of an index in Python, "" if it has none."""
    if isinstance(value, Cast):
        return _word(value.value)
    if isinstance(value, LoopIndex):
        return value.loop.names[value.axis] if value.axis < len(value.loop.names) else ""
    if isinstance(value, LocalLoad) and isinstance(value.pointer, Alloca):
        return value.pointer.name or ""
    return value.name or ""
