"""What a search found, in the format in which Kernel Tuner keeps its own results.

In: a `tune.Tuning`. Out: plain data for a `.json` file that `kernel_tuner.tune_kernel(..., simulation_mode=True)`, its
strategies and its visualisers read. Times are in milliseconds there.
Source: kernel_tuner 1.5.0, util.py: `process_cache`, `store_cache`, `read_cache`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .knobs import number_of

if TYPE_CHECKING:
    from .tune import Trial, Tuning

ERRORS = {"refused": "CompilationFailedConfig", "wrong": "RuntimeFailedConfig", "failed": "RuntimeFailedConfig"}
"""Its words for settings that were not timed, by ours; it has none for wrong results."""
COSTS = ("compile_time", "verification_time", "benchmark_time", "framework_time", "strategy_time")


def cache_of(tuning: Tuning) -> dict[str, Any]:
    """Return a search as the content of a cache file."""
    names = _names(tuning)
    values = {
        names[file, knob.name]: [number_of(value) for value in knob.values]
        for file, knobs in tuning.knobs.items()
        for knob in knobs.knobs
    }
    return {
        "device_name": tuning.device,
        "kernel_name": tuning.kernel,
        "problem_size": [tuning.turns],
        "tune_params_keys": list(values),
        "tune_params": values,
        "objective": "time",
        "cache": dict(_entry(trial, names) for trial in tuning.trials),
    }


def _names(tuning: Tuning) -> dict[tuple[str, str], str]:
    """Return what each knob of each file is called: as in its text, with the file's name where several have one."""
    places = [(file, knob.name) for file, knobs in tuning.knobs.items() for knob in knobs.knobs]
    count = Counter(name for _, name in places)
    return {(file, name): name if count[name] == 1 else f"{file}:{name}" for file, name in places}


def _entry(trial: Trial, names: Mapping[tuple[str, str], str]) -> tuple[str, dict[str, Any]]:
    values = {name: number_of(trial.setting[file][knob]) for (file, knob), name in names.items()}
    spent = (*trial.costs, *(0.0 for _ in COSTS))
    costs = {name: 1e3 * seconds for name, seconds in zip(COSTS, spent)}
    time = 1e3 * trial.seconds if trial.status == "timed" else ERRORS[trial.status]
    return ",".join(map(str, values.values())), {**values, "time": time, **costs}
