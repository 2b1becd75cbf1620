"""Reads what Nsight Compute and Nsight Systems print as CSV.

    ncu --import R --csv --page details                       a metric of a kernel in each row
    ncu --import R --csv --page raw                           a kernel in each row, a unit below each metric
    ncu --import R --csv --page source --print-source cuda,sass
                                                              a line of the source in each row, its instructions below
    nsys stats --report cuda_gpu_kern_sum --format csv R      a kernel in each row, its times

In: the lines of such a file; what precedes the table (`==PROF==` and the like) is skipped. Out: `Metrics`. A kernel
that was measured several times has the metrics of its last launch. ncu leaves out empty fields at the end of a row, and
quotes no quotation marks inside a field (2025.3).
Source: Nsight Compute CLI, "Page Import/Export"; Nsight Systems, "Report Scripts".
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

KERNEL, METRIC, VALUE, UNIT = "Kernel Name", "Metric Name", "Metric Value", "Metric Unit"
FACTS = frozenset({
    "ID", "Process ID", "Process Name", "Host Name", KERNEL, "Context", "Stream", "Block Size", "Grid Size", "Device",
    "CC", "Section Name", "Rule Name", "Rule Type", "Rule Description", "Kernel Time",
})  # fmt: skip
"""Columns that are no metrics."""
LINE_COLUMNS = ("#", "Line No", "Line", "Line Number")
FILE_KEYS = ("File Path", "File Name", "Source File", "File")
SYSTEMS_TIME, SYSTEMS_NAME = "Time (%)", "Name"


@dataclass(slots=True)
class Metrics:
    """kernels: by entry point, metrics by name with their units. lines: by file name and line, metrics by name."""

    kernels: dict[str, dict[str, str]] = field(default_factory=dict)
    lines: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)

    def add(self, other: Metrics) -> None:
        """Add what another file has."""
        for name, metrics in other.kernels.items():
            self.kernels.setdefault(name, {}).update(metrics)
        self.lines.update(other.lines)


def read_metrics(text: str) -> Metrics:
    """Return what a file has. Raises: ValueError if it is none of those that are known."""
    rows = [_fields(line) for line in text.splitlines() if line]
    found = Metrics()
    file, table, header = "", "", []
    for row in rows:
        kind = _kind(row)
        if kind:
            table, header = kind, row
        elif len(row) == 2 and row[0] in FILE_KEYS:
            file = _basename(row[1])
        elif table and len(row) > 1:
            _READERS[table](found, dict(zip(header, _as_long_as(row, header))), file)
    if not table:
        raise ValueError("it has no table of Nsight Compute or Nsight Systems")
    return found


def _fields(line: str) -> list[str]:
    """Return the fields of a line. ncu puts all of them in quotation marks, which are parts of fields as well."""
    if line.startswith('"'):
        return line.rstrip(",").removeprefix('"').removesuffix('"').split('","')
    return next(csv.reader([line]))


def _as_long_as(row: list[str], header: Sequence[str]) -> list[str]:
    """Return a row with a field for each column; a source that has `","` is one field."""
    more = len(row) - len(header)
    if more > 0 and "Source" in header:
        at = header.index("Source")
        row = [*row[:at], '","'.join(row[at : at + more + 1]), *row[at + more + 1 :]]
    return row + [""] * -more


def _kind(row: Sequence[str]) -> str:
    """Return which table a row is the header of, "" if it is none."""
    names = set(row)
    if {KERNEL, METRIC, VALUE} <= names:
        return "details"
    if KERNEL in names and "ID" in names:
        return "raw"
    if "Source" in names and names & set(LINE_COLUMNS):
        return "source"
    return "systems" if {SYSTEMS_TIME, SYSTEMS_NAME} <= names else ""


def _details(found: Metrics, row: Mapping[str, str], file: str) -> None:
    if row[METRIC]:
        unit, metrics = row.get(UNIT, ""), found.kernels.setdefault(_entry(row[KERNEL]), {})
        name = row[METRIC]
        if not metrics.get(name, unit).endswith(unit):  # ncu has two of one name, in % and in bytes per second
            name = f"{name} [{unit}]"
        metrics[name] = f"{row[VALUE]} {unit}".strip()


def _raw(found: Metrics, row: Mapping[str, str], file: str) -> None:
    if not row[KERNEL]:  # the row of units
        return
    metrics = found.kernels.setdefault(_entry(row[KERNEL]), {})
    metrics.update({name: value for name, value in row.items() if name not in FACTS and value})


def _source(found: Metrics, row: Mapping[str, str], file: str) -> None:
    number = next((row[name] for name in LINE_COLUMNS if name in row), "")
    if not number.isdigit() or row.get("Address", "-") != "-":  # an instruction, whose number is no line
        return
    values = {name: _number(value) for name, value in row.items() if name not in (*LINE_COLUMNS, "Source", "Address")}
    known = {name: value for name, value in values.items() if value is not None}
    if any(known.values()):
        found.lines[file, int(number)] = known


def _systems(found: Metrics, row: Mapping[str, str], file: str) -> None:
    metrics = found.kernels.setdefault(_entry(row[SYSTEMS_NAME]), {})
    metrics.update({name: value for name, value in row.items() if name != SYSTEMS_NAME and value})


_READERS = {"details": _details, "raw": _raw, "source": _source, "systems": _systems}


def _entry(name: str) -> str:
    """Return the entry point: Nsight may show its parameters, `scale_0(Args)`."""
    return name.partition("(")[0].strip().rpartition(" ")[2]


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "").removesuffix("%"))
    except ValueError:
        return None


def _basename(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def hottest(lines: Mapping[tuple[str, int], Mapping[str, float]]) -> str:
    """Return the metric by which lines are ordered: samples if there are some, else the first one."""
    names = list(dict.fromkeys(name for metrics in lines.values() for name in metrics))
    return next((name for name in names if "sampl" in name.lower()), names[0] if names else "")


def in_order(
    lines: Mapping[tuple[str, int], Mapping[str, float]], metric: str
) -> Iterator[tuple[tuple[str, int], Mapping[str, float]]]:
    """Yield the lines, those with the largest value first."""
    yield from sorted(lines.items(), key=lambda item: (-item[1].get(metric, 0.0), item[0]))
