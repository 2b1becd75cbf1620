"""Keeps loops rolled in C that store what they load under a condition: gcc 12 makes wrong vectors of unrolled ones.

    for j in 0 .. 3 {                                       #pragma GCC unroll 1
        g[i, j] = z[i, j] if a[i, j] > .3 else 7.0    ->    for (int j = 0; j < 3; j++) {

gcc unrolls such a loop inside of a parallel one, and loads and stores neighbours together for several iterations of the
parallel loop. It then mixes up which of the loads are masked: with 3 x 20,000 floats 13,409 were wrong (gcc 12.2, AVX
and AVX-512, -O3). Rows of 2, 4 and 8 are right, sums and stores under a condition are, too. Where the program has such
choices one by one, `g[i, 0] = ...; g[i, 1] = ...; g[i, 2] = ...`, the loop around them is kept from vectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...ir.nodes import Block, Remark, Statement, walk, walk_inside
from ...ir.statements import GlobalLoad, GlobalStore, If, IfExp, LocalStore, MatrixPtr, Operation, RangeFor, repeats
from ...ir.tasks import Kernel
from ..analysis.queries import base_array, count_along, trip_count
from ..context import PassContext

MOST = 32
"""The most iterations of a loop that gcc may unroll."""
RIGHT = (1, 2, 4, 8)
"""The numbers of neighbours of which gcc 12 makes right vectors."""
UNMARKED = 3
"""The iterations of the innermost of several parallel loops that is not marked as vectors: longer ones are marked, and
these are right."""
REMARK = Remark("not unrolled: gcc 12 makes wrong vectors of such choices (conditional_loads)", "above")


def conditional_loads(kernel: Kernel, context: PassContext) -> bool:
    """Mark such loops in the parallel loops of C."""
    if not context.capabilities.miscompiles_masked_loads:
        return False
    changed = False
    for task in kernel.tasks:
        outer = task.loop
        if outer is None:
            continue
        if len(outer.starts) > 1 and count_along(outer, -1) == UNMARKED and any(_conditional(task.body)):
            outer.unroll_count, changed = 1, True
        if _chooses_neighbours(task.body):
            task.is_scalar = changed = True
        for loop in [s for s in walk(task.body) if isinstance(s, RangeFor) and _may_be_unrolled(s)]:
            if any(map(_stores_neighbours, loop.body)) and any(_conditional(loop.body)):
                loop.unroll, loop.unroll_count = False, 1
                loop.remarks = (*loop.remarks, REMARK)
                changed = True
    return changed


def _chooses_neighbours(block: Block) -> bool:
    """Return whether a block without loops stores several such choices, to neighbouring elements or members."""
    stores = [s for s in block if isinstance(s, GlobalStore)]
    arrays = Counter(base_array(store.pointer) for store in stores)
    groups = [count for array, count in arrays.items() if array is not None and count not in RIGHT]
    return bool(groups) and len(list(_conditional(block))) >= min(groups) and not any(map(repeats, walk(block)))


def _may_be_unrolled(loop: RangeFor) -> bool:
    count = trip_count(loop)
    return count is not None and count <= MOST and count not in RIGHT


def _stores_neighbours(statement: Statement) -> bool:
    """Return whether a statement stores to memory, or to an element of a local vector that may be stored later."""
    return isinstance(statement, GlobalStore) or (
        isinstance(statement, LocalStore) and isinstance(statement.pointer, MatrixPtr)
    )


def _conditional(block: Block) -> Iterator[Statement]:
    """Yield the loads of a block that a source has in a branch or a choice."""
    for statement in block:
        if isinstance(statement, (If, IfExp)):
            yield from (s for s in walk_inside(statement) if isinstance(s, GlobalLoad))
        elif isinstance(statement, Operation) and statement.op == "select":
            yield from (s for s in statement.operands[1:] if isinstance(s, GlobalLoad))
