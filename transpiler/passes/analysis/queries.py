"""What passes and printers ask of a statement; each is a function of that statement alone and changes nothing."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import prod
from typing import TypeGuard

from ...ir.constants import constant_range
from ...ir.elements.own_memory import is_alone, is_plain_field
from ...ir.nodes import Block, Statement, blocks, reads, walk
from ...ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    Break,
    Cast,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    Operation,
    RangeFor,
    StructFor,
    While,
    base_pointer,
    is_const,
)
from ...ir.tasks import AtLeast, AtMost, Condition, Length, Task
from ...ir.types import Scalar, Tensor, count_scalars, i32
from ...options import FEW_ITERATIONS, MAX_ITERATIONS

LARGEST_END = MAX_ITERATIONS - 32
"""The largest end of a serial loop whose iterations a task takes up to 32 at a time: the next index does not wrap."""
FEW_THREADS = range(1 << 8, FEW_ITERATIONS + 1)
"""Iterations of a parallel loop of which a GPU can make some blocks, but not many."""
MOST_BYTES = 16
"""The most bytes of a vector that neighbouring threads load together."""


def is_index_of(value: Statement | None, loop: Statement | None) -> TypeGuard[LoopIndex]:
    """Return whether `value` is an index of `loop`, along any of its axes."""
    return isinstance(value, LoopIndex) and value.loop is loop


def axes_in(value: Statement, loop: RangeFor) -> set[int]:
    """Return the axes of a loop whose indices are in a value, without what it loads."""
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        if not isinstance(current, GlobalLoad):
            pending += [value for value in reads(current) if value not in seen]
            seen.update(pending)
    return {s.axis for s in seen if is_index_of(s, loop)}


def is_given(bound: Statement) -> bool:
    """Return whether the host certainly computes a bound of a parallel loop."""
    match bound:
        case Const() | ArrayShape() | ArgLoad(type=Scalar(kind="int", bits=32)):
            return True
        case Operation(op="add" | "sub" | "mul" | "min" | "max", operands=parts, type=Scalar(kind="int", bits=32)):
            return all(map(is_given, parts))
    return False


def trip_count(loop: RangeFor) -> int | None:
    """Return the number of all iterations, None if it is not constant."""
    return product_of([count_along(loop, axis) for axis in range(len(loop.starts))])


def product_of(counts: Sequence[int | None]) -> int | None:
    """Return the product of numbers of iterations, None if one is not constant."""
    return None if None in counts else prod(count for count in counts if count is not None)


def count_along(loop: RangeFor, axis: int) -> int | None:
    """Return the number of indices along an axis, None if it is not constant."""
    indices = constant_range(loop, axis)
    return None if indices is None else len(indices)


def has_else(branch: If) -> bool:
    """Return whether a branch has statements for where its condition does not hold."""
    return branch.otherwise is not None and bool(branch.otherwise.statements)


def given_end(serial: RangeFor) -> Length | None:
    """Return what has the end of a serial loop if the launch knows it; None if it is a constant, or computed."""
    return given_length(serial.ends[0])


def given_length(value: Statement) -> Length | None:
    """Return what is a number that the launch knows; None if it is a constant, or computed."""
    match value:
        case ArrayShape(array=Array() as array, axis=axis):
            return Length(axis, array)
        case ArgLoad(parameter=parameter, type=kind) if kind == i32:
            return Length(0, parameter)
    return None


def long_enough(end: Length | None, least: int) -> list[Condition]:
    """Return the conditions on the end of a serial loop that only the launch knows, for one that takes longer steps."""
    return [] if end is None else [AtLeast((end,), least), AtMost((end,), LARGEST_END)]


def names_of(loop: RangeFor) -> list[str]:
    """Return the names of the indices of a loop, `i_0`, ... if Python has given none."""
    return loop.names if len(loop.names) == len(loop.starts) else [f"i_{axis}" for axis in range(len(loop.starts))]


def are_indices_of(values: Sequence[Statement], loop: Statement | None) -> bool:
    """Return whether values are the indices of `loop`, in the order of its axes."""
    return all(is_index_of(value, loop) and value.axis == axis for axis, value in enumerate(values))


def shift_of(value: Statement, loop: RangeFor, axis: int, known: Mapping[Statement, int]) -> int | None:
    """Return what a value adds to the index of a loop along an axis, None if it is no sum of this with a number.

    known: the answers for what it is computed from.
    """
    match value:
        case LoopIndex(loop=own, axis=number) if own is loop and number == axis:
            return 0
        case Operation(op="add" | "sub" as op, operands=[index, Const(value=number)]) if index in known:
            return known[index] + (int(number) if op == "add" else -int(number))
        case Operation(op="add", operands=[Const(value=number), index]) if index in known:
            return known[index] + int(number)
    return None


def uncast(value: Statement) -> Statement:
    """Return the value that `value` converts, else `value`; a bit cast is no conversion."""
    return value.value if isinstance(value, Cast) and not value.bits else value


def is_zero(value: Statement) -> bool:
    """Return whether a number is the constant 0, or -0, or all numbers of a vector or matrix are."""
    return all(map(is_zero, value.elements)) if isinstance(value, MatrixInit) else is_const(value, 0)


def base_array(pointer: Statement) -> Array | None:
    """Return the array that `pointer` points into, None if it is a local variable or a temporary."""
    base = base_pointer(pointer)
    return base.array if isinstance(base, GlobalPtr) else None


def conjuncts(condition: Statement) -> Iterator[Statement]:
    """Yield the values that hold if a condition holds, and which together are the condition."""
    if isinstance(condition, Operation) and condition.op == "logical_and":
        for operand in condition.operands:
            yield from conjuncts(operand)
        return
    if isinstance(condition, IfExp):
        other = condition.otherwise.result
        if isinstance(other, Const) and not other.value and condition.then.result is not None:
            yield from conjuncts(condition.condition)
            yield from conjuncts(condition.then.result)
            return
    yield condition


def ends_loop(statement: Statement) -> bool:
    """Return whether `statement` contains a `break` of the loop that it is in, so that nobody else knows its end."""
    if isinstance(statement, (RangeFor, StructFor, While)):
        return False
    return isinstance(statement, Break) or any(ends_loop(s) for block in blocks(statement) for s in block)


def ends_iteration(statement: Statement) -> bool:
    """Return whether `statement` contains a `continue` of the loop that it is in, so that some iterations end at it."""
    if isinstance(statement, (RangeFor, While)):
        return False
    return isinstance(statement, Continue) or any(ends_iteration(s) for block in blocks(statement) for s in block)


def leaves_block(statement: Statement) -> bool:
    """Return whether `break` or `continue` in a statement belongs to a loop around it."""
    return ends_loop(statement) or ends_iteration(statement)


def index_key(index: Statement) -> Hashable:
    """Return what equal indices have in common: the number, or the loop and axis, or the statement itself."""
    match index:
        case Const(value=value):
            return "number", value
        case LoopIndex(loop=loop, axis=axis):
            return "index", loop, axis
    return index


def summands(value: Statement, sign: int = 1) -> list[tuple[int, Statement]]:
    """Return the values of which an index is the sum, each with its sign; also for an element of a sum of vectors."""
    if isinstance(value, Operation) and value.op in ("add", "sub"):
        first, second = value.operands
        return [*summands(first, sign), *summands(second, sign if value.op == "add" else -sign)]
    if isinstance(value, MatrixElement) and len(value.indices) == 1 and isinstance(value.indices[0], Const):
        return _of_element(value, value.value, int(value.indices[0].value), sign)
    return [(sign, value)]


def _of_element(element: Statement, vector: Statement, position: int, sign: int) -> list[tuple[int, Statement]]:
    if isinstance(vector, MatrixInit):
        return summands(vector.elements[position], sign)
    if isinstance(vector, Operation) and vector.op in ("add", "sub"):
        result = []
        for operand, own in zip(vector.operands, (sign, sign if vector.op == "add" else -sign), strict=True):
            is_vector = isinstance(operand.type, Tensor)
            result += _of_element(operand, operand, position, own) if is_vector else summands(operand, own)
        return result
    return [(sign, element)]


def computed_from(value: Statement) -> set[Statement]:
    """Return a value and all values that it is computed from, also those of the places that it is loaded from."""
    found, pending = {value}, [value]
    while pending:
        new = [value for value in reads(pending.pop()) if value not in found]
        found.update(new)
        pending += new
    return found


def count_operations(statement: Statement) -> int:
    """Return on how many numbers a statement operates."""
    if not isinstance(statement, Operation):
        return 0
    return max(count_scalars(s.type) for s in (statement, *statement.operands) if s.type is not None)


def is_dense(array: Array) -> bool:
    """Return whether the elements of an array are in memory of their own, at the places that their indices say."""
    return array.place is None and array.node is None and not (array.role or array.clamped or array.is_shared)


def element_name(pointer: GlobalPtr) -> str:
    """Return the name of a variable that holds an element: `c_ij` of `c[i, j]`."""
    words = [_word(index) for index in pointer.indices]
    if not words or not all(words):
        return f"{pointer.array.name}_value"
    group = words[0].removesuffix("_0")
    if words == [f"{group}_{axis}" for axis in range(len(words))]:
        return f"{pointer.array.name}_{group}"
    return f"{pointer.array.name}_{('' if all(len(word) == 1 for word in words) else '_').join(words)}"


def _word(index: Statement) -> str:
    """Return the name of an index, "" without one."""
    if isinstance(index, LoopIndex):
        return index.loop.names[index.axis] if index.axis < len(index.loop.names) else ""
    return index.name or ""


def has_few_iterations(task: Task, fewest: int) -> bool:
    """Return whether a loop is known to have fewer than so many iterations."""
    iterations = None if task.loop is None else trip_count(task.loop)
    return iterations is not None and iterations < fewest


def is_field_in_order(array: Array) -> bool:
    """Return whether an array is a field of numbers or short vectors: neighbours of a row are so in memory."""
    is_short = isinstance(array.element, Tensor) and array.element.size_bytes <= MOST_BYTES
    return is_plain_field(array) or (is_short and is_alone(array))


def becomes_task(statement: Statement) -> bool:
    """Return whether a top-level statement becomes a task of its own: a parallel loop over a range."""
    return isinstance(statement, RangeFor) and not statement.serialize


def is_parallel_loop(statement: Statement) -> bool:
    """Return whether a top-level statement is a parallel loop, over a range or over an array."""
    return isinstance(statement, (RangeFor, StructFor)) and not statement.serialize


def compound_operations(root: Block) -> set[Statement]:
    """Return the operations that are printed as `v *= s`: what is stored where the first operand was loaded."""
    return {
        statement.value
        for statement in walk(root)
        if isinstance(statement, (LocalStore, GlobalStore))
        and isinstance(statement.value, Operation)
        and isinstance(load := statement.value.operands[0], (LocalLoad, GlobalLoad))
        and load.pointer is statement.pointer
    }
