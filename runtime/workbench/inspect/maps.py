"""Line maps: from a Python line to IR values, emitted lines and the instructions below them, and back.

In: a module, its final IR with locations. Out: plain data, what `map.json` holds:

    {"version": 1, "kernel": "paint", "target": "cuda", "gpu": "sm_90",
     "tasks": [{"name": "paint", "entry": "paint_0", "file": "paint.cu", "lines": [1, 58]}],
     "files": [{"name": "paint.cu",
                "lines": [{"line": 37, "python": {"file": "/home/me/julia.py", "line": 19}, "ir": [4, 5],
                           "ptx": [31, 32], "sass": [12, 13, 20]},
                          {"line": 56, "python": "generated", "ir": [], "ptx": [27], "sass": [9]}, ...]}]}

A task's `lines` are those of its file from the end of the task before it to its own end. Every line of a file has an
entry. `ir`: numbers of values of the form `final` (`$4`); for the other forms the lines, from 1, of the listings that
`Inspection.ptx`, `.sass` and `.spirv` show. A form for which a tool is missing is left out and listed in "missing" with
the reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ....transpiler.backend.module.one_file import task_sources
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...devices.target_tools import tools_of
from .inspection_tools import forms_of, listings
from .listing import Listing, python_of

VERSION = 1
GENERATED = "generated"
"""The Python line of a line without one: declarations, the loop over threads."""

Locations = Sequence[tuple[int, str, int]]

_VALUE = re.compile(r"\s*\$(\d+)")


def line_map(module: BackendModule, locations: Locations, final: str, gpu: str) -> dict[str, Any]:
    """Return the map of a module. locations: Python lines of the lines of `final`, its last IR."""
    module = task_sources(module)
    shown: dict[str, list[Listing]] = {}
    missing: dict[str, str] = {}
    for form in forms_of(module.target):
        try:
            shown[form] = listings(module, form, gpu)
        except (TaichiRuntimeError, TaichiCompilationError) as error:
            missing[form] = str(error).strip()
    values = _values(locations, final)
    files = [
        {"name": file.name, "lines": _lines(file, {form: found[k] for form, found in shown.items()}, values)}
        for k, file in enumerate(module.files)
    ]
    return {
        "version": VERSION,
        "kernel": module.kernel,
        "target": module.target,
        **({"gpu": gpu} if tools_of(module.target).gpus else {}),
        "tasks": _tasks(module),
        "files": files,
        **({"missing": missing} if missing else {}),
    }


def _tasks(module: BackendModule) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    ends: dict[int, int] = {}
    for task in module.tasks:
        file = module.files[task.file]
        begin = ends.get(task.file, 0) + 1
        ends[task.file] = _end_of(file.text.splitlines(), task.entry, begin)
        found.append({"name": task.name, "entry": task.entry, "file": file.name, "lines": [begin, ends[task.file]]})
    return found


def _end_of(lines: Sequence[str], entry: str, begin: int) -> int:
    """Return the line on which the function `entry` ends, the last one of the source if it is not found."""
    named = re.compile(rf"^\S.*\b{re.escape(entry)}\(")
    heads = (k for k in range(begin - 1, len(lines)) if named.search(lines[k]))
    head = next(heads, len(lines))
    return next((k + 1 for k in range(head, len(lines)) if lines[k] == "}"), len(lines))


def _values(locations: Locations, final: str) -> dict[tuple[str, int], list[int]]:
    """Return the numbers of IR values by their Python line."""
    lines = final.splitlines()
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for line, file, line_python in locations:
        match = _VALUE.match(lines[line - 1])
        if match is not None:
            found[file, line_python].append(int(match[1]))
    return found


def _lines(
    file: SourceFile, shown: dict[str, Listing], values: dict[tuple[str, int], list[int]]
) -> list[dict[str, Any]]:
    below = {form: _by_source(file, listing) for form, listing in shown.items()}
    entries: list[dict[str, Any]] = []
    for line in range(1, file.text.count("\n") + 1):
        location = file.python_location(line)
        python: Any = GENERATED if location is None else {"file": location[0], "line": location[1]}
        forms = {form: lines.get(line, []) for form, lines in below.items()}
        entries.append({"line": line, "python": python, "ir": values.get(location, []) if location else [], **forms})
    return entries


def _by_source(file: SourceFile, listing: Listing) -> dict[int, list[int]]:
    """Return the lines of a listing by the line of the source to which they are assigned.

    That is the innermost with a Python line: an operator of vectors is assigned to the line that uses it.
    """
    found: dict[int, list[int]] = defaultdict(list)
    for line, locations in listing.locations.items():
        own = next((location for location in locations if python_of(file, (location,)) is not None), locations[-1])
        found[own].append(line)
    return found
