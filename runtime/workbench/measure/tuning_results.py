"""The results of a search: a table, plain data, and a file that Kernel Tuner reads.

In: trials of settings from `tune.py`. Out: `Tuning`. In the format of Kernel Tuner's cache files, which its
simulation mode, its strategies and its visualisers read, times are in milliseconds.
Source: kernel_tuner 1.5.0, util.py: `process_cache`, `store_cache`, `read_cache`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...store.atomic_files import write_text
from ...viewed import Viewed, table_lines
from ..edits.stored_tunings import flat
from ..edits.tuning_parameters import TuningSpace, number_of
from .bench import Timing
from .timing import in_words

TIMED, REFUSED, WRONG, FAILED = "timed", "refused", "wrong", "failed"
ERRORS = {"refused": "CompilationFailedConfig", "wrong": "RuntimeFailedConfig", "failed": "RuntimeFailedConfig"}
"""Names of Kernel Tuner for settings that were not timed; it has none for wrong results."""
COSTS = ("compile_time", "verification_time", "benchmark_time", "framework_time", "strategy_time")


Setting = dict[str, dict[str, str]]
"""Values of tuning parameters, by file of the module and name."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting. status: "timed", "refused" (by compiler or check), "wrong" (by compare) or "failed" (when it ran).

    seconds: median of a launch. ratio: to the source as written, with its interval. reason: why it was not timed.
    costs: of compiling, comparing and timing it [s].
    """

    setting: Setting
    status: str
    reason: str = ""
    seconds: float = 0.0
    ratio: float = 1.0
    interval: tuple[float, float] = (1.0, 1.0)
    costs: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """The setting as a string: "BLOCK=256, ITEMS=4"."""
        return ", ".join(f"{name}={value}" for name, value in flat(self.setting).items())

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        costs = [round(seconds, 6) for seconds in self.costs]
        found: dict[str, Any] = {"values": self.setting, "status": self.status, "costs": costs}
        if self.status == TIMED:
            return found | {"seconds": self.seconds, "ratio": self.ratio, "interval": list(self.interval)}
        return found | {"reason": self.reason}

    @classmethod
    def of_json(cls, data: dict[str, Any], spaces: Mapping[str, TuningSpace]) -> Trial:
        """Return what `to_json` wrote, with its values in the order of the source."""
        low, high = data.get("interval", (1.0, 1.0))
        values = data["values"]
        setting = {
            name: {parameter.name: values[name][parameter.name] for parameter in space.parameters}
            for name, space in spaces.items()
        }
        return cls(setting, data["status"], data.get("reason", ""), data.get("seconds", 0.0),
                   data.get("ratio", 1.0), (low, high), tuple(data.get("costs", ())))  # fmt: skip


@dataclass(slots=True)
class Tuning(Viewed):
    """The results of a search. best: the fastest setting; None: the source as written.

    Attributes:
        spaces: Tuning parameters, by file.
        trials: In the order they were made.
        final: The last comparison, of the source as written with the fastest; None if no trial was faster.
        resumed: How many trials an earlier search had made.
        iterations: Trip count of the longest loop.
    """

    kernel: str
    variant: str
    device: str
    shapes: str
    spaces: dict[str, TuningSpace]
    trials: list[Trial] = field(default_factory=list)
    best: Setting | None = None
    final: Timing | None = None
    resumed: int = 0
    iterations: int = 1

    @property
    def values(self) -> dict[str, str]:
        """The fastest values by name; those in the source if nothing is faster."""
        return flat(self.best if self.best is not None else {name: s.defined for name, s in self.spaces.items()})

    def title(self) -> str:
        """Return one line about what was tuned."""
        timed = sum(trial.status == TIMED for trial in self.trials)
        earlier = f", {self.resumed} of them earlier" if self.resumed else ""
        return (
            f"{self.kernel} ({self.variant}) on {self.device}, {self.shapes}: "
            f"{len(self.trials)} settings tried{earlier}, {timed} timed"
        )

    def table(self) -> list[tuple[str, ...]]:
        """Return rows of strings, a heading first, then the fastest."""
        found: list[tuple[str, ...]] = [("setting", "median", "time to source as written", "")]
        for trial in sorted(self.trials, key=lambda trial: (trial.status != TIMED, trial.ratio)):
            low, high = trial.interval
            if trial.status == TIMED:
                ratio = f"{trial.ratio:.3f} [{low:.3f}, {high:.3f}]"
                found.append((trial.label, in_words(trial.seconds), ratio, ""))
            else:
                found.append((trial.label, "", "", f"{trial.status}: {trial.reason}"))
        return found

    def verdict(self) -> str:
        """Return one line about what won."""
        if self.best is None:
            looked = [trial for trial in self.trials if trial.status == TIMED and trial.interval[1] < 1]
            if looked:
                label = min(looked, key=lambda trial: trial.ratio).label
                return f"{label} was faster in its trial, but not in the last comparison; the source stays as written"
            return "no setting is faster than the source as written, which stays"
        shown = ", ".join(f"{name}={value}" for name, value in flat(self.best).items())
        assert self.final is not None
        return f"{shown} wins: {self.final[shown].summary}; launches with these shapes use it"

    def __str__(self) -> str:
        return "\n".join([self.title(), *table_lines(self.table()), self.verdict()])

    __repr__ = __str__

    def export(self, path: str | Path) -> None:
        """Write all trials as a cache file of Kernel Tuner. Raises: OSError."""
        write_text(Path(path), json.dumps(cache_of(self), indent=1) + "\n")

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "kernel": self.kernel,
            "variant": self.variant,
            "device": self.device,
            "shapes": self.shapes,
            "best": self.best,
            "values": self.values,
            "trials": [trial.to_json() for trial in self.trials],
            "final": None if self.final is None else self.final.to_json(),
        }


def cache_of(tuning: Tuning) -> dict[str, Any]:
    """Return the results of a search as the content of a cache file."""
    names = _names(tuning)
    values = {
        names[file, parameter.name]: [number_of(value) for value in parameter.values]
        for file, space in tuning.spaces.items()
        for parameter in space.parameters
    }
    return {
        "device_name": tuning.device,
        "kernel_name": tuning.kernel,
        "problem_size": [tuning.iterations],
        "tune_params_keys": list(values),
        "tune_params": values,
        "objective": "time",
        "cache": dict(_entry(trial, names) for trial in tuning.trials),
    }


def _names(tuning: Tuning) -> dict[tuple[str, str], str]:
    """Return the name of each parameter of each file, with the file's name if several files have it."""
    pairs = [(file, parameter.name) for file, space in tuning.spaces.items() for parameter in space.parameters]
    count = Counter(name for _, name in pairs)
    return {(file, name): name if count[name] == 1 else f"{file}:{name}" for file, name in pairs}


def _entry(trial: Trial, names: Mapping[tuple[str, str], str]) -> tuple[str, dict[str, Any]]:
    values = {name: number_of(trial.setting[file][parameter]) for (file, parameter), name in names.items()}
    spent = (*trial.costs, *(0.0 for _ in COSTS))
    costs = {name: 1e3 * seconds for name, seconds in zip(COSTS, spent)}
    time = 1e3 * trial.seconds if trial.status == "timed" else ERRORS[trial.status]
    return ",".join(map(str, values.values())), {**values, "time": time, **costs}
