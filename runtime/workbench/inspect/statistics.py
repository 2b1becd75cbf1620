"""`kernel.stats(*args)`: what the compiler made of a kernel, in numbers.

In: an `Inspection`. Out: `Statistics`: for each task the statements of the final IR by kind, and what the target's
compiler reports: registers, spills, shared memory, occupancy.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....transpiler.errors import ReportedError
from ...viewed import table_lines
from .resources import COLUMNS, Resources

if TYPE_CHECKING:
    from ...launch.inspection import Inspection

INDENT = "    "
TASK = re.compile(r"task (\S+) \S+ block_dim=\d+ \{")
KINDS = {
    "loads": re.compile(r"= global load\b|texel load"),
    "stores": re.compile(r"^global store\b"),
    "atomics": re.compile(r"(^|= )atomic\b"),
    "operations": re.compile(
        r"= (?!const\b|arg\b|load\b|global\b|alloca|ptr\b|index\b|shape\b|element|atomic\b|for\b)\w+"
    ),
    "branches": re.compile(r"^(?:\$\d+.* = )?if\b"),
    "loops": re.compile(r"^while\b|= for\b"),
    "local loads and stores": re.compile(r"= load\b|^store\b"),
}
"""Statements by the line that prints them, without indentation."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """tasks: by name, the number of statements of each kind in the final IR. lines: of the emitted source."""

    kernel: str
    target: str
    tasks: dict[str, dict[str, int]]
    lines: int
    resources: Resources | None
    reason: str = ""

    def __str__(self) -> str:
        rows = [("task", *KINDS)]
        rows += [(name, *(str(counts[kind]) for kind in KINDS)) for name, counts in self.tasks.items()]
        parts = [f"{self.kernel} on {self.target}: {self.lines} lines of source", *table_lines(rows, INDENT)]
        if self.resources is None or not self.resources.tasks:
            reason = self.reason if self.resources is None else self.resources.reason
            return "\n".join([*parts, f"no resources: {reason}"])
        shown = [tuple("" if cell is None else str(cell) for cell in row) for row in self.resources.rows()]
        parts += [f"on {self.resources.device}, sizes in bytes", *table_lines([COLUMNS, *shown], INDENT)]
        return "\n".join(parts)


def statistics(inspection: Inspection) -> Statistics:
    """Return the statistics of one specialization; without the tools of the target there are no resources."""
    module = inspection.module
    found: Resources | None = None
    reason = ""
    try:
        found = inspection.resources
    except (ReportedError, OSError) as error:
        reason = str(getattr(error, "message", error)).splitlines()[0]
    lines = sum(file.text.count("\n") for file in module.files)
    return Statistics(module.kernel, module.target, _counts(inspection.forms["final"]), lines, found, reason)


def _counts(form: str) -> dict[str, dict[str, int]]:
    """Return the number of statements of each kind, by the task or function whose lines they are."""
    found: dict[str, Counter[str]] = {}
    here = Counter[str]()
    for line in map(str.strip, form.splitlines()):
        if task := TASK.match(line):
            here = found[task[1]] = Counter()
        elif line.startswith("function "):
            here = found[line.split("(")[0]] = Counter()
        here.update(kind for kind, pattern in KINDS.items() if pattern.search(line))
    return {name: {kind: counts[kind] for kind in KINDS} for name, counts in found.items()}
