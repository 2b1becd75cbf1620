"""Runs the passes. Input: a kernel from the frontend. Output: tasks in final form. Their order is in `order`."""

from __future__ import annotations

from time import perf_counter

from ..errors import InternalError, ReportedError, TaichiCompilationError
from ..ir.tasks import Kernel
from ..ir.verify import Stage, verify
from ..nesting import deep_recursion
from ..options import OwnPass
from .context import Pass, PassContext, PassRun
from .order import ADDED, MAX_ROUNDS, NEEDED, PASSES, REQUIRED, UNAFFECTED, Cleanup, cleanup

__all__ = ["PASSES", "REQUIRED", "Cleanup", "Pass", "PassContext", "Stage", "names_of_passes", "run"]

CLEANED = frozenset(cleanup)
"""The steps of the cleanup, which run when they may find something."""


def run(kernel: Kernel, context: PassContext, last: str = "") -> None:
    """Run all stages on `kernel`, in place. last: the name of the pass after which to stop.

    Raises:
        TaichiCompilationError: for a feature that the target lacks.
        InternalError: names the pass after which the kernel is malformed (with `options.verify`).
    """
    with deep_recursion():
        waiting = set(cleanup)  # its steps that may change something now
        for stage, step in [(stage, step) for stage, steps in _pipeline(context).items() for step in steps]:
            if not isinstance(step, Cleanup):
                _run_step(step, stage, kernel, context, waiting)
                if step.__name__ == last:
                    return
            elif not step.after or any(context.has_changed(each.__name__) for each in step.after):
                _run_until_stable(step, stage, kernel, context, waiting)


def names_of_passes() -> dict[str, list[str]]:
    """Return the names of the passes in their order, by stage; those of a cleanup one after another."""
    return {stage.value: [one.__name__ for step in steps for one in _steps(step)] for stage, steps in PASSES.items()}


def _pipeline(context: PassContext) -> dict[Stage, tuple[Pass | Cleanup, ...]]:
    """Return the table of passes with those of the program."""
    found = dict(PASSES)
    for own in context.options.own_passes:
        name = own.after or own.before
        places = [
            (stage, number)
            for stage, steps in found.items()
            for number, step in enumerate(steps)
            if name in [one.__name__ for one in _steps(step)]
        ]
        stage, number = places[-1] if own.after else places[0]
        steps = list(found[stage])
        steps.insert(number + 1 if own.after else number, _own_step(own, stage))
        found = {**found, stage: tuple(steps)}
    return found


def _own_step(own: OwnPass, stage: Stage) -> Pass:
    """Return a pass of the program as a step, whose mistakes are errors that name it."""

    def step(kernel: Kernel, context: PassContext) -> bool:
        try:
            has_changed = own.function(kernel, context)
            verify(kernel, stage)
        except InternalError as error:
            message = f"the pass `{own.name}` of the program leaves a kernel that is malformed: {error}"
            raise kernel.location.error(
                TaichiCompilationError, message, "`kernel.ir` shows the form before it"
            ) from None
        except ReportedError:
            raise
        except Exception as error:
            message = f"the pass `{own.name}` of the program raised {type(error).__name__}: {error}"
            raise kernel.location.error(TaichiCompilationError, message) from error
        return has_changed is not False

    step.__name__ = own.name
    return step


def _steps(item: Pass | Cleanup) -> tuple[Pass, ...]:
    return item if isinstance(item, Cleanup) else (item,)


def _run_until_stable(steps: Cleanup, stage: Stage, kernel: Kernel, context: PassContext, waiting: set[Pass]) -> None:
    """Run the steps one after another, until none is left that may change something."""
    for _ in range(MAX_ROUNDS):
        changed = False
        for step in steps:
            if steps is cleanup and not waiting:
                return
            changed |= _run_step(step, stage, kernel, context, waiting)
        if not changed:
            return


def _run_step(step: Pass, stage: Stage, kernel: Kernel, context: PassContext, waiting: set[Pass]) -> bool:
    """Run a pass, unless it is a step of the cleanup that would find nothing; add what may find something then.

    Returns: whether it changed the kernel.
    """
    if step not in waiting and step in CLEANED:
        return False
    waiting.discard(step)
    context.left = None
    if not _run_pass(step, stage, kernel, context):
        return False
    left, unaffected = context.left, UNAFFECTED.get(step, ())
    waiting.update(one for one in cleanup if one not in unaffected and (left is None or one.__name__ in left))
    return True


def _run_pass(step: Pass, stage: Stage, kernel: Kernel, context: PassContext) -> bool:
    """Run one pass, record and verify its changes; return whether it changed anything."""
    name = step.__name__
    is_optional = name not in REQUIRED
    if is_optional and (name in context.options.disabled_passes or context.changes == context.options.pass_limit):
        return False
    start = perf_counter()
    needed = NEEDED.get(step)
    is_run = needed is None or context.may_have(kernel, needed)  # whether it may find what it looks for
    has_changed = is_run and step(kernel, context)
    seconds = perf_counter() - start
    context.times[name] = context.times.get(name, 0.0) + seconds
    if is_run:
        context.runs.append(PassRun(name, start, seconds, has_changed))
    if not has_changed:
        return False
    context.facts.clear()
    context.kinds = context.kinds | ADDED[step] if context.kinds is not None and step in ADDED else None
    context.changes += is_optional
    if context.record is not None:
        context.record(stage, name, kernel)
    if context.options.verify:
        try:
            verify(kernel, stage)
        except InternalError as error:
            raise InternalError(f"pass `{name}`: {error}") from None
    return True
