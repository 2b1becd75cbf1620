"""Drops the copies of arrays that threads or blocks add to, where no addition is left in their task.

    copy of each thread: counts        ->    (nothing: the branch with the addition is never taken)

`private_sums` and `block_sums` choose the copies; what a later cleanup knows of ranges may remove all additions.
"""

from __future__ import annotations

from ...ir.nodes import walk
from ...ir.statements import Array, GlobalPtr
from ...ir.tasks import Kernel, Task
from ..context import PassContext


def unused_copies(kernel: Kernel, context: PassContext) -> bool:
    """Keep only copies of arrays that their task accesses, and only the memory of these."""
    changed = False
    for task in kernel.tasks:
        if not task.private and not task.block_sums:
            continue
        accessed = _accessed(task)
        unused = [sums for sums in task.private if sums.array not in accessed]
        for sums in unused:
            task.private.remove(sums)
            kernel.temporaries.remove(sums.copies)
        remaining = [array for array in task.block_sums if array in accessed]
        changed |= bool(unused) or remaining != task.block_sums
        task.block_sums = remaining
    return changed


def _accessed(task: Task) -> set[Array]:
    return {statement.array for statement in walk(task.body) if isinstance(statement, GlobalPtr)}
