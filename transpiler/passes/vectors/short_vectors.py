"""Finds loops of C whose sums gather elements: short vectors are faster there.

    for i in y {
        s = 0.0
        for k in range(starts[i], starts[i + 1]) { s += values[k] * x[columns[k]] }
        y[i] = s
    }

A compiler takes eight `k` at a time and gathers the elements of `x` by one instruction, which takes longer than eight
loads on most processors, and rows are short. With vectors of four floats gcc 12 loads each element: rows of 27 numbers
took .33 ms in place of .72, of 2,000 numbers .12 in place of .17 (AMD EPYC). So do loops that gather vectors, also with
conditions: those over some eight particles in each of 27 cells took 40 ms in place of 66 for 105,000 particles. A loop
with more arithmetic keeps its vectors.
"""

from __future__ import annotations

from ...ir.nodes import Statement, operands, walk
from ...ir.statements import Cast, GlobalLoad, GlobalStore, If, IfExp, LocalStore, Operation, RangeFor
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor
from ..analysis.loops.vector_loops import innermost_loops
from ..analysis.queries import is_index_of
from ..context import PassContext

MOST_OPERATIONS, MOST_OF_VECTORS = 8, 24
"""The most operations, those of indices counted, of a loop whose time is that of its loads, and of a loop that gathers
vectors."""


def short_vectors(kernel: Kernel, context: PassContext) -> bool:
    """Mark the tasks of C that contain such loops."""
    if not context.capabilities.vectorizes_loops:
        return False
    for task in kernel.tasks:
        task.short_vectors = _has_gathered_sums(task)
    return any(task.short_vectors for task in kernel.tasks)


def _has_gathered_sums(task: Task) -> bool:
    if task.loop is None or task.is_in_lanes or task.is_split or task.private:
        return False
    innermost = innermost_loops(task)
    return bool(innermost) and all(map(_gathers, innermost))


def _gathers(loop: RangeFor) -> bool:
    """Return whether a short loop without stores to arrays loads numbers, or vectors, at indices that it loads."""
    statements = list(walk(loop.body))
    varying: set[Statement] = {s for s in statements if is_index_of(s, loop)}
    loaded: set[Statement] = set()
    gathers = of_vectors = False
    for statement in statements:
        if isinstance(statement, GlobalStore) or (statement.BLOCKS and not isinstance(statement, (If, IfExp))):
            return False
        used = operands(statement)
        if isinstance(statement, GlobalLoad) and any(o in loaded for o in used):
            gathers, of_vectors = True, of_vectors or isinstance(statement.type, Tensor)
        elif isinstance(statement, GlobalLoad) and not isinstance(statement.type, (Scalar, Tensor)):
            return False
        if any(o in varying for o in used):
            varying.add(statement)
            if isinstance(statement, GlobalLoad):
                loaded.add(statement)
        if any(o in loaded for o in used) and not isinstance(statement, LocalStore):
            loaded.add(statement)
    count = sum(isinstance(s, (Operation, Cast)) for s in statements)
    has_branches = any(statement.BLOCKS for statement in statements)
    if not of_vectors and has_branches:
        return False
    return gathers and count <= (MOST_OF_VECTORS if of_vectors else MOST_OPERATIONS)
