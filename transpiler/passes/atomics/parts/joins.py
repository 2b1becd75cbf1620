"""Lets the last block of a task join what all have accumulated."""

from __future__ import annotations

from ....ir.statements import Temporary
from ....ir.tasks import MAX_BLOCKS, Kernel, Task
from ....ir.types import u32
from ...context import PassContext


def join_in_order(kernel: Kernel, task: Task, context: PassContext) -> None:
    """Let the last block of a task join the results of all blocks; in C, parts are joined in order in any case."""
    if task.blocks_done is not None or context.capabilities.joins_in_order:
        return
    task.blocks_done = Temporary("blocks_done", u32)
    kernel.temporaries.append(task.blocks_done)
    for reduction in task.reductions:
        parameter = reduction.accumulator
        reduction.partials = Temporary(f"{parameter.name}_of_blocks", parameter.type, MAX_BLOCKS)
        kernel.temporaries.append(reduction.partials)
