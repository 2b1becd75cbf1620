"""Keeps accesses of threads that meet inside their arrays, where indices are checked: a wrong one harms nobody then.

    check a ($i) within ($n)          check a ($i) within ($n)
    $3 = ptr a ($i)             ->    $2 = min (max $i, 0), ($n - 1)
                                      $3 = ptr a ($2)

Elsewhere a thread ends its turn where a check fails. One that others may wait for at a barrier has to go on, with any
numbers: the failure is reported all the same.
"""

from __future__ import annotations

from functools import partial

from ...ir.builder import Builder
from ...ir.nodes import Block, Statement
from ...ir.sparse import CELL_STATEMENTS
from ...ir.statements import ArrayShape, GlobalPtr, MatrixElement, MatrixPtr
from ...ir.tasks import Kernel
from ...ir.types import i32
from ..checks.bounds import access_of, is_safe
from ..context import PassContext
from ..rewrite import Rewriter


def clamp_indices(kernel: Kernel, context: PassContext) -> bool:
    """Bound the indices of all accesses in tasks whose threads work together, under `debug` or `check_out_of_bound`."""
    if not context.options.check_out_of_bound:
        return False
    rule = partial(_bound, kernel)
    rewriter = Rewriter(dict.fromkeys((GlobalPtr, MatrixPtr, MatrixElement, *CELL_STATEMENTS), rule))
    for task in kernel.tasks:
        if task.cooperates:
            rewriter.block(task.body)
    return rewriter.changed


def _bound(kernel: Kernel, rewriter: Rewriter, statement: Statement) -> Statement | None:
    access = access_of(kernel, statement)
    if access is None:
        return None
    builder = Builder(Block(rewriter.out))
    builder.location = statement.location
    for axis, index in enumerate(access.indices):
        if is_safe(access, axis):
            continue
        extent: Statement
        if access.shape is not None:
            extent = builder.const(access.shape[axis])
        else:
            assert access.array is not None
            extent = builder.add(ArrayShape(access.array, axis, type=i32))
        begin = access.offset[axis]
        last = builder.op("sub", extent, builder.const(1 - begin))
        access.indices[axis] = builder.op("min", builder.op("max", index, builder.const(begin)), last)
        rewriter.changed = True
    return None
