"""Lowers loops over the elements of an array to range loops over its shape.

    for i, j in a    ->    for i, j in (0, 0)..(shape a 0, shape a 1)  over a

`over` records that each index tuple is one element of the array, `order` the memory order of the elements if it is not
row-major. In a sparse tree the body runs only for active cells: a parallel loop below a pool runs over a list of them
(`active_cells`), and so does a loop of the kernel's body that changes which cells are active. Any other loop tests
every cell.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.nodes import Block, Statement, walk
from ...ir.origins import extent_of
from ...ir.snodes import Node, is_sparse, memory_order, pool_above
from ...ir.statements import Array, ArrayShape, Const, If, LoopIndex, RangeFor, StructFor
from ...ir.tasks import Kernel
from ...ir.types import i32
from ..context import PassContext
from ..rewrite import Rewriter, Rule
from .active_cells import changes_its_cells, is_active, less, listed_by, over_active_cells, unlisted_by


def struct_for(kernel: Kernel, context: PassContext) -> bool:
    """Replace every StructFor by a RangeFor with `over` set."""
    replaced: dict[Statement, RangeFor] = {}
    cell_indices: dict[Statement, list[Statement]] = {}
    listed = _listed_before(kernel.body)

    def rule(rewriter: Rewriter, loop: Statement) -> Statement | None:
        assert isinstance(loop, StructFor)
        changes = loop in listed and changes_its_cells(loop)
        lowest = listed_by(loop, changes) if loop in listed and (changes or not loop.serialize) else None
        if lowest is not None:
            before, new, cell_indices[loop] = over_active_cells(kernel, loop, lowest, listed[loop], changes)
        else:
            before, new = as_range_for(loop)
            replaced[loop] = new
        rewriter.out.extend(before)
        rewriter.visit(new)
        return new

    def index(rewriter: Rewriter, statement: Statement) -> Statement | None:
        assert isinstance(statement, LoopIndex)
        return cell_indices[statement.loop][statement.axis] if statement.loop in cell_indices else None

    rules: dict[type[Statement], Rule] = {StructFor: rule}
    if any(isinstance(loop, StructFor) and is_in_pool(loop.array) for loop in listed):
        rules[LoopIndex] = index
    if not Rewriter(rules).run(kernel):
        return False
    for root in kernel.roots() if replaced else ():
        rebind_indices(root, replaced)
    # Bounds of a loop over a dense array are numbers and extents, which are printed in place.
    if cell_indices or any(is_in_pool(loop.over) for loop in replaced.values()):
        context.forget()
    else:
        context.left = frozenset()
    return True


def is_in_pool(array: Array | None) -> bool:
    """Return whether an array has cells that may be inactive."""
    return array is not None and array.place is not None and is_sparse(array.place)


def _listed_before(body: Block) -> dict[Statement, set[Node]]:
    """Return, by loop of a kernel's body, the pools with a valid list that an earlier loop has built."""
    result: dict[Statement, set[Node]] = {}
    listed: set[Node] = set()
    for statement in body.statements:
        if isinstance(statement, StructFor):
            result[statement] = set() if statement.serialize else set(listed)
            pool = None if statement.serialize else listed_by(statement, False)
            while pool is not None:
                listed.add(pool)
                pool = pool_above(pool)
        if listed:
            listed -= unlisted_by(statement)
    return result


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
        if loop.array.ndim == 0:  # the single element of an array without axes
            return Const(1, type=i32)
        if shape is None:
            return ArrayShape(loop.array, axis, type=i32)
        return Const(offset[axis] + shape[axis], None if offset[axis] else extent_of(loop.array, axis), type=i32)

    body = loop.body
    if is_in_pool(loop.array):
        body = Block()
    new = RangeFor(
        [add(Const(offset[axis], type=i32)) for axis in axes],
        [add(end(axis)) for axis in axes],
        [add(Const(1, type=i32)) for _ in axes],
        loop.names or ["i"],
        body,
        loop.serialize,
        loop.block_dim,
        loop.array,
        loop.parallelize,
        () if loop.array.place is None else memory_order(loop.array.place),
        location=loop.location,
        grid_stride=loop.grid_stride,
        block_local=loop.block_local,
    )
    if body is not loop.body:
        _add_activity_test(new, loop)
    return before, new


def _add_activity_test(new: RangeFor, loop: StructFor) -> None:
    """Run the body of a loop over all cells of an array only for active ones."""
    builder = Builder(new.body, loop.location)
    assert loop.array.place is not None
    lower_bounds = loop.array.offset or (0,) * loop.array.ndim
    indices: list[Statement] = [
        builder.add(LoopIndex(new, axis, type=i32, name=new.names[axis])) for axis in range(loop.array.ndim)
    ]
    counted = [less(builder, index, lower_bound) for index, lower_bound in zip(indices, lower_bounds, strict=True)]
    builder.add(If(is_active(builder, loop.array.place, counted), loop.body))


def rebind_indices(block: Block, replaced: dict[Statement, RangeFor]) -> None:
    """Make each LoopIndex of a replaced loop refer to the replacement."""
    for statement in walk(block):
        if statement.__class__ is LoopIndex and statement.loop in replaced:
            statement.loop = replaced[statement.loop]
