"""Write docs/troubleshooting.md: the messages of the programs that tests/errors checks, as users read them.

In: the catalogue of mistakes. Out: the page; tests/examples/test_page_blocks.py compares it.
usage: python .ci/messages.py
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "errors")]

TITLES = {
    "environment": "Start, devices and files",
    "syntax": "Syntax",
    "names": "Names",
    "types": "Types",
    "arguments": "Arguments of kernels",
    "fields": "Fields, ndarrays and indices",
    "loops": "Loops",
    "functions": "Functions",
    "builtins": "Built-in functions",
    "real_functions": "Real functions",
    "threads": "Threads of a block",
    "trees": "Trees of fields",
    "interop": "Arrays of other libraries",
    "textures": "Textures",
    "further": "Others",
}
"""By group of the catalogue, in the order of the page: what a newcomer meets first comes first."""

HEAD = """# Troubleshooting by error message

Search for the words of a message; names and numbers are those of an example. Every message shows its line with a caret.
[Debugging](debugging.md) is about wrong results, [install](install.md) about drivers and compilers, and
`python -m shadesmith diagnose` checks them.

"""


def page() -> str:
    """Return the page."""
    import programs
    from catalogue import EXTRAS, ITEMS

    groups: dict[str, dict[str, str]] = {name: {} for name in TITLES}
    with tempfile.TemporaryDirectory() as folder:
        for case in [*ITEMS, *EXTRAS]:
            outcome = programs.run(case, Path(folder))
            rows = groups[group if (group := case.name.partition("/")[0]) in TITLES else "further"]
            for message, kind, hint in _said(case, outcome, folder):
                rows.setdefault(message, f"| {_cell(message)} | {kind} | {_cell(hint)} |\n")
    text = HEAD
    for name, rows in groups.items():
        if rows:
            text += f"## {TITLES[name]}\n\n| message | class | what to do |\n|---|---|---|\n{''.join(rows.values())}\n"
    return text.rstrip("\n") + "\n"


def _said(case: Any, outcome: Any, folder: str) -> list[tuple[str, str, str]]:
    """Return message, class and hint of the error of a case, and of its warnings."""
    found = []
    if outcome.error is not None and case.error:
        message = getattr(outcome.error, "message", None) or str(outcome.error)
        found.append((message, type(outcome.error).__name__, getattr(outcome.error, "hint", None) or ""))
    for warning in outcome.warnings if outcome.error is None else ():
        lines = str(warning.message).splitlines()
        start = max((n + 1 for n, line in enumerate(lines) if re.fullmatch(r"\s*\^+", line)), default=0)
        found.append(("\n".join(lines[start:]), "warning", ""))
    return [_parted(message.replace(folder, "."), kind, hint.replace(folder, ".")) for message, kind, hint in found]


def _parted(message: str, kind: str, hint: str) -> tuple[str, str, str]:
    before, _, after = message.partition("Hint: ")
    before = re.sub(r"\(?\w+\.py, line \d+\)?", "", before)
    before = re.sub(r"/k-[0-9a-f]{12}\b", "/k-...", before)  # a digest of the kernel and of the machine
    lines = [" ".join(line.split()) for line in before.splitlines()]
    return "; ".join(filter(None, lines)), kind, " ".join((hint or after).split())


def _cell(text: str) -> str:
    """Return Markdown of one cell: what stands outside of code is shown as it is."""
    parts = re.split(r"(`[^`]*`)", text.replace("|", "\\|"))
    return "".join(part if part.startswith("`") else _plain(part) for part in parts)


def _plain(text: str) -> str:
    return re.sub(r"([*_\[\]])", r"\\\1", text).replace("<", "&lt;").replace(">", "&gt;")


if __name__ == "__main__":
    (ROOT / "docs" / "troubleshooting.md").write_text(page(), encoding="utf-8")
