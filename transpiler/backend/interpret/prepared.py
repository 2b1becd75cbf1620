"""Prepares the statements that run most often, once for each launch: what is the same in each run is looked up here.

In: a statement of the final form. Out: a function without arguments that returns the statement's value, as the method
of the interpreter for its class does. Unusual forms of it, and errors, are left to that method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from ...ir.nodes import Statement
from ...ir.ops import ATOMIC_OPS, OPS
from ...ir.statements import (
    Array,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
)
from ...ir.types import Scalar, Tensor, Type, i64

Evaluate = Callable[[], Any]


class Machine(Protocol):
    """The interpreter: the state of the running thread, and the method for each class of statement."""

    values: dict[Statement, Any]
    indices: dict[Any, tuple[int, ...]]
    arrays: Sequence[np.ndarray[Any, Any]]
    shared: dict[Array, np.ndarray[Any, Any]]
    table: dict[type, Callable[[Any], Any]]


def prepare(machine: Machine, statement: Statement) -> Evaluate | None:
    """Return the function that evaluates a statement, None for one of control flow."""
    prepared = PREPARED.get(type(statement))
    evaluate = prepared(machine, statement) if prepared is not None else None
    if evaluate is None and type(statement) in machine.table:
        evaluate = partial(machine.table[type(statement)], statement)
    return evaluate


def _const(machine: Machine, statement: Const) -> Evaluate:
    assert isinstance(statement.type, Scalar)
    value = statement.type.numpy.type(statement.value)
    return lambda: value


def _loop_index(machine: Machine, statement: LoopIndex) -> Evaluate:
    convert = np.int64 if statement.type == i64 else np.int32
    loop, axis = statement.loop, statement.axis
    return lambda: convert(machine.indices[loop][axis])


def _operation(machine: Machine, statement: Operation) -> Evaluate | None:
    """Operations of one and two operands that give a scalar."""
    wanted = statement.type
    if not isinstance(wanted, Scalar) or len(statement.operands) > 2:
        return None
    meaning, scalar = OPS[statement.op].meaning, wanted.numpy.type
    first, *others = statement.operands

    def unary() -> Any:
        result = meaning(machine.values[first])
        return result if type(result) is scalar else to_type(result, wanted)

    def binary() -> Any:
        values = machine.values
        result = meaning(values[first], values[second])
        return result if type(result) is scalar else to_type(result, wanted)

    if not others:
        return unary
    second = others[0]
    return binary


def _global_ptr(machine: Machine, statement: GlobalPtr) -> Evaluate | None:
    """Pointers into dense arrays that begin at index 0; where the index is outside, the method says so."""
    accessed, indices, outside = statement.array, statement.indices, machine.table[GlobalPtr]
    if statement.is_flat or accessed.clamped or accessed.offset or accessed.place is not None or not indices:
        return None
    array = None if accessed.is_shared else machine.arrays[accessed.binding]
    shape = accessed.shape if array is None or accessed.shape is not None else array.shape[: len(indices)]
    if shape is None or len(shape) != len(indices):
        return None
    first, extent = indices[0], shape[0]

    def of_one_axis() -> Any:
        index = int(machine.values[first])
        if 0 <= index < extent:
            return machine.shared[accessed] if array is None else array, (index,)
        return outside(statement)

    def of_several_axes() -> Any:
        values = machine.values
        index = tuple([int(values[i]) for i in indices])
        for number, extent in zip(index, shape):
            if not 0 <= number < extent:
                return outside(statement)
        return machine.shared[accessed] if array is None else array, index

    return of_one_axis if len(indices) == 1 else of_several_axes


def _load(machine: Machine, statement: LocalLoad | GlobalLoad) -> Evaluate | None:
    """Loads of scalars, which are copies already."""
    if not isinstance(statement.type, Scalar):
        return None
    pointer = statement.pointer

    def evaluate() -> Any:
        array, index = machine.values[pointer]
        return array[index]

    return evaluate


def _store(machine: Machine, statement: LocalStore | GlobalStore) -> Evaluate:
    pointer, value = statement.pointer, statement.value

    def evaluate() -> None:
        values = machine.values
        array, index = values[pointer]
        array[index] = values[value]

    return evaluate


def _atomic(machine: Machine, statement: AtomicOp) -> Evaluate | None:
    """Atomic operations on whole scalars."""
    if statement.mask is not None or not isinstance(statement.type, Scalar):
        return None
    meaning, pointer, value = OPS[ATOMIC_OPS[statement.op]].meaning, statement.pointer, statement.value

    def evaluate() -> Any:
        values = machine.values
        array, index = values[pointer]
        old = array[index]
        array[index] = meaning(old, values[value])
        return old

    return evaluate


PREPARED: dict[type, Callable[[Machine, Any], Evaluate | None]] = {
    Const: _const,
    LoopIndex: _loop_index,
    Operation: _operation,
    GlobalPtr: _global_ptr,
    LocalLoad: _load,
    GlobalLoad: _load,
    LocalStore: _store,
    GlobalStore: _store,
    AtomicOp: _atomic,
}
"""Functions that prepare a statement; None stands for a form that is left to the interpreter's method."""


def to_type(value: Any, type: Type) -> Any:
    """Return `value` as a NumPy scalar or array of `type`; integers wrap."""
    if isinstance(type, Tensor):
        return np.array(value, type.element.numpy).reshape(type.shape)
    if isinstance(value, np.generic) and value.dtype == type.numpy:
        return value
    assert isinstance(type, Scalar), "structs are built from members"
    return type.numpy.type(type(value) if type.kind in ("int", "uint") else value)
