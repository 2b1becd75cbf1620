"""`shadesmith profile`: times of a program's tasks by the device's clock or NVIDIA's profilers, with lines of Python.

With `--metrics` it reads what a profiler has printed as CSV before; a result of a profiler is opened in its viewer.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...launch.launch_times import LaunchTime, profile_of
from ...session import session as sessions
from ...workbench.inspect.report import KernelReport, Page, Table, render
from ...workbench.inspect.report_content import describe_kernel, targets_in_words
from ...workbench.measure.roofline import roofline
from ...workbench.measure.timing import in_words
from ...workbench.profile.joined import metrics_of_lines, metrics_of_tasks
from ...workbench.profile.read_csv import Metrics, read_metrics
from ...workbench.profile.tools import PROFILERS, measure, open_result
from ..programs import Call, arch_of, find_calls, parse_spec
from ..running import Program
from ..screen import CommandError, Screen

CLOCK = "clock"
RESULTS = tuple(profiler.suffix for profiler in PROFILERS.values())
COLUMNS = ("task", "Python", "launches", "total", "share", "median", "GB/s", "Gflop/s", "of the limit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "program",
        metavar="FILE[:KERNEL]",
        help=f"a program; what follows `--` are its arguments. Or a result to open: *{', *'.join(RESULTS)}",
    )
    parser.add_argument("--arch", help="cpu, cuda, vulkan or python; without it that of the program's `ti.init`")
    parser.add_argument("--tool", choices=(CLOCK, "ncu", "nsys"), default=CLOCK, help="without it the device's clock")
    parser.add_argument("--metrics", type=Path, action="append", default=[], metavar="CSV",
                        help="do not measure: read what ncu or nsys has printed; may be repeated")  # fmt: skip
    parser.add_argument("--args", metavar="EXPR", help="with --metrics or a page: arguments of the kernel: '8, x'")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE", help="write the report page with the metrics")
    parser.set_defaults(call=None)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Measure, show a table, and write the page if one is named."""
    if options.program.endswith(RESULTS):
        command = open_result(Path(options.program))
        screen.show_data({"opened": command})
        screen.show(" ".join(command))
        return 0
    path = parse_spec(options.program).path
    if options.metrics:
        metrics = Metrics()
        for file in options.metrics:
            metrics.add(_read(file))
        return _show_metrics(metrics, options, screen, {})
    if options.tool != CLOCK:
        arch = arch_of(options)
        output = Path(path.stem)
        metrics, result = measure(
            options.tool, path, options.program_arguments, output, None if arch is None else arch.name
        )
        screen.note(f"written: {result}; `shadesmith profile {result}` opens it")
        return _show_metrics(metrics, options, screen, {"result": str(result)})
    return _by_clock(path, options, screen)


def _read(path: Path) -> Metrics:
    try:
        return read_metrics(path.read_text(encoding="utf-8", errors="replace"))
    except ValueError as error:
        raise CommandError(f"{path}: {error}", "`ncu --csv` and `nsys stats --format csv` print such files") from None


# --- the clock of the device


@contextmanager
def _timed(arch: str | None) -> Iterator[None]:
    """Let the sessions of a program time their launches."""
    changes = {"SHADESMITH_KERNEL_PROFILER": "1", **({} if arch is None else {"SHADESMITH_ARCH": arch})}
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _by_clock(path: Path, options: argparse.Namespace, screen: Screen) -> int:
    """Run the program here, and show the times of its tasks."""
    arch = arch_of(options)
    program = Program(path, options.program_arguments)
    sessions.reset()
    with _timed(None if arch is None else arch.name):
        program.run("__main__", lambda kernel, arguments: None)
        if not sessions.is_initialized():
            raise CommandError(f"{path.name} starts no session, or ended it", "leave out `ti.reset()` at its end")
        session = sessions.current()
        records = profile_of(session).records()
        if not records:
            raise CommandError(f"{path.name} launched no kernel")
        rows = _rows(records, {row.task: row for row in roofline(session, records)})
        title = f"{session.device.title}, by {profile_of(session).clock}"
    screen.show_data({"device": session.device.title, "tasks": [dict(zip(COLUMNS, row, strict=True)) for row in rows]})
    screen.show_table(COLUMNS, rows, title=title)
    if options.output is not None:
        table = Table("Profile: tasks", COLUMNS, tuple(tuple(map(str, row)) for row in rows), title)
        described = _described(find_calls(options), options)
        reports = [replace(report, tables=(table, *report.tables)) for report in described]
        _write(reports, path, options.output, screen)
    return 0


def _rows(records: list[LaunchTime], rooflines: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each task, the longest first."""
    by_task: dict[str, list[LaunchTime]] = {}
    for record in records:
        by_task.setdefault(record.task, []).append(record)
    total = sum(record.seconds for record in records)
    rows: list[tuple[str, ...]] = []
    for task, found in sorted(by_task.items(), key=lambda item: -sum(record.seconds for record in item[1])):
        seconds = [record.seconds for record in found]
        line = rooflines.get(task)
        share = f"{100 * sum(seconds) / total:.1f} %" if total else ""
        speed = ("", "", "")
        if line is not None:
            speed = (f"{line.bandwidth / 1e9:.4g}", f"{line.rate / 1e9:.4g}", f"{100 * line.share:.0f} % {line.limit}")
        times = (str(len(found)), in_words(sum(seconds)), share, in_words(median(seconds)))
        rows.append((task, _python_line(found[-1]), *times, *speed))
    return rows


def _python_line(record: LaunchTime) -> str:
    """Return the line of the loop that a task is, "" if it is not known."""
    instance = record.instance() if record.instance is not None else None
    if instance is None:
        return ""
    for task in instance.module.tasks:
        if task.name == record.task and task.loop is not None:
            lines = instance.module.files[task.file].lines
            location = next((name for _, name, number in lines if number == task.loop.line), "")
            return f"{os.path.basename(location)}:{task.loop.line}" if location else ""  # else a loop of ours
    return ""


# --- metrics of others


def _show_metrics(metrics: Metrics, options: argparse.Namespace, screen: Screen, data: dict[str, Any]) -> int:
    """Show the metrics of the kernels of a program, and write the page."""
    by_kernel: dict[str, list[Table]] = {}
    calls = find_calls(options)
    for call in calls:
        module = _module(call, options)
        both = (metrics_of_tasks(metrics, module), metrics_of_lines(metrics, module))
        by_kernel[call.kernel_name] = [table for table in both if table is not None]
    tables = [(name, table) for name, found in by_kernel.items() for table in found]
    if not tables:
        known = ", ".join(sorted(metrics.kernels)) or "none"
        raise CommandError(f"No metric is of a kernel of {options.program}; there are metrics of {known}")
    listed = [{"kernel": name, "title": t.title, "header": t.header, "rows": t.rows} for name, t in tables]
    screen.show_data({**data, "tables": listed})
    for name, table in tables:
        screen.show_table(table.header, table.rows, title=f"{name}: {table.title}")
    if options.output is not None:
        described = _described(calls, options)
        shown = [replace(report, tables=(*by_kernel[report.name], *report.tables)) for report in described]
        _write(shown, parse_spec(options.program).path, options.output, screen)
    return 0


def _described(calls: Iterable[Call], options: argparse.Namespace) -> Iterator[KernelReport]:
    """Yield the reports of kernels."""
    for call in calls:
        try:
            yield describe_kernel(call.kernel, call.arguments, call.kernel_name, arch_of(options))
        except (TaichiCompilationError, TaichiRuntimeError):
            continue


def _module(call: Call, options: argparse.Namespace) -> Any:
    """Return what is generated for the target that was profiled: CUDA, unless `--arch` names another."""
    return call.kernel.inspect(*call.arguments, arch=arch_of(options) or "cuda").module


def _write(reports: list[KernelReport], path: Path, output: Path, screen: Screen) -> None:
    page = Page(path.name, targets_in_words(reports), tuple(reports))
    output.write_bytes(render(page).encode())
    screen.note(f"written: {output}")
