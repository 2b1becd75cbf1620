"""Runs one program of the catalogue and says what became of it.

`python tests/errors/programs.py [NAME...]` shows what users read, for all cases or those whose names hold NAME.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catalogue import EXTRAS, ITEMS
from catalogue.case import Case

import shadesmith as ti

HEAD = "import numpy as np\nimport shadesmith as ti\n"


@dataclass
class Outcome:
    """error: what was raised, or None. warnings: those of ours. namespace: the program's variables. file: its path."""

    error: BaseException | None
    warnings: list[warnings.WarningMessage]
    namespace: dict[str, Any]
    file: str


def split(case: Case) -> tuple[str, int, int]:
    """Return the program without its mark, and line and column of the mark (0, 0 without one)."""
    text = HEAD + case.source + "\n"
    if "«" not in text:
        return text, 0, 0
    before = text[: text.index("«")]
    return text.replace("«", ""), before.count("\n") + 1, len(before) - before.rfind("\n")


def run(case: Case, folder: Path) -> Outcome:
    """Run the program from a file in `folder`, on the interpreter."""
    text, _, _ = split(case)
    path = folder / f"{case.name.rpartition('/')[2]}.py"
    path.write_text(text, encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    error: BaseException | None = None
    ti.init(arch=ti.python, log_level=ti.ERROR)
    sys.settrace(None)  # a coverage tool is in the way of the cut
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(text, str(path), "exec", dont_inherit=True), namespace)
        except Exception as raised:
            error = raised
    ti.reset()
    told = [warning for warning in caught if issubclass(warning.category, ti.ShadesmithWarning)]
    return Outcome(error, told, namespace, str(path))


def shown(outcome: Outcome) -> str:
    """Return what the user reads."""
    parts = [f"warning: {warning.message}" for warning in outcome.warnings]
    if outcome.error is not None:
        lines = traceback.format_exception(outcome.error)
        parts.append("".join(lines[:1] + lines[2:]).rstrip())  # without the line above that runs the program
    elif "result" in outcome.namespace:
        parts.append(f"result = {outcome.namespace['result']!r}")
    return "\n".join(parts)


def main(wanted: list[str]) -> None:
    """Print every chosen case with what its user reads."""
    with tempfile.TemporaryDirectory() as folder:
        for case in (*ITEMS, *EXTRAS):
            if not wanted or any(part in case.name for part in wanted):
                print(f"---- {case.name}: {case.title}\n{shown(run(case, Path(folder))).replace(folder, '.')}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
