"""Line numbers of cached sources: entries store them relative to functions, and a look-up makes them absolute.

In: the present files and lines of the functions that a source was made of. Out: the source, reports and warnings that
a compilation would give now. A source that would get another form is refused: if its functions have changed their
order, or if a line number that follows code has more digits than before (lines are broken by their width).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...transpiler.backend.module.interface import END_OF_BODY
from ...transpiler.errors import NOWHERE, basename
from ...transpiler.lazy_dataclasses import dataclass

IN_WARNING = re.compile(r'File "([^"\n]*)", line (\d+)')
IN_NOTE = re.compile(r"\bin line (\d+)")
NOWHERES = (END_OF_BODY[0], NOWHERE.file)
"""Pseudo files: of the end of a function's body, and of code without a Python line."""
LineReference = tuple[int, int, int, int, int]
"""A line number in a source: start, end, whether its width matters, number of the function, line in the function. The
number counts from 1, and is negative if the line is named without the file."""


class Moved(Exception):
    """A cached source cannot be adapted to the present lines of its functions; the message gives the reason."""


class UnknownLocation(Exception):
    """A source names a line that is in no recorded function."""


@dataclass(frozen=True, slots=True)
class FunctionLocations:
    """The functions by number, as (file, first line, number of lines)."""

    functions: tuple[tuple[str, int, int], ...]

    def find(self, file: str, line: int) -> tuple[int, int]:
        """Return the function of a line, and the line relative to it. Raises: UnknownLocation.

        A line in a pseudo file has a negative function, and stays absolute.
        """
        if file in NOWHERES:
            return NOWHERES.index(file) - len(NOWHERES), line
        for number, (its_file, first, count) in enumerate(self.functions):
            if its_file == file and first <= line < first + count:
                return number, line - first
        raise UnknownLocation(f"{file}:{line} is in no recorded function")

    def candidates(self, line: int, base: str | None = None) -> list[tuple[int, int]]:
        """Return the functions that may contain a line of which only the file's base name is known, or nothing."""
        return [
            (number, line - first)
            for number, (file, first, count) in enumerate(self.functions)
            if first <= line < first + count and base in (None, basename(file))
        ]

    def line(self, number: int, offset: int) -> int:
        """Return the number of a function's line in the file. Raises: IndexError."""
        return offset if number < 0 else self.functions[number][1] + offset

    def file(self, number: int) -> str:
        """Return the file of a function. Raises: IndexError."""
        return NOWHERES[number] if number < 0 else self.functions[number][0]

    def order(self) -> list[int]:
        """Return the numbers of the functions, sorted by file and line: sources depend on this order."""
        return sorted(range(len(self.functions)), key=lambda number: self.functions[number][:2])

    def files(self) -> list[int]:
        """Return for each function the first one in the same file."""
        names = [file for file, *_ in self.functions]
        return [names.index(file) for file in names]


# --- sources ----------------------------------------------------------------------------------------------------------


def line_references(text: str, places: FunctionLocations) -> list[LineReference] | None:
    """Return the line numbers in a source; None if their functions are ambiguous."""
    names = "|".join(re.escape(name) for name in {basename(file) for file, *_ in places.functions})
    before = r"(?:from\ |shadesmith\ [^\s,]+,\ \w+\ \w{8},\ )?"  # the second one: of the first line
    mention = re.compile(rf"//\ {before}(?P<location>(?P<base>{names}):(?P<line>\d+))(?=\ |,|:|$)", re.VERBOSE)
    references: list[LineReference] = []
    line_start = 0
    for line in text.split("\n"):
        found = mention.search(line) if "//" in line else None
        if found is not None:
            candidates = places.candidates(int(found["line"]), found["base"])
            follows_code = bool(line[: found.start()].strip())
            spans = [(*found.span("location"), follows_code, 1)]
        else:
            matches = list(IN_NOTE.finditer(line)) if line.lstrip().startswith("//") else []
            candidates = [c for m in matches[:1] for c in places.candidates(int(m[1]))]
            spans = [(*m.span(1), True, -1) for m in matches]
            if len(matches) > 1:
                return None
        if spans and len({places.functions[number][0] for number, _ in candidates}) != 1:
            return None
        for start, end, width, sign in spans:
            number, offset = candidates[0]
            references.append((line_start + start, line_start + end, int(width), sign * (number + 1), offset))
        line_start += len(line) + 1
    return references


def relocate(text: str, references: Sequence[LineReference], places: FunctionLocations) -> str:
    """Return a source with the present line numbers. Raises: Moved."""
    parts: list[str] = []
    last = 0
    for start, end, width, function, offset in references:
        number = abs(function) - 1
        location = str(places.line(number, offset))
        if function > 0:
            location = f"{basename(places.file(number))}:{location}"
        if width and len(location) != end - start:
            raise Moved("a line number after code has another number of digits")
        parts += [text[last:start], location]
        last = end
    return "".join([*parts, text[last:]])


# --- warnings ---------------------------------------------------------------------------------------------------------


def split_warning(text: str, places: FunctionLocations) -> list[Any]:
    """Split a warning into strings and, for each line number, [function, line in it]. Raises: UnknownLocation."""
    pieces: list[Any] = []
    last = 0
    for found in IN_WARNING.finditer(text):
        pieces += [text[last : found.start()], list(places.find(found[1], int(found[2])))]
        last = found.end()
    return [*pieces, text[last:]]


def join_warning(pieces: Sequence[Any], places: FunctionLocations) -> str:
    """Return a warning with the present lines of its functions."""
    shown = (
        piece if isinstance(piece, str) else f'File "{places.file(piece[0])}", line {places.line(*piece)}'
        for piece in pieces
    )
    return "".join(shown)


# --- modules ----------------------------------------------------------------------------------------------------------


def make_relative(data: dict[str, Any], loops: Sequence[tuple[str, int] | None], places: FunctionLocations) -> None:
    """Make the lines in a module's JSON relative to functions.

    loops: file and line of each task's loop. Raises: UnknownLocation.
    """
    for file in data["files"]:
        file["lines"] = [[line, *places.find(name, python_line)] for line, name, python_line in file["lines"]]
    for report in data["interface"]["reports"]:
        for frame in report["frames"]:
            number, offset = places.find(frame["file"], frame["span"][0])
            frame["file"] = number
            frame["span"] = [offset, frame["span"][1], frame["span"][2] - frame["span"][0], frame["span"][3]]
    for task, loop in zip(data["tasks"], loops, strict=True):
        if task["loop"] is not None:
            if loop is None or loop[1] != task["loop"]["line"]:
                raise UnknownLocation("the loop of a task")
            task["loop"]["line"] = list(places.find(*loop))


def make_absolute(data: dict[str, Any], places: FunctionLocations) -> None:
    """Undo `make_relative`, with the present lines of the functions."""
    for file in data["files"]:
        file["lines"] = [
            [line, places.file(number), places.line(number, offset)] for line, number, offset in file["lines"]
        ]
    for report in data["interface"]["reports"]:
        for frame in report["frames"]:
            number, (offset, column, more, end) = frame["file"], frame["span"]
            line = places.line(number, offset)
            frame["file"], frame["span"] = places.file(number), [line, column, line + more, end]
    for task in data["tasks"]:
        if task["loop"] is not None:
            task["loop"]["line"] = places.line(*task["loop"]["line"])
