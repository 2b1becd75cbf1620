"""Lowers loops over the elements of an array to range loops over its shape.

    for i, j in a    ->    for i, j in (0, 0)..(shape a 0, shape a 1)  over a

`over` records that each index tuple is one element of the array, `order` the memory order of the elements if it is not
row-major. In a sparse tree the body runs only for active cells: a parallel loop below a pool runs over a list of them
(`active_cells`), and so does a loop of the kernel's body that changes which cells are active. Any other loop tests
every cell.
"""

from __future__ import annotations

from ...ir.nodes import Block, Statement
from ...ir.snodes import Node, pool_above
from ...ir.statements import LoopIndex, RangeFor, StructFor
from ...ir.tasks import Kernel
from ..context import PassContext
from ..rewrite import Rewriter, Rule
from .parts.active_cells import changes_its_cells, listed_by, over_active_cells, unlisted_by
from .parts.dense_loops import as_range_for, is_in_pool, rebind_indices


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
