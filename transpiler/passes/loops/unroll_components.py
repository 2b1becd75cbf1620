"""Unrolls short static loops over the components of a vector, which are then members: `s.x`, not `((float *)&s)[k]`.

    for k in static(range(3)):                   s.x = minmod(a.x, b.x)
        s[k] = minmod(a[k], b[k])        ->      s.y = minmod(a.y, b.y)
                                                 s.z = minmod(a.z, b.z)

Only where the body is one statement, so that the result is no longer than the loop, and where its index selects
components of vectors of 2 to 4 numbers. Arrays in registers, matrices and longer bodies stay loops.
"""

from __future__ import annotations

from ...ir.nodes import Effect, Statement, blocks, walk
from ...ir.statements import MatrixElement, MatrixPtr, RangeFor
from ...ir.tasks import Kernel
from ...ir.types import Tensor
from ..analysis.queries import is_index_of
from ..context import PassContext
from .parts.unrolled import unroll_where

MOST = 4
"""Components of a vector with names for them."""


def unroll_components(kernel: Kernel, context: PassContext) -> bool:
    """Unroll the static loops that have one statement for each component of a vector."""
    changed = False
    for root in kernel.roots():
        changed |= unroll_where(root, lambda loop, values: len(values) <= MOST and _is_over_components(loop))
    return changed


def _is_over_components(loop: RangeFor) -> bool:
    """Return whether the body of a static loop is one statement on a component of a short vector."""
    if not loop.unroll:
        return False
    inside = list(walk(loop.body))
    if any(blocks(statement) for statement in inside):
        return False
    if sum(bool(statement.EFFECT & (Effect.WRITE | Effect.CONTROL)) for statement in inside) != 1:
        return False
    return any(_selects_component(statement, loop) for statement in inside)


def _selects_component(statement: Statement, loop: RangeFor) -> bool:
    """Return whether a value or a pointer is the component of a short vector that the index of a loop selects."""
    if not isinstance(statement, (MatrixElement, MatrixPtr)):
        return False
    owner = statement.value if isinstance(statement, MatrixElement) else statement.origin
    is_vector = isinstance(owner.type, Tensor) and len(owner.type.shape) == 1 and owner.type.size <= MOST
    return is_vector and any(is_index_of(index, loop) for index in statement.indices)
