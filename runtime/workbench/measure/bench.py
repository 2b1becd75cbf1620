"""`kernel.bench`: how long the sources of a kernel take, and whether one is faster than another.

In: the variants of a call. Out: a `Timing`, which prints as a table:

    jacobi(ndarray[f32, 2], ndarray[f32, 2], f32) on NVIDIA H200: 50 rounds, by the device's time stamps
    variant    median    quartiles            time to generated     verdict
    generated  212.3 us  [211.9 us, 213 us]
    edit       180.1 us  [179.8 us, 180.6 us]  0.848 [0.847, 0.850]  faster by 15.2 %
    tiled      212.8 us  [212.0 us, 213.5 us]  1.002 [1.000, 1.003]  no difference (within 0.3 %)

The verdict is "faster" or "slower" only beyond doubt; see `ratios.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from ....transpiler.errors import TaichiRuntimeError
from ...viewed import Viewed, table_lines
from ..edits.identity import shown
from ..edits.variants import GENERATED, Variants, with_templates
from .compare import build_with
from .process.runners import Runner, runner_for
from .ratios import CONFIDENCE, FASTER, MARGIN, NO_DIFFERENCE, Ratio, ratio_of
from .replicas import PATTERNS, Recording, counts_of, record
from .timing import SECONDS, in_words, quartiles, shared_confidence

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule

LARGE = 1.5
"""Ratios from here on are printed as factors, not in percent."""


@dataclass(frozen=True, slots=True)
class Row:
    """One variant. times: of a launch [s], by round. ratio, verdict: to the base; None and "" for the base itself."""

    name: str
    times: tuple[float, ...]
    ratio: Ratio | None
    verdict: str
    margin: float

    @property
    def median(self) -> float:
        """The median time of a launch [s]."""
        return quartiles(self.times)[1]

    @property
    def summary(self) -> str:
        """The verdict with its number: "slower by 5.1 %", "no difference (within 0.4 %)"."""
        ratio = self.ratio
        if ratio is None:
            return ""
        if self.verdict == NO_DIFFERENCE:
            within = max(abs(ratio.low - 1), abs(ratio.high - 1))
            return f"{NO_DIFFERENCE} ({f'within {100 * within:.2g} %' if within < inf else 'too few rounds'})"
        if self.verdict == FASTER:
            large = 1 / ratio.estimate >= LARGE
            return f"faster, {1 / ratio.estimate:.3g} x" if large else f"faster by {100 * (1 - ratio.estimate):.1f} %"
        large = ratio.estimate >= LARGE
        return f"slower, {ratio.estimate:.3g} x" if large else f"slower by {100 * (ratio.estimate - 1):.1f} %"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, times in seconds."""
        low, median, high = quartiles(self.times)
        found: dict[str, Any] = {"variant": self.name, "median": median, "quartiles": [low, high]}
        if self.ratio is not None:
            interval = [end if end < inf else None for end in (self.ratio.low, self.ratio.high)]
            found |= {"ratio": self.ratio.estimate, "interval": interval, "verdict": self.verdict}
        return found


@dataclass(frozen=True, slots=True)
class Timing(Viewed):
    """Times of variants, the base first. device: its name; clock: what measured; repeats: launches in a sample."""

    kernel: str
    device: str
    clock: str
    rows: tuple[Row, ...]
    repeats: int
    margin: float
    confidence: float

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no variant `{name}` was timed; there are {', '.join(row.name for row in self.rows)}")

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self.rows[0].times)

    @property
    def verdict(self) -> str:
        """Of the last variant against the base: "faster", "slower" or "no difference"."""
        return self.rows[-1].verdict

    @property
    def fastest(self) -> str:
        """The variant with the lowest ratio among those that are faster, else the base."""
        faster = [row for row in self.rows if row.verdict == FASTER and row.ratio is not None]
        return (
            min(faster, key=lambda row: row.ratio.estimate if row.ratio else inf).name if faster else self.rows[0].name
        )

    def title(self) -> str:
        """Return one line about what was timed and how."""
        several = f" of {self.repeats} launches" if self.repeats > 1 else ""
        return f"{self.kernel} on {self.device}: {self.rounds} rounds{several}, by {self.clock}"

    def table(self) -> list[tuple[str, ...]]:
        """Return rows of strings, a heading first."""
        base = self.rows[0].name
        found: list[tuple[str, ...]] = [("variant", "median", "quartiles", f"time to {base}", "verdict")]
        for row in self.rows:
            low, median, high = map(in_words, quartiles(row.times))
            ratio = "" if row.ratio is None else str(row.ratio)
            found.append((row.name, median, f"[{low}, {high}]", ratio, row.summary))
        return found

    def remark(self) -> str:
        """Return what is to be said of a single variant, which no verdict is about; "" for several."""
        if len(self.rows) > 1:
            return ""
        return f"no verdict: `{self.rows[0].name}` is the only variant; `kernel.edit(...)` starts another"

    def __str__(self) -> str:
        return "\n".join([self.title(), *table_lines(self.table()), *filter(None, [self.remark()])])

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "kernel": self.kernel,
            "device": self.device,
            "clock": self.clock,
            "rounds": self.rounds,
            "launches": self.repeats,
            "margin": self.margin,
            "confidence": self.confidence,
            "variants": [row.to_json() for row in self.rows],
        }


def bench(
    variants: Variants,
    names: Sequence[str] | None = None,
    seconds: float = SECONDS,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    in_process: bool = False,
    time_limit: float | None = None,
) -> Timing:
    """Time variants of a kernel on copies of the arguments, alternately; see `Timing`.

    names: of the variants, the base first; None: the generated source and all its edits. seconds: for rounds.
    margin: smaller differences count as none. in_process, time_limit: see `compare`.
    Raises: the edit's own error where one cannot run; TaichiRuntimeError for a name that no variant bears.
    """
    variants = with_templates(variants, names)
    if names is None:
        names = [GENERATED, *variants.edits, *variants.errors]
    if not names:
        raise TaichiRuntimeError("`variants` names nothing to time", "leave it out to time all")
    modules = {name: variants.module(name) for name in names}
    with closing(runner_for(variants.session, in_process, time_limit)) as runner:
        for name, module in modules.items():
            if name != GENERATED:
                build_with(runner, variants, name, module)
        return time_modules(variants, modules, seconds, margin, confidence, runner)


def time_modules(
    variants: Variants,
    modules: Mapping[str, BackendModule],
    seconds: float = SECONDS,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    runner: Runner | None = None,
    recording: Recording | None = None,
) -> Timing:
    """Time any modules of the kernel's interface, by name; the first is the base.

    runner: where they run; None: in this process. recording: the call, if it was recorded before.
    """
    session = variants.session
    runner = Runner(session) if runner is None else runner
    runner.take(record(variants) if recording is None else recording)
    counts = [counts_of(variants, module) for module in modules.values()]
    if runner.is_isolated:  # one that hangs or crashes is named
        runner.run(GENERATED, variants.generated, counts_of(variants, variants.generated), PATTERNS[0], is_edit=False)
        for (name, module), each_count in zip(modules.items(), counts, strict=True):
            if module is not variants.generated:
                runner.run(name, module, each_count, PATTERNS[0])
    found = runner.time(dict(modules), counts, seconds, confidence, margin / 2)
    columns = found.columns
    each = shared_confidence(confidence, len(modules))
    rows: list[Row] = []
    for name, times in zip(modules, columns, strict=True):
        ratio = ratio_of(times, columns[0], each) if rows else None
        verdict = ratio.verdict(margin) if ratio is not None else ""
        rows.append(Row(name, tuple(times), ratio, verdict, margin))
    kernel = f"{variants.generated.kernel}({', '.join(map(shown, variants.specialization.arguments))})"
    return Timing(kernel, session.device.title, found.clock, tuple(rows), found.repeats, margin, confidence)
