"""The HTML of our objects: sources in colours, tables, arrays with a thumbnail.

In: an object of a class below `viewed.Viewed`. Out: HTML without external files, for light and dark pages. What came
from a user is escaped.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from ..arrays.dense_array import DenseArray
from ..devices.target_tools import TARGETS, tools_of
from ..gui.images import encode_png
from ..launch.inspection import Inspection
from ..store.stats import Stats
from ..viewed import Code
from ..workbench.measure.bench import Timing
from ..workbench.measure.compare import Comparison
from ..workbench.measure.compile_times import CompileReport
from ..workbench.measure.timing import in_words
from ..workbench.measure.tuning_results import Tuning

FIRST_TASK = re.compile(r"^// \S+:\d+  ", re.MULTILINE)
"""The comment above a task; what is before it are declarations and helpers."""
THUMBNAIL = 256
"""The longest edge of a picture [pixels]; larger arrays are sampled."""
SHARE = 0.005
"""Stages of a compilation that take less are added up."""
SHOWN = 6
"""Elements of an axis that a table shows."""
PRE = "font-family:monospace;margin:0;padding:.5em;line-height:1.35;overflow-x:auto;font-size:13px;text-align:left"
COPY = "navigator.clipboard.writeText(this.parentNode.querySelector('template').content.textContent)"


def html_of(value: Any) -> str:
    """Return the HTML of an object; its string, if there is no page for its class."""
    for kind, render in RENDERERS.items():
        if isinstance(value, kind):
            return render(value)
    return f"<pre>{escape(str(value))}</pre>"


def code(text: Code) -> str:
    """Return source in colours, with a button that copies it; declarations and helpers are folded."""
    first = FIRST_TASK.search(text)
    if first is None or text.count("\n", 0, first.start()) < 8:
        body = _coloured(text, text.language)
    else:
        before, after = text[: first.start()], text[first.start() :]
        title = f"{escape(before.partition(chr(10))[0])} ... {before.count(chr(10))} lines of declarations"
        fold = f'<details><summary style="font-size:12px;font-family:monospace">{title}</summary>'
        body = f"{fold}{_coloured(before, text.language)}</details>{_coloured(after, text.language)}"
    button = f'<button style="float:right;font-size:11px" onclick="{COPY}">copy</button>'
    return f"<div>{button}<template>{escape(text)}</template>{body}</div>"


def _coloured(text: str, language: str) -> str:
    name = tools_of(language).lexer if language in TARGETS else language
    if not name:
        return f'<pre style="{PRE}">{escape(text)}</pre>'
    formatter = HtmlFormatter(noclasses=True, nobackground=True, prestyles=PRE)
    lexer = get_lexer_by_name(name, stripnl=False)
    shown: str = highlight(text, lexer, formatter)
    return shown


def inspection(value: Inspection) -> str:
    """Return all forms of a kernel, each folded but the emitted source."""
    target = str(value.module.target)
    parts = [_fold("Python", _coloured(value.python, "python"))]
    parts += [_fold(name, f'<pre style="{PRE}">{escape(form)}</pre>') for name, form in value.forms.items()]
    parts.append(code(Code(value.source, target)))
    times = [(stage, in_words(seconds)) for stage, seconds in value.times.items()]
    return "".join([*parts, _fold("compile time", table(("stage", "time"), times))])


def _fold(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "", bars: Sequence[float] = ()) -> str:
    """Return a table; bars: a number for each row, drawn relative to the largest."""
    head = "".join(f'<th style="text-align:left">{escape(cell)}</th>' for cell in header)
    longest = max([*bars, 0.0]) or 1.0
    body = []
    for number, row in enumerate(rows):
        cells = "".join(f'<td style="text-align:left">{escape(str(cell))}</td>' for cell in row)
        if bars:
            width = 120 * bars[number] / longest
            cells += f'<td><div style="background:#4a7ab5;height:.8em;width:{width:.0f}px"></div></td>'
        body.append(f"<tr>{cells}</tr>")
    caption = f'<caption style="text-align:left">{escape(title)}</caption>' if title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def timing(value: Timing) -> str:
    """Return the table of a timing with a bar for each median."""
    header, *rows = value.table()
    title = f"{value.kernel} on {value.device}: {value.rounds} rounds, by {value.clock}"
    return table(header, rows, title, [row.median for row in value.rows])


def comparison(value: Comparison) -> str:
    """Return whether the sources agree, and the table of outputs."""
    colour = "#2a7d2a" if value.passed else "#b52a2a"
    verdict = "the same results" if value.passed else "other results"
    head = f'<b style="color:{colour}">{escape(value.variant)}: {verdict}</b>'
    return f'{head}<pre style="{PRE}">{escape(str(value))}</pre>'


def compile_report(value: CompileReport) -> str:
    """Return where the time of compiling went."""
    long = {name: seconds for name, seconds in value.times.items() if seconds >= SHARE * value.wall}
    rest = value.wall - sum(long.values())
    times = long | {f"{len(value.times) - len(long)} shorter stages": rest}
    rows = [(name, in_words(seconds), f"{seconds / value.wall:.1%}") for name, seconds in times.items()]
    return table(("stage", "time", "share"), rows, f"{value.kernel} on {value.device}", list(times.values()))


def tuning(value: Tuning) -> str:
    """Return the table of settings."""
    header, *rows = value.table()
    return table(header, rows, str(value).partition("\n")[0])


def stats(value: Stats) -> str:
    """Return hits and misses by stage, and why the cache missed."""
    stages = sorted({*value.hits, *value.misses, *value.stored})
    rows = [(s, value.hits.get(s, 0), value.misses.get(s, 0), value.stored.get(s, 0)) for s in stages]
    missed = [(event.stage, event.what, event.reason) for event in value.events if not event.hit]
    reasons = _fold(f"{len(missed)} misses", table(("stage", "kernel", "reason"), missed[-100:])) if missed else ""
    return table(("stage", "hits", "misses", "stored"), rows, "cache in this process") + reasons


def array(value: DenseArray) -> str:
    """Return shape, type and range of an array, its first elements, and a picture if it looks like one."""
    title = f"<b>{escape(value.name or type(value).__name__)}</b> {escape(repr(value))}"
    try:
        numbers = value.to_numpy()
    except Exception as error:  # noqa: BLE001 - a dead session, or a struct: what notebooks show must not raise
        return f"{title} <i>{escape(str(error))}</i>"
    if isinstance(numbers, dict) or numbers.dtype.names:
        return title
    if numbers.size and numbers.dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            title += f" min {np.nanmin(numbers):.6g} max {np.nanmax(numbers):.6g}"
            missing = int(np.count_nonzero(~np.isfinite(numbers)))
        title += f' <span style="color:#b52a2a">{missing} not finite</span>' if missing else ""
    with np.printoptions(threshold=SHOWN**2, edgeitems=SHOWN // 2, precision=6, linewidth=100):
        body = f'<pre style="{PRE}">{escape(str(numbers))}</pre>'
    return f"<div>{title}</div>{_thumbnail(numbers)}{_fold('values', body) if _is_picture(numbers) else body}"


def _is_picture(numbers: np.ndarray[Any, Any]) -> bool:
    colours = numbers.ndim == 3 and numbers.shape[2] in (3, 4)
    return (numbers.ndim == 2 or colours) and min(numbers.shape[:2], default=0) >= 16 and numbers.dtype.kind in "fiu"


def _thumbnail(numbers: np.ndarray[Any, Any]) -> str:
    """Return a picture of a grid; as windows show it, the first axis to the right and the second one upward."""
    if not _is_picture(numbers):
        return ""
    step = -(-max(numbers.shape[:2]) // THUMBNAIL)
    shown = np.nan_to_num(numbers[::step, ::step].astype(np.float64), posinf=0.0, neginf=0.0)
    low, high = (0.0, 1.0) if shown.ndim == 3 and shown.min() >= 0 and shown.max() <= 1 else (shown.min(), shown.max())
    grey = np.clip((shown - low) / ((high - low) or 1.0), 0, 1)
    pixels = (grey.reshape(*shown.shape[:2], -1)[..., :3] * 255).astype(np.uint8)
    data = base64.b64encode(encode_png(np.ascontiguousarray(np.flip(pixels.swapaxes(0, 1), 0)))).decode()
    scale = max(1, 128 // max(pixels.shape[:2]))
    size = f'width="{pixels.shape[0] * scale}" height="{pixels.shape[1] * scale}"'
    return (
        f'<img alt="picture of the array" style="image-rendering:pixelated" {size} src="data:image/png;base64,{data}">'
    )


RENDERERS: dict[type, Callable[[Any], str]] = {
    Code: code,
    Inspection: inspection,
    Timing: timing,
    Comparison: comparison,
    CompileReport: compile_report,
    Tuning: tuning,
    Stats: stats,
    DenseArray: array,
}
"""By class, the function that renders an object; a subclass's comes before its base's."""
