"""Clamps the indices of checked accesses in tasks with barriers, so that a wrong index does not corrupt memory.

    check a ($i) within ($n)          check a ($i) within ($n)
    $3 = ptr a ($i)             ->    $2 = min (max $i, 0), ($n - 1)
                                      $3 = ptr a ($2)

In other tasks a thread ends its iteration if a check fails. A thread for which others may wait at a barrier has to go
on, with any values; the failure is still reported.
"""

from __future__ import annotations

from functools import partial

from ...ir.nodes import Statement
from ...ir.sparse import CELL_STATEMENTS
from ...ir.statements import ArrayShape, GlobalPtr, MatrixElement, MatrixPtr
from ...ir.tasks import Kernel
from ...ir.types import i32
from ..analysis.accesses import access_of, is_safe
from ..context import PassContext
from ..rewrite import Rewriter


def clamp_indices(kernel: Kernel, context: PassContext) -> bool:
    """Clamp the indices of all accesses in tasks whose threads communicate, under `debug` or `check_out_of_bound`."""
    if not context.options.check_out_of_bound:
        return False
    rule = partial(_clamp, kernel)
    rewriter = Rewriter(dict.fromkeys((GlobalPtr, MatrixPtr, MatrixElement, *CELL_STATEMENTS), rule))
    for task in kernel.tasks:
        if task.synchronizes:
            rewriter.block(task.body)
    return rewriter.changed


def _clamp(kernel: Kernel, rewriter: Rewriter, statement: Statement) -> Statement | None:
    access = access_of(kernel, statement)
    if access is None or (isinstance(statement, GlobalPtr) and statement.is_flat):  # a number that the compiler counts
        return None
    builder = rewriter.builder(statement)
    for axis, index in enumerate(access.indices):
        if is_safe(access, axis):
            continue
        extent: Statement
        if access.shape is not None:
            extent = builder.const(access.shape[axis])
        else:
            assert access.array is not None
            extent = builder.add(ArrayShape(access.array, axis, type=i32))
        lower_bound = access.offset[axis]
        last = builder.op("sub", extent, builder.const(1 - lower_bound))
        access.indices[axis] = builder.op("min", builder.op("max", index, builder.const(lower_bound)), last)
        rewriter.changed = True
    return None
