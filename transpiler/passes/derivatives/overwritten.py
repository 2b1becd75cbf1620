"""Finds elements of arrays that a kernel reads and later overwrites, although its gradient needs what it read.

Stub.
"""

from __future__ import annotations

from ...ir.nodes import Block
from ...ir.statements import Array


def find_overwritten(body: Block, gradient: Block, replayed: set[Array]) -> set[Array]:
    """Return the arrays whose elements the gradient reads although `body` may have overwritten them."""
    return set()
