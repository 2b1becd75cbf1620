"""Joins metrics to what they are about: tables of tasks and of lines, with the lines of Python, for the report page.

In: `Metrics` and an emitted module. Out: tables. A task is found by its entry point, a line by its file and number.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ....transpiler.backend.module.interface import BackendModule
from ..inspect.report import Table
from .read_csv import Metrics, hottest, in_order

SHOWN_LINES = 40
SHOWN_METRICS = 8


def metrics_of_tasks(metrics: Metrics, module: BackendModule) -> Table | None:
    """Return the metrics of the tasks of a module as a table, None if there are none."""
    found = {task.entry: metrics.kernels[task.entry] for task in module.tasks if task.entry in metrics.kernels}
    if not found:
        return None
    names = list(dict.fromkeys(name for each in found.values() for name in each))
    rows = tuple((name, *(each.get(name, "") for each in found.values())) for name in names)
    return Table("Profile: tasks", ("metric", *found), rows)


def metrics_of_lines(metrics: Metrics, module: BackendModule) -> Table | None:
    """Return the metrics of the lines of a module's files as a table, the hottest first; None if there are none."""
    files = {file.name: file for file in module.files}
    lines = {place: values for place, values in metrics.lines.items() if _of(place[0], files) is not None}
    if not lines:
        return None
    metric = hottest(lines)
    total = sum(values.get(metric, 0.0) for values in lines.values())
    others = list(dict.fromkeys(name for values in lines.values() for name in values if name != metric))
    shown = [metric, *others[: SHOWN_METRICS - 1]]
    rows = []
    for (name, number), values in list(in_order(lines, metric))[:SHOWN_LINES]:
        file = files[_of(name, files) or ""]
        text = file.text.splitlines()
        source = text[number - 1].strip() if 0 < number <= len(text) else ""
        place = file.python_location(number)
        python = f"{os.path.basename(place[0])}:{place[1]}" if place is not None else ""
        share = f"{100 * values.get(metric, 0.0) / total:.1f} %" if total else ""
        rows.append((f"{file.name}:{number}", python, share, *(_shown(values.get(one)) for one in shown), source))
    return Table("Profile: lines", ("line", "Python", "share", *shown, "source"), tuple(rows))


def _of(name: str, files: Mapping[str, object]) -> str | None:
    """Return the file of a module that a profiler names, None if it is of another; "": the only one."""
    if name in files:
        return name
    return next(iter(files)) if not name and len(files) == 1 else None


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.6g}"
