"""Output of commands: tables, code and notes in colours on a terminal, plain text in a pipe, JSON with `--json`.

Results go to standard output; notes, progress and errors go to standard error, so that a pipe gets only the result.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ...transpiler.errors import ReportedError

if TYPE_CHECKING:
    import argparse

GAP = "  "
"""Between the columns of a plain table."""
ASSEMBLIES = frozenset({"ir", "ptx", "sass", "spirv"})


class CommandError(ReportedError):
    """A command cannot answer: a mistake on the command line, or a program that fails before.

    The hint is printed in a line of its own.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.args = (f"{message}\nHint: {hint}" if hint else message,)


class Screen:
    """Where a command shows its result. json: only `show_data` prints."""

    def __init__(self, json: bool = False, output: TextIO | None = None, notes: TextIO | None = None) -> None:
        self.json = json
        self.output = sys.stdout if output is None else output
        self.notes = sys.stderr if notes is None else notes
        self.is_rich = not json and _takes_colours(self.output)

    def show_data(self, data: Any) -> None:
        """Print one JSON value under `--json`."""
        if self.json:
            print(json.dumps(data, indent=2, default=str), file=self.output)

    def show(self, text: str = "") -> None:
        """Print lines without changes."""
        if not self.json:
            print(text, file=self.output)

    def show_title(self, title: str) -> None:
        """Print the title of what follows."""
        if self.json:
            return
        if not self.is_rich:
            self.show(f"==== {title}")
            return
        from rich.rule import Rule

        self._console().print(Rule(f"[bold]{title}[/bold]", align="left"))

    def show_code(self, text: str, language: str) -> None:
        """Print code. language: "python", "c++", "glsl", "c", "diff" or another of Pygments, or "ir", "ptx", "sass" and
        "spirv", of which only comments are coloured.
        """
        text = text.rstrip("\n")
        if not self.is_rich:
            self.show(text)
            return
        from rich.syntax import Syntax
        from rich.text import Text

        if language in ASSEMBLIES:
            styled = Text(text)
            styled.highlight_regex(r"(?m)(?:^|  )(?://|;) .*$|/\*.*?\*/", "dim")
        else:
            styled = Syntax(text, language, theme="ansi_dark", background_color="default").highlight(text)
            styled.rstrip()
        self._console().print(styled, soft_wrap=True)

    def show_table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
        """Print rows below the names of their columns; numbers are right-aligned."""
        if self.json:
            return
        texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
        numeric = [bool(rows) and all(_is_number(row[k]) for row in rows) for k in range(len(columns))]
        if not self.is_rich:
            for line in _plain_table(columns, texts, numeric, title):
                self.show(line)
            return
        from rich.box import SIMPLE_HEAD
        from rich.measure import Measurement
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD)
        for column, is_numeric in zip(columns, numeric, strict=True):
            table.add_column(column, justify="right" if is_numeric else "left", overflow="fold")
        for cells in texts:
            table.add_row(*map(Text, cells))
        console = self._console()
        # as wide as needed: a terminal wraps long lines, and rich would break words
        console.width = max(console.width, Measurement.get(console, console.options.update(width=1000), table).maximum)
        console.print(table)

    def note(self, text: str) -> None:
        """Print a message to standard error."""
        print(text, file=self.notes, flush=True)

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Callable[[str], None]]:
        """Show progress on a terminal; call the result with a label after each of `total` steps."""
        if self.json or not _takes_colours(self.notes):
            yield lambda label: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = [TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
        columns += [MofNCompleteColumn()] if total is not None else []
        with Progress(*columns, console=Console(file=self.notes), transient=True) as shown:
            task = shown.add_task(what, total=total)
            yield lambda label: shown.update(task, advance=1, description=f"{what}: {label}" if label else what)

    def _console(self) -> Any:
        from rich.console import Console

        return Console(file=self.output, force_terminal=True, highlight=False)


def add_plot_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--plot FILE.svg`. what: the chart shows."""
    parser.add_argument("--plot", type=_svg, metavar="FILE.svg", help=f"write a chart: {what}")


def _svg(name: str) -> Path:
    if not name.endswith(".svg"):
        raise ValueError(f"--plot writes SVG, and {name} has another suffix")
    return Path(name)


_svg.__name__ = "SVG file"  # what argparse says: invalid SVG file value


def write_plot(path: Path, chart: str, screen: Screen) -> None:
    """Write a chart. Raises: OSError."""
    path.write_text(chart, encoding="utf-8")
    screen.note(f"written: {path}")


def _takes_colours(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _is_number(cell: Any) -> bool:
    return cell is None or isinstance(cell, int | float)


def _plain_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], title: str
) -> Iterator[str]:
    widths = [max(map(len, (name, *(row[k] for row in rows)))) for k, name in enumerate(columns)]
    if title:
        yield title
    for line in (columns, *rows):
        cells = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ]
        yield GAP.join(cells).rstrip()
