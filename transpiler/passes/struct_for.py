"""Turns loops over the cells of an array into range loops over its shape.

    for i, j in a    ->    for i, j in (0, 0)..(shape a 0, shape a 1)  over a

`over` tells later passes and printers that each index tuple is one cell of the array.
"""

from __future__ import annotations

from ..ir.nodes import Block, Statement, walk
from ..ir.statements import ArrayShape, Const, LoopIndex, RangeFor, StructFor
from ..ir.tasks import Kernel
from ..ir.types import i32
from .context import PassContext
from .rewrite import Rewriter


def struct_for(kernel: Kernel, context: PassContext) -> bool:
    """Replace every StructFor by a RangeFor with `over` set."""
    replaced: dict[Statement, RangeFor] = {}

    def rule(rewriter: Rewriter, loop: Statement) -> Statement | None:
        assert isinstance(loop, StructFor)
        before, new = as_range_for(loop)
        rewriter.out.extend(before)
        replaced[loop] = new
        rewriter.visit(new)
        return new

    if not any(isinstance(statement, StructFor) for root in kernel.roots() for statement in walk(root)):
        return False
    Rewriter({StructFor: rule}).run(kernel)
    for root in kernel.roots():
        rebind_indices(root, replaced)
    return True


def as_range_for(loop: StructFor) -> tuple[list[Statement], RangeFor]:
    """Return the values of the bounds, and a RangeFor with the same body object."""
    axes = range(max(1, loop.array.ndim))
    before: list[Statement] = []

    def add(statement: Statement) -> Statement:
        statement.location = loop.location
        before.append(statement)
        return statement

    offset = loop.array.offset or (0,) * len(axes)

    def end(axis: int) -> Statement:
        shape = loop.array.shape
        if loop.array.ndim == 0:  # the one cell of an array without axes
            return Const(1, type=i32)
        if shape is None:
            return ArrayShape(loop.array, axis, type=i32)
        return Const(offset[axis] + shape[axis], type=i32)

    new = RangeFor(
        [add(Const(offset[axis], type=i32)) for axis in axes],
        [add(end(axis)) for axis in axes],
        [add(Const(1, type=i32)) for _ in axes],
        loop.names or ["i"],
        loop.body,
        loop.serialize,
        loop.block_dim,
        loop.array,
        loop.parallelize,
        location=loop.location,
    )
    return before, new


def rebind_indices(block: Block, replaced: dict[Statement, RangeFor]) -> None:
    """Let each LoopIndex of a replaced loop belong to its replacement."""
    for statement in walk(block):
        if isinstance(statement, LoopIndex) and statement.loop in replaced:
            statement.loop = replaced[statement.loop]
