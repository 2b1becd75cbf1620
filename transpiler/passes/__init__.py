"""The passes and their order: a kernel as the frontend made it comes in, tasks in final form come out.

Order constraints: `overflow` before all others, which compute on their own; then `split_arrays` (no other pass knows
arrays with parts) and `lower` (the rest needs structured returns); local atomics become plain before the first cleanup,
which then sees through them; `bounds` after a cleanup, so that merged pointers are checked once, but `check_wide_indices`
before it, while indices are whole; `struct_for` before `offload`, so that tasks hold range loops only; between them
`activate_cells`, then `deactivate_cells`, whose stores activate nothing and whose loops are tasks; `demote_atomics`
after `offload`, where it is known which iterations run side by side; `split_threads` once control flow is as simple as
it gets, and after `check_threads`, which says that it can; `legalize` late, since cleanup must not rebuild what it
removed; `ranges` after all passes that ask what an operation is: they know Python's divisions. `call_effects` stands
wherever functions have changed in what they do: before the first cleanup, after checks were added, at the end for the
text. `recursion` before the passes that follow calls.
"""

from __future__ import annotations

import sys
from time import perf_counter

from ..errors import InternalError
from ..ir.tasks import Kernel
from ..ir.verify import Stage, verify
from .analysis.call_effects import call_effects
from .checks.bounds import bounds
from .checks.check_wide_indices import check_wide_indices
from .cleanup.common_subexpressions import common_subexpressions
from .cleanup.dead_code import dead_code
from .cleanup.fold import fold
from .cleanup.forward_stores import forward_stores
from .cleanup.simplify import simplify
from .context import Pass, PassContext
from .control.branch_depth import branch_depth
from .control.iteration_limit import iteration_limit
from .control.lower import lower
from .control.overflow import overflow
from .control.recursion import recursion
from .control.split_arrays import split_arrays
from .sparse.activate_cells import activate_cells
from .sparse.deactivate_cells import deactivate_cells
from .sparse.sparse_arrays import sparse_arrays
from .sparse.struct_for import struct_for
from .target.legalize import legalize
from .target.ranges import ranges
from .tasks.offload import offload
from .threads.check_threads import check_threads
from .threads.clamp_indices import clamp_indices
from .threads.demote_atomics import demote_atomics
from .threads.split_threads import split_threads

__all__ = ["PASSES", "REQUIRED", "Cleanup", "Pass", "PassContext", "Stage", "run", "until_stable"]

MAX_ROUNDS = 8
RECURSION_LIMIT = 20_000
"""Python's limit while passes run: a chain of some hundred `elif` nests as deep, at three calls a level."""


class Cleanup(tuple[Pass, ...]):
    """Passes to run in turn until none of them changes the kernel any more."""


def until_stable(*steps: Pass) -> Cleanup:
    """Return the steps as a group that is run until stable, at most `MAX_ROUNDS` rounds."""
    return Cleanup(steps)


cleanup = until_stable(fold, simplify, forward_stores, common_subexpressions, dead_code)

limits = (branch_depth, iteration_limit)

PASSES: dict[Stage, tuple[Pass | Cleanup, ...]] = {
    Stage.FRONTEND: (overflow, split_arrays),  # returns and breaks may still stand anywhere
    Stage.LOWERED: (
        lower, call_effects, demote_atomics, check_wide_indices, call_effects, cleanup, bounds, call_effects,
    ),
    Stage.TASKS: (
        recursion, struct_for, activate_cells, deactivate_cells, offload, demote_atomics, cleanup, check_threads,
        clamp_indices, split_threads, *limits,
    ),
    Stage.FINAL: (call_effects, legalize, ranges, cleanup, call_effects, sparse_arrays),
}  # fmt: skip

REQUIRED = frozenset({
    "split_arrays", "lower", "call_effects", "recursion", "activate_cells", "deactivate_cells", "offload", "struct_for",
    "check_threads", "split_threads", "clamp_indices", "legalize", "sparse_arrays",
})  # fmt: skip
"""Passes that a kernel cannot do without; `disabled_passes` does not reach them."""


def run(kernel: Kernel, context: PassContext) -> None:
    """Take `kernel` through all stages, in place.

    Raises: TaichiCompilationError for what a target lacks; InternalError naming the pass after which the kernel is
    malformed (with `options.verify`).
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        for stage, steps in PASSES.items():
            for step in steps:
                if isinstance(step, Cleanup):
                    _run_until_stable(step, stage, kernel, context)
                else:
                    _run_pass(step, stage, kernel, context)
    finally:
        sys.setrecursionlimit(limit)


def _run_until_stable(steps: Cleanup, stage: Stage, kernel: Kernel, context: PassContext) -> None:
    """Run the steps in turn; a step is left out once all others have found nothing to change since its last run."""
    unchanged = 0
    for _ in range(MAX_ROUNDS):
        for step in steps:
            unchanged = 0 if _run_pass(step, stage, kernel, context) else unchanged + 1
            if unchanged >= len(steps):
                return


def _run_pass(step: Pass, stage: Stage, kernel: Kernel, context: PassContext) -> bool:
    """Run one pass, record and verify what it changed; return whether it changed anything."""
    name = step.__name__
    if name in context.options.disabled_passes and name not in REQUIRED:
        return False
    start = perf_counter()
    has_changed = step(kernel, context)
    context.times[name] = context.times.get(name, 0.0) + perf_counter() - start
    if not has_changed:
        return False
    if context.record is not None:
        context.record(stage, name, kernel)
    if context.options.verify:
        try:
            verify(kernel, stage)
        except InternalError as error:
            raise InternalError(f"pass `{name}`: {error}") from None
    return True
