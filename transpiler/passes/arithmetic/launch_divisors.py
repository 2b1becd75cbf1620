"""Lets a launch pack the numbers by which the threads of a GPU divide, if they are the same for all of them.

    index / args.n    ->    divide(index, args.by_n)          (the indices of a loop over several axes)
    $2 = mod $x, $n   ->    mod_by(x, args.n, args.by_n)      (CUDA C)

GPUs have no division of integers: one takes about 20 instructions, and `for n, c, i, j in x` over an ndarray has three,
which are no constants. The launch, which packs the arguments anyway, adds a multiplier and a shift for each such number
(`backend/module/divisors.py`), with which an index takes three. Python's `//` and `%` of any i32 take eight.
"""

from __future__ import annotations

from ...ir.constants import extent_key, is_short_number, launch_key
from ...ir.nodes import Effect, walk
from ...ir.statements import Const, Operation, RangeFor
from ...ir.tasks import Kernel, Task
from ...ir.threads import WARP
from ...ir.types import i32
from ..analysis.queries import count_along
from ..context import PassContext

DIVISIONS = frozenset({"floordiv", "mod", "plain_div", "plain_mod"})


def launch_divisors(kernel: Kernel, context: PassContext) -> bool:
    """Mark the parallel loops and the divisions of a GPU by numbers that a launch knows."""
    if not context.capabilities.has_warps:
        return False
    loops = [task.loop for task in kernel.tasks if task.loop is not None and _divides(task.loop) and not _waits(task)]
    for loop in loops:
        loop.packs_divisors = True
    divisions = [s for task in kernel.tasks for s in walk(task.body) if isinstance(s, Operation) and _is_by_launch(s)]
    for division in divisions:
        division.by_launch = True
    return bool(loops or divisions)


def _divides(loop: RangeFor) -> bool:
    """Return whether the indices of a loop are quotients by numbers that are no constants."""
    if loop.order or loop.cells is not None or not all(isinstance(step, Const) for step in loop.steps):
        return False
    if (count_along(loop, len(loop.starts) - 1) or 1) % WARP == 0:  # threads of a tile
        return False
    return any(extent_key(loop, axis) is not None for axis in range(1, len(loop.starts)))


def _waits(task: Task) -> bool:
    """Return whether threads of a block wait for each other, as for tiles: a block has the same quotients.

    The target's compiler sees that of divisions alone: products of 4,096 squared took 1.26 of the time.
    """
    return any(s.EFFECT & Effect.FENCE for s in walk(task.body))


def _is_by_launch(statement: Operation) -> bool:
    """Return whether an operation divides by a number of the launch that is no constant, and short."""
    if statement.op not in DIVISIONS or statement.type != i32:
        return False
    divisor = statement.operands[1]
    return divisor.type == i32 and is_short_number(divisor) and launch_key(divisor) is not None
