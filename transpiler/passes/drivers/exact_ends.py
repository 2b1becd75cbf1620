"""Ends loops over constant negative numbers by `!=`, for drivers that leave out iterations of such loops.

    for k in -3..2 step 2    ->    for k in -3..3 step 2, until k is 3    (GLSL: for (int k = -3; k != 3; k += 2))

NVIDIA's driver 580.159 runs two of the three iterations of `for (int k = -3; k < 2; k += 2)` in some shaders; `<=`,
hints and other bodies change nothing. Right are `!=`, a start or end that is no constant, and counting from 0.
"""

from __future__ import annotations

from ...ir.constants import constant_range
from ...ir.nodes import Remark
from ...ir.statements import RangeFor
from ...ir.tasks import Kernel
from ...ir.types import i32
from ..context import PassContext

REMARK = "`!=`: by `<` NVIDIA's driver 580 leaves out iterations of some such loops (exact_ends)"
I32_MIN, I32_MAX = i32.limits


def exact_ends(kernel: Kernel, context: PassContext) -> bool:
    """Find the first number after the last iteration of each serial loop with a negative constant bound."""
    if not context.capabilities.miscompiles_integers:
        return False
    changed = False
    for statement in kernel.statements():
        if isinstance(statement, RangeFor):
            statement.exact_ends = tuple(_exact_end(statement, axis) for axis in range(len(statement.starts)))
            if any(end is not None for end in statement.exact_ends):
                changed = True
                statement.remarks = (*statement.remarks, Remark(REMARK, "above", statement.location))
    return changed


def _exact_end(loop: RangeFor, axis: int) -> int | None:
    """Return the index after the last one; None if a bound is not constant, or none is negative."""
    indices = constant_range(loop, axis)
    if indices is None or min(indices.start, indices.stop) >= 0:
        return None
    last = indices.start + len(indices) * indices.step
    return last if len(indices) and I32_MIN <= last <= I32_MAX else None
