"""One HTML page about kernels: finished data in, text out. The same data give the same bytes.

The page is one file: style and script are in it, nothing is loaded, and its policy (CSP) lets a browser run nothing
else. Every text is escaped, and characters that would change what a reader sees are replaced by visible ones: kernels
may hold anything. Without JavaScript the page is plain text, one text below the other.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufff9-\ufffb]"
)
"""Control characters except tab and line feed; characters that change the direction of writing or have no width;
surrogates."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text with what links its lines. language: "python", "ir", "c", "spirv", "ptx", "sass", "diff".

    rows: for each line the line of the Python pane it came from, counted from 1, 0 for none; empty: no line has one.
    numbers: for each line the number to show, 0 for none; empty: counted from 1. is_changes: each line begins
    with " ", "-", "+", or "@" where it stands for lines that are not shown. values: of a change of IR, (number before,
    number after) of what was kept. subtitle: file name, counts of changed lines and the like.
    """

    title: str
    language: str
    text: str
    rows: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    subtitle: str = ""
    is_changes: bool = False
    values: tuple[tuple[int, int], ...] = ()

    @property
    def kind(self) -> str:
        """The language as the script knows it."""
        return f"{self.language}-changes" if self.is_changes else self.language

    @property
    def row_runs(self) -> str:
        """`rows` in short, for the script."""
        return equal_runs(self.rows) if any(self.rows) else ""

    @property
    def value_runs(self) -> str:
        """`values` in short, for the script: "38>36*2" says that 38 and 39 became 36 and 37."""
        runs: list[list[int]] = []
        for before, after in self.values:
            if runs and (before - runs[-1][0], after - runs[-1][1]) == (runs[-1][2], runs[-1][2]):
                runs[-1][2] += 1
            else:
                runs.append([before, after, 1])
        return " ".join(f"{before}>{after}*{count}" for before, after, count in runs)

    @property
    def number_runs(self) -> str:
        """`numbers` in short, for the script."""
        return counting_runs(self.numbers)


@dataclass(frozen=True, slots=True)
class Pane:
    """One form of a kernel. key: short name for the address. content: None with a note why."""

    key: str
    title: str
    content: Text | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """What became of a kernel's IR, for the targets that `title` names. stages: the forms, then changes by passes."""

    title: str
    stages: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """rows: of texts, as many in each as in the header; none where `note` says why."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class KernelReport:
    """All about one specialization. edits_note: shown where there are no edits.

    calls: (row, row of the call) for lines of functions that were built into their callers.
    charts: SVG of `charts.py`, which has escaped it. facts: tasks, lines of sources, edits and time, for the index.
    """

    name: str
    signature: str
    place: str
    panes: tuple[Pane, ...]
    histories: tuple[History, ...] = ()
    tables: tuple[Table, ...] = ()
    edits: tuple[Text, ...] = ()
    calls: tuple[tuple[int, int], ...] = ()
    edits_note: str = "No hand edits: what is shown is what runs."
    charts: tuple[str, ...] = ()
    facts: tuple[str, ...] = ("", "", "", "")

    @property
    def call_pairs(self) -> str:
        """`calls` in short, for the script."""
        return " ".join(f"{row}>{call}" for row, call in self.calls)


@dataclass(frozen=True, slots=True)
class Page:
    """The page. problems: (name, reason) of what cannot be shown."""

    title: str
    lede: str
    kernels: tuple[KernelReport, ...]
    problems: tuple[tuple[str, str], ...] = ()


def render(page: Page) -> str:
    """Return the page as HTML. Raises: jinja2.TemplateError, a fault of ours."""
    style = _minified((TEMPLATES / "report" / "style.css").read_text(encoding="utf-8"))
    script = (TEMPLATES / "report" / "script.js").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template("report/page.html.j2")
        .render(
            page=page,
            kernels=tuple(zip(anchors([kernel.name for kernel in page.kernels]), page.kernels)),
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
        )
    )


def anchors(names: Sequence[str]) -> list[str]:
    """Return a name for the address for each kernel: of plain letters, none twice."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_.]", "_", name)
        found.append(plain if plain not in found else f"{plain}-{len(found) + 1}")
    return found


def visible(text: str) -> str:
    """Return `text` with a visible sign in place of each character that a browser hides or acts on.

    A carriage return would be a line break in HTML, and marks of writing direction could show code in another order
    than it has ("Trojan Source", CVE-2021-42574).
    """
    return _INVISIBLE.sub(_sign_of, text)


def _sign_of(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def equal_runs(values: Sequence[int]) -> str:
    """Return numbers in runs of equal ones: (0, 0, 5, 6, 6) is "0*2 5 6*2"."""
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return " ".join(f"{value}*{count}" if count > 1 else str(value) for value, count in runs)


def counting_runs(values: Iterable[int]) -> str:
    """Return numbers in runs that count up: (7, 8, 9, 0, 0, 3) is "7+3 0 0 3"."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value and runs[-1][0] + runs[-1][1] == value and runs[-1][0]:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return " ".join(f"{value}+{count}" if count > 1 else str(value) for value, count in runs)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _minified(style: str) -> str:
    return re.sub(r"\n\s*", "\n", style)


def _finish(value: Any) -> Any:
    return visible(value) if type(value) is str else value


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """An environment of its own: pages escape what they are given, emitted sources do not."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
        finalize=_finish,
        auto_reload=False,
    )
