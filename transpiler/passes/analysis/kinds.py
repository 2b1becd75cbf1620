"""What a kernel is made of: the classes of its statements and the names of its operations, by one walk.

A pass looks for statements of few kinds, and most kernels have none of them: so passes need not look.
"""

from __future__ import annotations

from ...ir.nodes import walk_blocks
from ...ir.statements import Array, GlobalPtr, Operation
from ...ir.tasks import Kernel

Kinds = set[object]
"""Classes of statements, and names of operations."""


def kinds_in(kernel: Kernel) -> Kinds:
    """Return the kinds of all statements of a kernel."""
    kinds: Kinds = set()
    for root in kernel.roots():
        for block in walk_blocks(root):
            statements = block.statements
            kinds.update([statement.__class__ for statement in statements])
            kinds.update([statement.op for statement in statements if statement.__class__ is Operation])
    return kinds


def arrays_in(kernel: Kernel) -> set[Array]:
    """Return the arrays that a kernel accesses."""
    return {
        statement.array
        for root in kernel.roots()
        for block in walk_blocks(root)
        for statement in block.statements
        if isinstance(statement, GlobalPtr)
    }
