"""Which numbers the index expressions of a task are in the threads of a block.

    lane = thread % 256; e = lane + q * 256    ->    e: 0, 1, 2, ..., with q counted as 0

In: a task of a GPU. Out: for a value, its numbers in some warps of the first block. What is the same in all threads of
a block but known at run time only, such as an argument or the index of a serial loop, counts as 0; the numbers are then
not exact. A value that differs between threads otherwise, such as an element that they load, has no numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ....ir.nodes import Statement
from ....ir.ops import OPS
from ....ir.snodes import index_at
from ....ir.statements import Cast, Const, LoopIndex, Operation, RangeFor
from ....ir.tasks import Task
from ....ir.threads import SUBGROUP_SIZE, ThreadIndex
from ....ir.types import Scalar, Type, i32
from ....lazy_dataclasses import dataclass
from ...analysis.queries import count_along
from ...analysis.uniformity import Uniformity

MOST_WARPS = 4
"""Warps of a block whose threads are looked at, at equal distances."""
SUMS = frozenset({"add", "sub", "bit_or", "bit_xor"})
"""Operations to which a number that counts as 0 contributes nothing."""
OF_ARRAYS = SUMS | {"mul", "bit_and", "min", "max"}
"""Operations whose meaning is that of NumPy's arrays, too: they take the numbers of all threads at once."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A value in each thread, in an array of its type. is_exact: nothing in it counts as 0."""

    values: np.ndarray[Any, Any]
    is_exact: bool

    @property
    def differ(self) -> bool:
        """Whether threads have different numbers."""
        return bool((self.values != self.values[0]).any())


class ThreadValues:
    """The numbers of a task's values. threads: the numbers of the threads in their block, warp after warp."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.threads = _threads(task.block_dim)
        self.varying = Uniformity(task).varying
        self.unknown = Numbers(np.zeros(len(self.threads), np.int32), False)
        self.known: dict[Statement, Numbers | None] = {}

    def of(self, value: Statement) -> Numbers | None:
        """Return the numbers of an integer or truth value, None if threads have numbers that are not known."""
        if value not in self.known:
            with np.errstate(all="ignore"):
                self.known[value] = self._computed(value)
        return self.known[value]

    def _computed(self, value: Statement) -> Numbers | None:
        match value:
            case Const(value=number) if _is_integer(value.type):
                return Numbers(_array([number], value.type).repeat(len(self.threads)), True)
            case ThreadIndex(kind=kind):
                return self._thread_index(kind)
            case LoopIndex(loop=RangeFor() as loop, axis=axis):
                return self._parallel_index(loop, axis) if loop is self.task.loop else self._serial_index(loop, axis)
            case Cast(value=operand, bits=False) if _is_integer(value.type) and _is_integer(operand.type):
                given = self.of(operand)
                return given and Numbers(_array(given.values, value.type), given.is_exact)
            case Operation(operands=operands) if all(_is_integer(one.type) for one in (value, *operands)):
                return self._operation(value)
        return None if value in self.varying else self.unknown

    def _thread_index(self, kind: str) -> Numbers | None:
        match kind:
            case "thread" | "global":
                return Numbers(_array(self.threads, i32), True)
            case "lane":
                return Numbers(_array([thread % SUBGROUP_SIZE for thread in self.threads], i32), True)
        return self.unknown

    def _parallel_index(self, loop: RangeFor, axis: int) -> Numbers | None:
        """Return an index of the task's loop, whose iterations are threads."""
        start, step = loop.starts[axis], loop.steps[axis]
        if loop.cells is not None or self.task.lanes > 1 or not isinstance(step, Const):
            return None
        if loop.order:
            positions = [index_at(loop.order, thread, len(loop.starts))[axis] for thread in self.threads]
        else:
            inner = [count_along(loop, other) for other in range(axis + 1, len(loop.starts))]
            own = count_along(loop, axis) if axis else 1
            if own is None or None in inner:
                return None
            size = max(1, prod(n for n in inner if n is not None))
            positions = [thread // size % max(1, own) if axis else thread // size for thread in self.threads]
        first = int(start.value) if isinstance(start, Const) else 0
        indices = [first + position * int(step.value) for position in positions]
        return Numbers(_array(indices, i32), isinstance(start, Const))

    def _serial_index(self, loop: RangeFor, axis: int) -> Numbers | None:
        """Return an index of another loop in its first iteration: later ones add the same in all threads."""
        start = self.of(loop.starts[axis])
        return None if start is None or loop.steps[axis] in self.varying else Numbers(start.values, False)

    def _operation(self, value: Operation) -> Numbers | None:
        given = [self.of(operand) for operand in value.operands]
        known = [one for one in given if one is not None]
        if len(known) < len(given):
            return None
        if any(one.differ for one in known):
            if value not in self.varying:  # it is the number of the block (`Uniformity.is_block_number`)
                return self.unknown
            if value.op not in SUMS and any(not one.is_exact and not one.differ for one in known):
                return None
        is_exact = all(one.is_exact for one in known)
        meaning, arrays = OPS[value.op].meaning, [one.values for one in known]
        results = meaning(*arrays) if value.op in OF_ARRAYS else _in_each(meaning, *arrays)
        return Numbers(_array(results, value.type), is_exact)


def _threads(block_dim: int) -> list[int]:
    """Return the numbers of the threads of some warps; the last one stands for those that a warp lacks."""
    warps = max(1, block_dim // SUBGROUP_SIZE)
    chosen = sorted({number * warps // MOST_WARPS for number in range(MOST_WARPS)})
    return [warp * SUBGROUP_SIZE + min(lane, block_dim - 1) for warp in chosen for lane in range(SUBGROUP_SIZE)]


def _is_integer(type: Type | None) -> bool:
    return isinstance(type, Scalar) and not type.is_float


def _in_each(meaning: Callable[..., Any], *operands: np.ndarray[Any, Any]) -> list[Any]:
    """Return what an operation gives in each thread; it is done once for all threads with the same operands."""
    rows = list(zip(*(one.tolist() for one in operands), strict=True))
    kinds = [one.dtype.type for one in operands]
    results = {row: meaning(*(kind(number) for kind, number in zip(kinds, row))) for row in set(rows)}
    return [results[row] for row in rows]


def _array(numbers: Any, type: Type | None) -> np.ndarray[Any, Any]:
    """Return numbers as an array of a type; integers wrap."""
    assert isinstance(type, Scalar)
    if isinstance(numbers, np.ndarray):
        return numbers.astype(type.numpy)
    return np.array([type(int(number)) for number in numbers], type.numpy)
