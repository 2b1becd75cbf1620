"""`kernel.compare(*args)`: an edit against the generated source, with the call's sizes and with others.

In: the `Variants` of a call. Out: a `Comparison`. The generated source runs once for all edits. A size that it does not
take itself (it ends, hangs, or reaches outside of its arrays) is left out, and the comparison says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from ....transpiler.errors import LaunchTimeoutError, TaichiRuntimeError
from ..edits import selection as edits
from ..edits.variants import EDIT, GENERATED, Variants, with_templates
from .compare import DIFFERS, PASSED, ROUNDS, SKIPPED, Comparer, Comparison, Size, checked_module
from .hints import dropped
from .process.child_process import ProcessEnded
from .process.runners import Runner, runner_for
from .sweep import Case, Sweep

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule

SWEPT_ROUNDS = 2
"""Runs of each source with each size: one with each pattern around arrays."""
Prepared = tuple[Size, Case, Comparer | None]
"""A size, and the runs of the generated source with it; None if it does not take the size."""
LONG_SECONDS = 2.0
"""A call that takes longer is repeated with smaller sizes only."""


class SweptComparer:
    """A call, and the same call with other sizes, with which any number of sources can be compared.

    modules: that will be compared, whose blocks the sizes exceed. sweeps: also with other sizes.
    """

    def __init__(
        self,
        variants: Variants,
        modules: Sequence[BackendModule],
        runner: Runner,
        rounds: int = ROUNDS,
        relative: float | None = None,
        absolute: float | None = None,
        sweeps: bool = True,
    ) -> None:
        self._variants, self._runner = variants, runner
        self._tolerances = relative, absolute
        begin = perf_counter()
        self.call = Comparer(variants, rounds, relative, absolute, runner)
        self._is_long = perf_counter() - begin > LONG_SECONDS * rounds
        self._sweep = Sweep(self.call.outputs, [variants.generated, *modules]) if sweeps else None
        self._cases: list[Prepared] | None = None

    def against(self, name: str, module: BackendModule) -> Comparison:
        """Compare a module with the generated one.

        Raises: TaichiRuntimeError if it crashes, hangs or loses the device.
        """
        found = self.call.against(name, module)
        found = replace(found, notes=(*found.notes, *dropped(name, self._variants.generated, module)))
        if not found.passed or self._sweep is None:
            return found
        if self._sweep.reason:
            return replace(found, notes=(*found.notes, f"not compared with other sizes: {self._sweep.reason}"))
        if self._cases is None:
            self._cases = list(self._prepared(self._sweep))
        rule = edits.rule_for(self._variants, name)
        sizes: list[Size] = []
        for size, case, comparer in self._cases:
            if rule is not None and not rule.holds(self._sweep.facts(case)):
                sizes.append(replace(size, text=f"since `@when {rule.text}` does not hold"))
                continue
            sizes.append(size if comparer is None else _against(comparer, size, name, module))
            if sizes[-1].verdict == DIFFERS:  # the smallest size tells most
                break
        return replace(found, sizes=tuple(sizes))

    def _prepared(self, sweep: Sweep) -> list[Prepared]:
        """Return the sizes, each with the runs of the generated source, None where it does not take it."""
        found: list[Prepared] = []
        for cases in sweep.cases():
            tried = [self._tried(sweep, cases[0])]
            if tried[0][2] is None and len(cases) > 1:
                tried.append(self._tried(sweep, cases[1]))
            found.append(next((each for each in tried if each[2] is not None), tried[0]))
        return found

    def _tried(self, sweep: Sweep, case: Case) -> Prepared:
        size = Size(case.name, sweep.described(case), SKIPPED)
        if self._is_long and any(new > old for old, new in case.extents.items()):
            return replace(size, text="since the call takes long"), case, None
        try:
            comparer = Comparer(self._variants, SWEPT_ROUNDS, *self._tolerances, self._runner, sweep.recording(case))
            faults = comparer.faults()
        except TaichiRuntimeError as error:
            if self._variants.session.stuck:
                raise
            return replace(size, text=f"the generated source does not take it: {error.message}"), case, None
        return (replace(size, text=faults), case, None) if faults else (size, case, comparer)


def _against(comparer: Comparer, size: Size, name: str, module: BackendModule) -> Size:
    """Return the result with one size. Raises: TaichiRuntimeError that names the sizes."""
    try:
        found = comparer.against(name, module)
    except ProcessEnded as error:
        raise ProcessEnded(f"{error.message} with {size.shapes}", error.hint) from None
    except LaunchTimeoutError as error:
        raise LaunchTimeoutError(f"{error.message}. Its arrays were {size.shapes}", error.hint) from None
    except TaichiRuntimeError as error:
        raise TaichiRuntimeError(f"{error.message} with {size.shapes}", error.hint) from None
    if found.passed:
        return replace(size, verdict=PASSED)
    failed = [str(output.first) for output in found.outputs.values() if not output.passed]
    return replace(size, verdict=DIFFERS, text="; ".join([*failed, *found.out_of_bounds]))


def difference(variants: Variants, name: str) -> str:
    """Return how an edit differs from the generated source on the arguments of a launch, "" if it does not."""
    try:
        found = compare(variants, name)
    except TaichiRuntimeError as error:
        return error.message
    failed = [str(output.first) for output in found.outputs.values() if not output.passed]
    sizes = [f"with {size.shapes}, {size.text}" for size in found.sizes if size.verdict == DIFFERS]
    return "; ".join([*failed, *found.out_of_bounds, *sizes])


def compare(
    variants: Variants,
    variant: str | None = None,
    rounds: int = ROUNDS,
    relative: float | None = None,
    absolute: float | None = None,
    in_process: bool = False,
    time_limit: float | None = None,
    sanitize: bool = False,
    sweep: bool = True,
) -> Comparison:
    """Compare a variant of a kernel with its generated source on copies of the arguments; see `Comparison`.

    variant: its name; None: the one that a launch runs, or the unnamed edit. relative, absolute: tolerances instead of
    those by type. in_process: run it in this process, which it may then end. time_limit: for a run of it [s]; None: 10,
    or 30 times what the generated source takes; in this process, where GPUs alone have a limit, see `Runner`. sanitize:
    with the sanitizers of the C compiler. sweep: also with ndarrays of other sizes.
    Raises: the edit's own error where it cannot run; TaichiRuntimeError where there is no such variant, where the
    device reports a fault, and where the edit crashes or exceeds the time limit (in this process: a
    LaunchTimeoutError, after which the device refuses all use).
    """
    variants = with_templates(variants, None if variant is None else [variant])
    if variant is None:
        variant = variants.chosen.variant if variants.chosen.variant != GENERATED else EDIT
    variants.module(variant)  # before a process is started
    with closing(runner_for(variants.session, in_process, time_limit, sanitize)) as runner:
        module = checked_module(variants, variant, runner)
        comparer = SweptComparer(variants, [module], runner, rounds, relative, absolute, sweep)
        return comparer.against(variant, module)
