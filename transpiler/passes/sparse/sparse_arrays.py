"""Adds the auxiliary arrays of sparse trees that the statements of a kernel use. It is the last pass."""

from __future__ import annotations

from ...ir.sparse import add_arrays
from ...ir.tasks import Kernel
from ..context import PassContext


def sparse_arrays(kernel: Kernel, context: PassContext) -> bool:
    """Add the arrays; the runtime finds the memory of each by its node and role."""
    count = len(kernel.arrays)
    if kernel.trees:
        add_arrays(kernel)
    return len(kernel.arrays) > count
