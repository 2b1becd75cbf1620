"""Speculation: computes what a loop adds for all pairs but one before the branch that leaves this one out.

    if i != j {                                 d = x[i] - x_tile[k]
        d = x[i] - x_tile[k]                    f = g_tile[k] * d / dot(d, d)
        v = v + g_tile[k] * d / dot(d, d)  ->   if i != j {
    }                                               v = v + f
                                                }

With much in the branch NVRTC jumps, so that no two iterations of the loop overlap, though all but one compute the
term. Of what is left it makes a selection: 16,384 vortices took an H200 1.12 ms before, .85 ms after. NVIDIA's Vulkan
driver does the same: forces between 16,384 bodies took .98 ms before, .45 ms after. gcc makes vectors of such a loop
only if the branch does no more than add: forces between 2,048 bodies took two cores 4.2 ms before, .34 ms after. A
term that is not a number is computed and not added.

The condition says that an index of the loop differs from another number that is not read from memory. What is loaded
early exists: it is in shared memory, or at indices of loops over the array.
"""

from __future__ import annotations

from ...ir.nodes import Block, Effect, Remark, Statement, reads, walk_blocks
from ...ir.statements import Alloca, GlobalLoad, If, LocalLoad, LocalStore, LoopIndex, Operation, RangeFor
from ...ir.tasks import Kernel
from ...ir.types import i32
from ..analysis.queries import computed_from, has_else
from ..analysis.speculation import continues, divided, guarded
from ..context import PassContext
from ..vectors.parts.loop_ends import name_end
from ..vectors.parts.moved_terms import move_before

FEWEST = 4
"""The fewest operations of a term that is worth the move."""
JUMPS = Remark("computed in all iterations: a branch would be a jump (early_terms)")
LANES = Remark("computed in all iterations, so that these may become lanes of vectors (early_terms)")


def early_terms(kernel: Kernel, context: PassContext) -> bool:
    """Move what such branches of serial loops compute before them."""
    capabilities = context.capabilities
    if not (capabilities.jumps_over_terms or capabilities.vectorizes_loops):
        return False
    remark = LANES if capabilities.vectorizes_loops else JUMPS
    changed = False
    for task in kernel.tasks:
        for around in list(walk_blocks(task.body)) if task.loop is not None else []:
            for loop in [s for s in around if isinstance(s, RangeFor)]:
                if _in_loop(loop, remark):
                    changed = True
                    if capabilities.vectorizes_loops:
                        name_end(around, loop)
    return changed


def _in_loop(loop: RangeFor, remark: Remark) -> bool:
    """Move what such branches of a loop compute before them."""
    changed = False
    for block in list(walk_blocks(loop.body)):
        for branch in [s for s in block if isinstance(s, If) and _leaves_one_out(s, loop)]:
            changed |= _compute_early(block, branch, remark)
    return changed


def _leaves_one_out(branch: If, loop: RangeFor) -> bool:
    """Return whether a branch is taken unless an index of a loop is a number."""
    condition = branch.condition
    if not isinstance(condition, Operation) or has_else(branch):
        return False
    if condition.op != ("eq" if continues(branch) else "ne"):
        return False
    if any(operand.type != i32 for operand in condition.operands):
        return False
    made = [computed_from(operand) for operand in condition.operands]
    with_index = [any(isinstance(s, LoopIndex) and s.loop is loop for s in of) for of in made]
    if with_index.count(True) != 1 or any(isinstance(s, (GlobalLoad, LocalLoad)) for of in made for s in of):
        return False
    own = made[with_index.index(True)]  # `j % 2 != 0` leaves half of them out
    return all(s.op in ("add", "sub") for s in own if isinstance(s, Operation))


def _compute_early(block: Block, branch: If, remark: Remark) -> bool:
    """Move what the other iterations compute before a branch, if the rest only stores to variables."""
    moved, rest = divided(guarded(block, branch))
    only_stores = all(isinstance(s, (LocalLoad, LocalStore)) or s.EFFECT == Effect.NONE for s in rest)
    is_added = all(isinstance(s.pointer, Alloca) for s in rest if isinstance(s, LocalStore))
    if not only_stores or not is_added or sum(isinstance(s, Operation) for s in moved) < FEWEST:
        return False
    _name_terms(moved, rest, remark)
    move_before(block, branch, moved)
    return True


def _name_terms(moved: list[Statement], rest: list[Statement], remark: Remark) -> None:
    """Give names to what the branch uses, so that it is a statement before it."""
    early = set(moved)
    used = {value: None for s in rest for value in reads(s) if value in early and isinstance(value, Operation)}
    for value in used:
        value.name = value.name or "term"
    if used:
        next(iter(used)).remarks = (remark,)
