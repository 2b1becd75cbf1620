"""Lets a launch pack the divisors by which a thread of a GPU computes the indices of a loop over several axes.

    index / args.n    ->    divide(index, args.by_n)

GPUs have no division of integers: one takes about 20 instructions, and `for n, c, i, j in x` over an ndarray has
three. The launch, which packs the arguments anyway, adds a multiplier and a shift for each extent that is no constant
(`backend/module/divisors.py`), with which a division takes three.
"""

from __future__ import annotations

from ...ir.constants import constant_range
from ...ir.statements import Const, RangeFor
from ...ir.tasks import Kernel
from ..context import PassContext


def launch_divisors(kernel: Kernel, context: PassContext) -> bool:
    """Mark the parallel loops of a GPU whose inner extents a launch knows."""
    if not context.capabilities.has_warps:
        return False
    found = [task.loop for task in kernel.tasks if task.loop is not None and _divides(task.loop)]
    for loop in found:
        loop.packs_divisors = True
    return bool(found)


def _divides(loop: RangeFor) -> bool:
    """Return whether the indices of a loop are quotients by numbers that are no constants."""
    axes = range(1, len(loop.starts))
    if loop.order or loop.cells is not None or not all(isinstance(step, Const) for step in loop.steps):
        return False
    return any(constant_range(loop, axis) is None for axis in axes)
