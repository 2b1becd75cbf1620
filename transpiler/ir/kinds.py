"""What a kernel is made of: the classes of its statements and the names of its operations, by one walk.

A pass looks for statements of few kinds, and most kernels have none of them: so passes need not look.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from .nodes import Statement, walk_blocks
from .statements import Array, GlobalPtr, Operation
from .tasks import Kernel

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
    return {statement.array for statement in statements_in(kernel) if isinstance(statement, GlobalPtr)}


def statements_in(kernel: Kernel) -> Iterator[Statement]:
    """Return all statements of a kernel: a block's before those of the blocks inside it, and in no further order."""
    return chain.from_iterable(block.statements for root in kernel.roots() for block in walk_blocks(root))
