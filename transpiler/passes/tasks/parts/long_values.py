"""Values of a kernel that a serial task had better compute once than each thread again.

    inv = cam.pose.inverse()            task 0, serial:    store temp inv, inverse(...)
    for i, j, k in vol: ... inv @ p     task 1, range_for: ... load temp inv

The inverse of a 4 x 4 matrix for each of 7 million voxels took an H200 .114 ms, and Taichi .047 with a task for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import prod

from ....ir.nodes import Statement, blocks, walk
from ....ir.ops import OPS
from ....ir.statements import Const, Operation, RangeFor
from ....ir.types import Tensor

MOST_WORK = 64
"""The most operations on numbers that each thread repeats for a value."""
WORK_OF_FUNCTION = 16
"""The work of a sine, or of another function of math.h."""
MOST_ITERATIONS = 1 << 13
"""The most iterations of loops that end about before another task has started."""


class LongValues:
    """Tells which values take long. loops: the parallel ones of a kernel; where all are short, none does."""

    def __init__(self, loops: Iterable[RangeFor]) -> None:
        self._are_short = all(map(_is_short, loops))
        self._needs: dict[Statement, dict[Statement, int]] = {}

    def is_long(self, value: Statement, operands: Iterable[Statement]) -> bool:
        """Return whether a value and those that it reads take long; `operands` were asked about before."""
        if self._are_short:
            return False
        work = _work(value)
        needed = {value: work} if work else {}
        for operand in operands:
            needed.update(self._needs.get(operand, ()))
        if sum(needed.values()) > MOST_WORK:
            return True
        self._needs[value] = needed
        return False


def _is_short(loop: RangeFor) -> bool:
    """Return whether a loop has few iterations, whatever the arguments are."""
    extents = []
    for start, end in zip(loop.starts, loop.ends, strict=True):
        if not isinstance(start, Const) or not isinstance(end, Const):
            return False
        extents.append(max(0, int(end.value) - int(start.value)))
    return prod(extents) <= MOST_ITERATIONS


def _work(value: Statement) -> int:
    """Return how many operations on numbers a value takes, without those that it reads."""
    inside = chain.from_iterable(map(walk, blocks(value))) if value.BLOCKS else (value,)
    return sum(_work_of(operation) for operation in inside if isinstance(operation, Operation))


def _work_of(operation: Operation) -> int:
    shapes = [value.type.shape if isinstance(value.type, Tensor) else () for value in operation.operands]
    longest = max(shapes, key=prod, default=())
    if operation.op in ("inverse", "determinant"):
        return 2 * prod(longest) * longest[0]
    if operation.op == "matmul":
        left, right = shapes
        return prod(left) * (right[1] if len(right) == 2 else 1)
    return prod(longest) * (WORK_OF_FUNCTION if OPS[operation.op].is_in_math_h else 1)
