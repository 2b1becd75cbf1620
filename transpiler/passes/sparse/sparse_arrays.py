"""Gives a kernel the arrays beside the cells of sparse trees that its statements need, last of all passes."""

from __future__ import annotations

from ...ir.sparse import add_arrays
from ...ir.tasks import Kernel
from ..context import PassContext


def sparse_arrays(kernel: Kernel, context: PassContext) -> bool:
    """Add the arrays; the runtime has memory for each by its node and role."""
    count = len(kernel.arrays)
    if kernel.trees:
        add_arrays(kernel)
    return len(kernel.arrays) > count
