"""Lets the last block of a task join what all have accumulated.

A block that stores its results and the last one that loads them take some of the GPU's time: with twice as many blocks
as it runs at once, sums of 2^22 floats took an H200 8.4 us, with half of what it runs 7.0, and 27 sums 65 us, with a
quarter 38. Bodies that compute much need all threads.
"""

from __future__ import annotations

from ....ir.functions import reachable
from ....ir.ops import LIBRARY
from ....ir.statements import Operation, Temporary, repeats
from ....ir.tasks import Kernel, Task
from ....ir.types import count_scalars, u32
from ...context import PassContext

MAX_BLOCKS = 132 * 16
"""Blocks that store results: as many of 128 threads as an H200 runs at once."""
MANY_NUMBERS, MORE_NUMBERS = 5, 16
"""Numbers of a result from which on half of these blocks store some at most, and a quarter."""
LONG = 64
"""Statements of a body that computes much."""


def join_in_order(kernel: Kernel, task: Task, context: PassContext) -> None:
    """Let the last block of a task join the results of all blocks; in C, parts are joined in order in any case."""
    if task.blocks_done is not None or context.capabilities.joins_in_order:
        return
    task.blocks_done = Temporary("blocks_done", u32)
    kernel.temporaries.append(task.blocks_done)
    blocks = _most_blocks(task)
    for reduction in task.reductions:
        parameter = reduction.accumulator
        reduction.partials = Temporary(f"{parameter.name}_of_blocks", parameter.type, blocks)
        kernel.temporaries.append(reduction.partials)


def _most_blocks(task: Task) -> int:
    numbers = sum(count_scalars(reduction.accumulator.type) for reduction in task.reductions)
    if numbers >= MORE_NUMBERS:
        return MAX_BLOCKS // 4
    statements = list(reachable(task.body))
    computes = any(repeats(s) or (isinstance(s, Operation) and s.op in LIBRARY) for s in statements)
    is_long = computes or len(statements) > LONG
    return MAX_BLOCKS if is_long and numbers < MANY_NUMBERS else MAX_BLOCKS // 2
