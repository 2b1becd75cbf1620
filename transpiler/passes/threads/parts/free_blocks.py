"""Whether a pass may choose the size of a task's blocks."""

from __future__ import annotations

from ....ir.tasks import Task
from ....options import BLOCK_DIM, CompileOptions


def has_free_block(task: Task, options: CompileOptions) -> bool:
    """Return whether neither the program nor another pass has chosen the block, nor what its threads do together.

    Sums of the block may follow the loop: they work for any number of warps.
    """
    assert task.loop is not None
    if task.loop.block_dim is not None or not task.block_dim == options.block_dim == BLOCK_DIM:
        return False
    if task.lanes > 1:  # its loops run single iterations, and it takes longer to start
        return False
    return not (task.synchronizes or task.block_sums or task.tile or task.overlaps)
