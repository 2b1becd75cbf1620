"""How much of the shared memory of a block nothing uses yet."""

from __future__ import annotations

from math import prod

from ....ir.nodes import walk
from ....ir.statements import GlobalPtr
from ....ir.tasks import Task
from ....ir.threads import shared_size_bytes
from ....options import Capabilities

WARPS, COUNTS = 32, 16
"""The partial results that a block has of each reduction at least, and the bytes of what else joins reductions."""


def free_shared_bytes(task: Task, capabilities: Capabilities) -> int:
    """Return how many bytes a block has left after shared arrays, copies of arrays and partial results."""
    arrays = {s.array for root in task.roots() for s in walk(root) if isinstance(s, GlobalPtr) and s.array.is_shared}
    copies = sum(prod(array.shape or ()) * array.element.size_bytes for array in task.block_sums)
    partial = max(WARPS, task.block_dim)
    joined = sum(partial * reduction.accumulator.type.size_bytes for reduction in task.reductions)
    used = sum(map(shared_size_bytes, arrays)) + copies + joined + (COUNTS if joined else 0)
    return capabilities.max_shared_bytes - used
