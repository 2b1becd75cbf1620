"""`kernel.tune`: try the values of a source's tuning parameters, or of the compiler's, and store the fastest.

In: the variants of a call, with parameters (`tuning_parameters.py`, `compiler_parameters.py`). Out: a `Tuning`, which
prints as a table; the winner is stored for the device and the class of shapes, and later launches use it.

Each setting is compiled and checked like an edit, compared with the generated source on copies of the arguments, and
only then timed against the source as written, alternately. Each trial is stored at once: a search that was stopped
resumes where it was. The fastest three are timed once more, together, and the best of them once more alone; it wins
only if it is faster beyond doubt both times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING

from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...launch.tuning import Tunable
from ..compiler_parameters import COMPILER, CompilerParameters
from ..edits import selection as edits
from ..edits.stored_tunings import (
    StoredTuning,
    combinations,
    read_entries,
    shape_class,
    source_digest,
    space_of,
    spaces_of,
    with_values,
    write_entry,
)
from ..edits.tuning_parameters import TuningSpace
from ..edits.variants import GENERATED, Variants
from .bench import Timing, time_modules
from .compare import Comparer, Comparison, build_with
from .process.runners import Runner, runner_for
from .ratios import FASTER, SLOWER, Ratio, ratio_of
from .replicas import counts_of
from .timing import SECONDS
from .tuning_results import FAILED, REFUSED, TIMED, WRONG, Setting, Trial, Tuning

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule

LIMIT = 100
"""The most settings that are tried."""
TRIAL_SECONDS = 0.4
"""For the rounds of one setting, at most; the last comparison takes longer."""
FINALISTS = 3
WRITTEN = "as written"

Progress = Callable[[str, int, int], None]
"""Called before each trial with the setting, how many were tried, and the most that will be tried."""


def tune(
    variants: Variants,
    variant: str | None = None,
    tunable: Tunable | None = None,
    seconds: float = SECONDS,
    limit: int = LIMIT,
    restart: bool = False,
    progress: Progress | None = None,
    in_process: bool = False,
    time_limit: float | None = None,
) -> Tuning:
    """Try the settings of a source's tuning parameters, store the winner, and return all results.

    Args:
        variants: The variants of the call.
        variant: Whose source; None: that of the variant that a launch runs.
        tunable: What Python offers in addition to the source. If nothing is offered for a kernel that nobody has
            edited, the compiler's parameters are tried.
        seconds: For the last comparison; no trial takes longer.
        limit: Of settings; if there are more, one parameter after the other is tried.
        restart: Forget earlier trials.
        progress: Called before each trial.
        in_process, time_limit: See `compare`.

    Raises: TaichiRuntimeError if there is nothing to tune, or if the source as written does not compute the same as the
    generated one; TaichiCompilationError at the line of a comment that cannot be understood.
    """
    name = variants.chosen.variant if variant is None else variant
    with closing(runner_for(variants.session, in_process, time_limit)) as runner:
        search = _Search(variants, name, tunable or Tunable(), progress or (lambda label, number, total: None), runner)
        search.resume(restart)
        search.trial_seconds = min(TRIAL_SECONDS, seconds)
        search.explore(limit)
        search.decide(seconds)
    return search.tuning


class _Search:
    """One search. The copies, and the results of the generated source, are made once for all settings."""

    def __init__(
        self, variants: Variants, name: str, tunable: Tunable, progress: Progress, runner: Runner | None = None
    ) -> None:
        self.variants, self.name, self.progress = variants, name, progress
        self.runner = Runner(variants.session) if runner is None else runner
        self.original = variants.module(name)
        self.paths = variants.paths.get(name, ())
        by_name = {path.name.replace(f"@{name}", ""): str(path) for path in self.paths}
        spaces = spaces_of(self.original, tunable, by_name)
        self.compiler: CompilerParameters | None = None
        if name == GENERATED and not tunable.parameters:
            self.compiler = CompilerParameters(variants.specialization, self.original)
            own = space_of(self.compiler)
            spaces |= {COMPILER: own} if own.parameters else {}
        if not spaces:
            raise _nothing(variants, self.original, tunable)
        generated, device = variants.generated, variants.session.device
        if name != GENERATED:
            build_with(self.runner, variants, name, self.original)
        shapes = shape_class(generated, variants.args)
        iterations = max((1, *counts_of(variants, generated)))
        self.tuning = Tuning(generated.kernel, name, device.title, shapes, spaces, iterations=iterations)
        self.entry = StoredTuning(device.title, shapes, name, source_digest(self.original, spaces))
        self.known: dict[str, Trial] = {}
        self.total = 0
        self.trial_seconds = TRIAL_SECONDS
        self._comparer: Comparer | None = None

    def resume(self, restart: bool) -> None:
        """Take over the trials of an earlier search of this source."""
        for entry in read_entries(self.variants.slot) if not restart else ():
            same = (entry.device, entry.shapes, entry.variant, entry.text)
            if same == (self.entry.device, self.entry.shapes, self.entry.variant, self.entry.text):
                trials = [Trial.of_json(trial, self.tuning.spaces) for trial in entry.trials]
                self.known = {trial.label: trial for trial in trials}

    def explore(self, limit: int) -> None:
        """Try all settings, or if they are too many one parameter after the other, until nothing gets faster."""
        self.total = min(limit, combinations(self.tuning.spaces))
        if combinations(self.tuning.spaces) <= limit:
            for setting in settings(self.tuning.spaces):
                self.try_setting(setting)
        else:
            climb(self.tuning.spaces, limit, self.try_setting)

        self._note_undecided()

    def _note_undecided(self) -> None:
        """Note the settings for which a condition of the source has no value: they were not tried."""
        spaces = self.tuning.spaces
        written: Setting = {name: space.defined for name, space in spaces.items()}
        for name, space in spaces.items():
            for values, reason in islice(space.undecided(), LIMIT):
                self.tuning.trials.append(Trial({**written, name: values}, REFUSED, reason))
        self._store()

    def try_setting(self, setting: Setting) -> Trial:
        """Return the trial of a setting, made now or by an earlier search, and store it."""
        label = Trial(setting, TIMED).label
        found = self.known.get(label)
        if found is None:
            self.progress(label, len(self.tuning.trials), self.total)
            found = self._tried(setting, label)
        else:
            self.tuning.resumed += 1
        self.tuning.trials.append(found)
        self._store()
        return found

    def _tried(self, setting: Setting, label: str) -> Trial:
        session, generated = self.variants.session, self.variants.generated
        comparer, laps = self.comparer, _Laps()
        if all(values == self.tuning.spaces[name].defined for name, values in setting.items()):
            row = self._timed({WRITTEN: self.original}, self.trial_seconds).rows[0]
            return Trial(setting, TIMED, "", row.median, costs=(0.0, 0.0, laps.lap()))
        try:
            module = self.with_values(setting)
            base = generated if self.compiler is None else self.compiler.module(setting.get(COMPILER, {}))
            edits.build(session, base, module, self.paths, partial(self.runner.load, label, paths=self.paths))
        except TaichiCompilationError as error:
            return Trial(setting, REFUSED, first_line(error), costs=laps.all())
        except TaichiRuntimeError as error:  # the driver's compiler crashed
            self._require_device(setting, label, error)
            return Trial(setting, FAILED, first_line(error), costs=laps.all())
        laps.lap()
        try:
            comparison = comparer.against(label, module)
            laps.lap()
            if not comparison.passed:
                return Trial(setting, WRONG, first_difference(comparison), costs=laps.all())
            row = self._timed({WRITTEN: self.original, label: module}, self.trial_seconds).rows[1]
        except TaichiRuntimeError as error:
            self._require_device(setting, label, error)
            return Trial(setting, FAILED, first_line(error), costs=laps.all())
        assert isinstance(row.ratio, Ratio)
        interval = row.ratio.low, row.ratio.high
        return Trial(setting, TIMED, "", row.median, row.ratio.estimate, interval, laps.all())

    def with_values(self, setting: Setting) -> BackendModule:
        """Return the module of a setting. Raises: TaichiCompilationError if the compiler refuses it."""
        return with_values(self.variants.generated, self.original, setting, compiler=self.compiler)

    def _require_device(self, setting: Setting, label: str, error: TaichiRuntimeError) -> None:
        """Stop if a setting has made the device unusable; it counts as failed from now on."""
        if self.runner.is_isolated:  # the next setting gets another process
            return
        try:
            self.variants.session.device.synchronize()
        except TaichiRuntimeError:
            self.tuning.trials.append(Trial(setting, FAILED, first_line(error)))
            self._store()
            raise TaichiRuntimeError(
                f"{label} of kernel `{self.tuning.kernel}` made the device unusable: {error}",
                "start the program again; the search resumes after this setting",
            ) from error

    @property
    def comparer(self) -> Comparer:
        """What compares with the generated source; the source as written has passed."""
        if self._comparer is None:
            comparer = Comparer(self.variants, runner=self.runner)
            if self.name != GENERATED:
                comparison = comparer.against(self.name, self.original)
                if not comparison.passed:
                    raise TaichiRuntimeError(
                        f"`{self.name}` of kernel `{self.tuning.kernel}` does not compute the same as the generated "
                        f"source ({first_difference(comparison)}), so it is not tuned",
                        "see `kernel.compare(...)`",
                    )
            self._comparer = comparer
        return self._comparer

    def _timed(self, modules: dict[str, BackendModule], seconds: float) -> Timing:
        return time_modules(self.variants, modules, seconds, runner=self.runner, recording=self.comparer.recording)

    def decide(self, seconds: float) -> None:
        """Time the fastest together, and store which of them wins."""
        timed = [trial for trial in self.tuning.trials if trial.status == TIMED and trial.ratio < 1]
        finalists = list(islice(sorted(timed, key=lambda trial: trial.ratio), FINALISTS))
        if finalists:
            modules = {WRITTEN: self.original}
            modules |= {trial.label: self.with_values(trial.setting) for trial in finalists}
            final = self.tuning.final = self._timed(modules, seconds)
            row = final[self._plainest(finalists, final)]
            if row.verdict == FASTER:  # once more, alone and later: the fastest of many may have been lucky
                row = self._timed({name: modules[name] for name in (WRITTEN, row.name)}, seconds)[row.name]
            if row.verdict == FASTER and row.ratio is not None:
                self.tuning.best = next(trial.setting for trial in finalists if trial.label == row.name)
                self.entry.ratio = row.ratio.estimate
        self.entry.best = self.tuning.best
        self._store()

    def _plainest(self, finalists: list[Trial], final: Timing) -> str:
        """Return, of the fastest without a difference between them, the one that changes the fewest values."""
        best = final[final.fastest].times

        def changes(trial: Trial) -> int:
            spaces = self.tuning.spaces
            return sum(values[k] != spaces[name].defined[k] for name, values in trial.setting.items() for k in values)

        for trial in sorted(finalists, key=changes):
            row = final[trial.label]
            if row.verdict == FASTER and ratio_of(row.times, best).verdict() != SLOWER:
                return trial.label
        return final.fastest

    def _store(self) -> None:
        self.entry.trials = [trial.to_json() for trial in self.tuning.trials]
        write_entry(self.variants.slot, self.entry)


class _Laps:
    """Measures the times of consecutive steps."""

    def __init__(self) -> None:
        self._spent: list[float] = []
        self._begin = time.perf_counter()

    def lap(self) -> float:
        """End a lap and return its time [s]."""
        now = time.perf_counter()
        self._spent.append(now - self._begin)
        self._begin = now
        return self._spent[-1]

    def all(self) -> tuple[float, ...]:
        """End the last lap and return all."""
        self.lap()
        return tuple(self._spent)


def settings(spaces: dict[str, TuningSpace]) -> Iterator[Setting]:
    """Yield all settings that the conditions allow, in the order of the source."""
    for values in product(*(list(space.combinations()) for space in spaces.values())):
        yield dict(zip(spaces, values, strict=True))


def climb(spaces: dict[str, TuningSpace], limit: int, try_setting: Callable[[Setting], Trial]) -> None:
    """Change one value after the other of the best setting, starting from the source's, until nothing is faster."""
    best: Setting = {name: space.defined for name, space in spaces.items()}
    tried = {Trial(best, TIMED).label}
    ratio, goes_on = 1.0, True
    while goes_on:
        goes_on = False
        for setting in neighbours(spaces, best):
            label = Trial(setting, TIMED).label
            if label in tried:
                continue
            if len(tried) > limit:
                return
            tried.add(label)
            trial = try_setting(setting)
            if trial.status == TIMED and trial.interval[1] < 1 and trial.ratio < ratio:
                best, ratio, goes_on = setting, trial.ratio, True


def neighbours(spaces: dict[str, TuningSpace], setting: Setting) -> Iterator[Setting]:
    """Yield the settings that differ in one value and are allowed."""
    for name, space in spaces.items():
        for parameter in space.parameters:
            for value in parameter.values:
                values = {**setting[name], parameter.name: value}
                if values != setting[name] and space.allow(values):
                    yield {**setting, name: values}


def first_line(error: Exception) -> str:
    """Return the most useful line of an error: the compiler's, if there is one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else type(error).__name__)


def first_difference(comparison: Comparison) -> str:
    """Return the first difference that a comparison found."""
    if comparison.out_of_bounds:
        return f"out of bounds: {comparison.out_of_bounds[0]}"
    return next((str(found.first) for found in comparison.outputs.values() if not found.passed), "it differs")


def _nothing(variants: Variants, module: BackendModule, tunable: Tunable) -> TaichiRuntimeError:
    names = ", ".join(tunable.given)
    found = f"; `ti.tune` names {names}, which the source does not define" if names else ""
    return TaichiRuntimeError(
        f"the source of kernel `{module.kernel}` for {variants.session.device.title} has nothing to tune{found}",
        "write `// @tune BLOCK = 64 | 128 | 256` into the source that `kernel.edit(...)` writes, or "
        "`@ti.tune(block_dim=[64, 128, 256])` above the kernel",
    )
