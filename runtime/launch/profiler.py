"""`ti.profiler`: the times of kernels, a report of the memory in use.

In: the current session. Out: tables on standard output, numbers. Times need `ti.init(kernel_profiler=True)`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...transpiler.errors import warn_user
from ..fields.memory_report import names_in, table
from ..session.logging_levels import LOGGER
from ..session.session import current
from .launch_times import LaunchTime, Profile, profile_of
from .tool_registry import tool

__all__ = [
    "CuptiMetric", "clear_kernel_profiler_info", "clear_scoped_profiler_info", "collect_kernel_profiler_metrics",
    "export_chrome_trace", "get_kernel_profiler_total_time", "get_predefined_cupti_metrics",
    "print_kernel_profiler_info", "print_memory_profiler_info", "print_roofline", "print_scoped_profiler_info",
    "query_kernel_profiler_info", "roofline", "set_kernel_profiler_metrics", "set_kernel_profiler_toolkit",
]  # fmt: skip

NO_COUNTERS = "shadesmith reads no hardware counters: `ncu python program.py` of CUDA shows them"


@dataclass(frozen=True, slots=True)
class KernelProfilerQueryResult:
    """The launches of one kernel. counter: their number. min, max, avg: their times [ms]."""

    counter: int
    min: float
    max: float
    avg: float


class CuptiMetric:
    """A hardware counter of NVIDIA's CUPTI: accepted, not read; see `set_kernel_profiler_metrics`.

    name, header: of the counter and of its column. val_format, scale: how its values are printed.

    Example:
        >>> ti.profiler.CuptiMetric("smsp__cycles_elapsed.avg").name
        'smsp__cycles_elapsed.avg'
    """

    def __init__(self, name: str = "", header: str = "unnamed_header", val_format: str = "     {:8.0f} ",
                 scale: float = 1.0) -> None:  # fmt: skip
        self.name, self.header, self.val_format, self.scale = name, header, val_format, scale


default_cupti_metrics: list[CuptiMetric] = [CuptiMetric("dram__bytes.sum", "  global.R&W ", "{:9.3f} MB ", 2.0**-20)]
SUITES = ("global_access", "shared_access", "atomic_access", "cache_hit_rate", "device_utilization")


def _profile() -> Profile | None:
    session = current()
    if not session.config.kernel_profiler:
        warn_user("no times were recorded. Hint: `ti.init(kernel_profiler=True)` turns that on")
        return None
    return profile_of(session)


def _records() -> list[LaunchTime] | None:
    profile = _profile()
    return None if profile is None else profile.records()


def _result(seconds: Sequence[float]) -> KernelProfilerQueryResult:
    times = [second * 1e3 for second in seconds]
    return KernelProfilerQueryResult(len(times), min(times), max(times), sum(times) / len(times))


def _by_task(records: Sequence[LaunchTime]) -> dict[str, KernelProfilerQueryResult]:
    """Return the statistics of each task, the longest total first."""
    times: dict[str, list[float]] = {}
    for record in records:
        times.setdefault(record.task, []).append(record.seconds)
    order = sorted(times, key=lambda name: -sum(times[name]))
    return {name: _result(times[name]) for name in order}


def _by_launch(records: Sequence[LaunchTime], kernel: str) -> list[float]:
    """Return how long the tasks of each launch of a kernel took together [s]."""
    times: dict[int, float] = {}
    for record in records:
        if record.kernel == kernel:
            times[record.launch] = times.get(record.launch, 0.0) + record.seconds
    return list(times.values())


def query_kernel_profiler_info(name: str) -> KernelProfilerQueryResult | None:
    """Return number and times [ms] of the launches of kernel `name`, or of a task; None if times are not recorded.

    Example:
        >>> ti.profiler.query_kernel_profiler_info("fill") is None
        True
    """
    records = _records()
    if records is None:
        return None
    times = _by_launch(records, name) or [record.seconds for record in records if record.task == name]
    return _result(times) if times else KernelProfilerQueryResult(0, 0.0, 0.0, 0.0)


def get_kernel_profiler_total_time() -> float:
    """Return how long all recorded launches took together [s].

    Example:
        >>> ti.profiler.get_kernel_profiler_total_time()
        0.0
    """
    return sum((record.seconds for record in _records() or ()), 0.0)


def clear_kernel_profiler_info() -> None:
    """Forget all recorded launches.

    Example:
        >>> ti.profiler.clear_kernel_profiler_info()
    """
    profile = _profile()
    if profile is not None:
        profile.clear()


def print_kernel_profiler_info(mode: str = "count") -> None:
    """Print a table of kernels ("count"), or of all launches in order ("trace").

    mode: "count" or "trace". Launches are timed after `ti.init(kernel_profiler=True)`.
    Raises: ValueError for another mode.

    Example:
        >>> ti.profiler.print_kernel_profiler_info() # doctest: +ELLIPSIS
    """
    if mode not in ("count", "trace"):
        raise ValueError("Arg `mode` must be of type 'str', and has the value 'count' or 'trace'.")
    records = _records()
    if records is None:
        return
    lines = _statistics(records) if mode == "count" else _trace(records)
    rule = "=" * max(map(len, lines))
    title = f"Kernel Profiler({mode}, default) @ {current().arch.name.upper()}"
    thin = rule.replace("=", "-")
    print("\n".join([rule, title, rule, lines[0], thin, *lines[1:-1], thin, lines[-1], rule]))


def _statistics(records: Sequence[LaunchTime]) -> list[str]:
    found = _by_task(records)
    total = sum(k.counter * k.avg for k in found.values()) / 1e3
    lines = ["[      %     total   count |      min       avg       max   ] Kernel name"]
    for name, k in found.items():
        seconds = k.counter * k.avg / 1e3
        share = 100 * seconds / total if total else 0.0
        times = f"{k.min:9.3f} {k.avg:9.3f} {k.max:9.3f} ms"
        lines.append(f"[{share:6.2f}% {seconds:7.3f} s {k.counter:6d}x |{times}] {name}")
    return [*lines, f"[100.00%] Total execution time: {total:7.3f} s   number of results: {len(found)}"]


def _trace(records: Sequence[LaunchTime]) -> list[str]:
    begin = records[0].start if records else 0.0
    lines = ["[  start.time | kernel.time ] Kernel name"]
    lines += [f"[{(r.start - begin) * 1e3:9.3f} ms |{r.seconds * 1e3:9.3f} ms ] {r.task}" for r in records]
    return [*lines, f"Number of records: {len(records):3d}"]


def export_chrome_trace(path: str | os.PathLike[str]) -> None:
    """Write all recorded launches as a trace that chrome://tracing and https://ui.perfetto.dev show.

    path: the file. Times are those of the device; a task starts when it was submitted, or the one before it ended.

    Example:
        >>> ti.profiler.export_chrome_trace("trace.json")  # doctest: +SKIP
    """
    events = [
        {
            "name": record.task, "cat": record.kernel, "ph": "X", "pid": 0, "tid": 0,
            "ts": record.start * 1e6, "dur": record.seconds * 1e6,
            "args": {"kernel": record.kernel, "launch": record.launch, "iterations": record.count},
        }
        for record in _records() or ()
    ]  # fmt: skip
    session = current()
    names = {"process_name": session.device.title, "thread_name": f"ti.{session.arch.name}"}
    named = [{"name": key, "ph": "M", "pid": 0, "tid": 0, "args": {"name": value}} for key, value in names.items()]
    Path(path).write_text(json.dumps({"traceEvents": [*named, *events], "displayTimeUnit": "ms"}), encoding="utf-8")


def roofline() -> list[Any]:
    """Return for each recorded task its bytes and operations, counted in the IR, and the share of what the device can.

    Each row has `task`, `launches`, `seconds` (the median), `bytes`, `operations`, `bandwidth` [B/s], `rate` [op/s],
    `share` (of the limit that it is closer to), `limit` ("memory" or "arithmetic") and `is_exact`.

    Example:
        >>> ti.profiler.roofline()
        []
    """
    found: list[Any] = tool("roofline")(current(), _records() or [])
    return found


def print_roofline() -> None:
    """Print a line for each recorded task: how close it comes to the device's bandwidth or arithmetic.

    Example:
        >>> ti.profiler.print_roofline()  # doctest: +SKIP
    """
    for row in roofline():
        print(row)


def set_kernel_profiler_toolkit(toolkit_name: str = "default") -> bool:
    """Return whether launches are timed by `toolkit_name`: "default" only, since CUPTI's counters are not read.

    Example:
        >>> ti.profiler.set_kernel_profiler_toolkit("default")
        False
    """
    if toolkit_name != "default":
        LOGGER.warning("%s", f"there is no toolkit `{toolkit_name}`: {NO_COUNTERS}")
    return toolkit_name == "default" and current().config.kernel_profiler


def get_predefined_cupti_metrics(name: str = "") -> list[CuptiMetric] | None:
    """Return a list of counters by name; None, with a warning, for an unknown name.

    name: "global_access", "shared_access", "atomic_access", "cache_hit_rate" or "device_utilization".

    Example:
        >>> len(ti.profiler.get_predefined_cupti_metrics("global_access")) > 0
        True
    """
    if name not in SUITES:
        LOGGER.warning("%s", f"there are no counters `{name}`; known are {', '.join(SUITES)}")
        return None
    return default_cupti_metrics


def set_kernel_profiler_metrics(metric_list: list[CuptiMetric] = default_cupti_metrics) -> None:  # noqa: B006
    """Clear the records, as Taichi does; the counters themselves are not read, and a message says so.

    metric_list: accepted, not read.

    Example:
        >>> ti.profiler.set_kernel_profiler_metrics()
    """
    names = ",".join(metric.name for metric in metric_list) or "none"
    LOGGER.warning("%s", f"`{names}` is not read: {NO_COUNTERS}, with `--metrics {names}` these")
    clear_kernel_profiler_info()


@contextmanager
def collect_kernel_profiler_metrics(metric_list: list[CuptiMetric] = default_cupti_metrics) -> Iterator[None]:  # noqa: B006
    """Time the launches of a `with` block; its counters are not read, and a message says so.

    metric_list: counters, as `get_predefined_cupti_metrics` returns them.

    Example:
        >>> with ti.profiler.collect_kernel_profiler_metrics():
        ...     ti.sync()
    """
    set_kernel_profiler_metrics(metric_list)
    yield


def print_scoped_profiler_info() -> None:
    """Print where the times of the compiler are: Taichi shows the functions of its own here.

    Example:
        >>> ti.profiler.print_scoped_profiler_info()
        Taichi prints the functions of its compiler here. Hint: `kernel.report(*args).times` has shadesmith's stages
    """
    print(
        "Taichi prints the functions of its compiler here. Hint: `kernel.report(*args).times` has shadesmith's stages"
    )


def clear_scoped_profiler_info() -> None:
    """Do nothing: there are no scopes.

    Example:
        >>> ti.profiler.clear_scoped_profiler_info()
    """


def print_memory_profiler_info() -> None:
    """Print how much memory of the device each field, ndarray and tree owns, the largest first.

    Names are those given as `name=`, else the variables of the caller and its module.
    Raises: TaichiRuntimeError before `ti.init()`.

    Example:
        >>> ti.profiler.print_memory_profiler_info() # doctest: +ELLIPSIS
        memory on arch=python
        name  kind  element  shape  size
        no arrays: 0 bytes
    """
    caller = sys._getframe(1)
    sys.stdout.write(table(current(), names_in(caller.f_locals, caller.f_globals)))
