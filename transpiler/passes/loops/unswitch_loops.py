"""Moves a branch that is the same in all iterations of a serial loop out of it, where the loop has nothing else (C).

    for kx in range(3) {                              if 0 <= i + ky < n {
        if 0 <= i + ky < n { s += ... }       ->          for kx in range(3) { s += ... }
    }                                                 }

The loop inside has no branch then, and iterations of the parallel loop around may run together (`lane_loops`): a
convolution with 3 x 3 numbers in 32 channels, of elements inside of an image, took one core 243 ms before and 19 ms
after, where `peel_borders` leaves out the conditions on columns (LLVM: 121).
"""

from __future__ import annotations

from ...ir.nodes import Block, Statement, walk_blocks
from ...ir.statements import ArgLoad, ArrayShape, Cast, Const, If, LoopIndex, Operation, RangeFor, repeats
from ...ir.tasks import Kernel
from ..analysis.queries import computed_from, has_else, is_index_of, trip_count
from ..analysis.speculation import may_be_early
from ..context import PassContext

PURE = (ArgLoad, ArrayShape, Cast, Const, LoopIndex, Operation)


def unswitch_loops(kernel: Kernel, context: PassContext) -> bool:
    """Exchange such loops of C with the branches inside, from the innermost loops on."""
    if not context.capabilities.vectorizes_loops:
        return False
    changed = False
    for block in [block for task in kernel.tasks for block in reversed(list(walk_blocks(task.body)))]:
        for statement in reversed(list(block)):
            if isinstance(statement, RangeFor) and repeats(statement):
                exchanged = _exchanged(statement)
                block.replace(statement, exchanged)
                changed |= exchanged[-1] is not statement
    return changed


def _exchanged(loop: RangeFor) -> list[Statement]:
    """Return a branch with a loop inside, after what its condition is computed from; the loop alone if it stays."""
    *others, branch = loop.body.statements or [loop]
    if not isinstance(branch, If) or has_else(branch) or not all(isinstance(s, PURE) for s in others):
        return [loop]
    moved = [s for s in others if s in computed_from(branch.condition)]
    if any(is_index_of(s, loop) for s in moved):
        return [loop]
    if not trip_count(loop) and not all(map(may_be_early, moved)):  # without an iteration nothing divides by 0
        return [loop]
    loop.body.statements = [*(s for s in others if s not in moved), *branch.then]
    branch.then = Block([loop])
    return [*moved, branch]
