"""Where a kept text stands in the user's files: lines are kept relative to functions, and put in place when found.

In: the functions a text was made of, as files and lines now. Out: the same text, reports and warnings as if it had been
compiled where the functions stand now. What would come out in another form is refused: a text whose functions have
changed their order, or a line number beside code that has become longer (lines are broken by their width).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...transpiler.backend.module.interface import END_OF_BODY
from ...transpiler.errors import NOWHERE

IN_WARNING = re.compile(r'File "([^"\n]*)", line (\d+)')
IN_NOTE = re.compile(r"\bin line (\d+)")
NOWHERES = (END_OF_BODY[0], NOWHERE.file)
"""Files that are none: of a text behind a function, and of what no Python line asked for."""
SPOT = tuple[int, int, int, int, int]
"""Where a text names a line: begin, end, whether its width matters, number of the function, line in it; the function
counts from 1, and is negative where the line stands alone, without the file."""


class Moved(Exception):
    """A kept text cannot be put where its functions stand now; the words say why."""


class Unplaced(Exception):
    """A text names a line of no function that is known."""


@dataclass(frozen=True, slots=True)
class Places:
    """Functions by number, as (file, first line, how many lines)."""

    functions: tuple[tuple[str, int, int], ...]

    def find(self, file: str, line: int) -> tuple[int, int]:
        """Return the function a line is in, and which of its lines. Raises: Unplaced.

        What stands nowhere has a negative number, and keeps its line.
        """
        if file in NOWHERES:
            return NOWHERES.index(file) - len(NOWHERES), line
        for number, (its_file, first, count) in enumerate(self.functions):
            if its_file == file and first <= line < first + count:
                return number, line - first
        raise Unplaced(f"{file}:{line} is in no function that was looked at")

    def candidates(self, line: int, base: str | None = None) -> list[tuple[int, int]]:
        """Return the functions that line may be in, where only the end of its file's name is known, or nothing."""
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
        """Return the functions in the order of files and lines, by number, as far as texts depend on it."""
        return sorted(range(len(self.functions)), key=lambda number: self.functions[number][:2])

    def files(self) -> list[int]:
        """Return for each function the first one in the same file."""
        names = [file for file, *_ in self.functions]
        return [names.index(file) for file in names]


def basename(file: str) -> str:
    """Return the last part of a path, as texts show it."""
    name = file.replace("\\", "/").rsplit("/", 1)[-1].replace("??/", "? ?/")
    return name if name.isprintable() else "".join(c if c.isprintable() else " " for c in name)


# --- texts ------------------------------------------------------------------------------------------------------------


def spots_of(text: str, places: Places) -> list[SPOT] | None:
    """Return where a text names lines; None where it cannot be told which functions are meant."""
    names = "|".join(re.escape(name) for name in {basename(file) for file, *_ in places.functions})
    mention = re.compile(rf"//\ (?:from\ )?(?P<place>(?P<base>{names}):(?P<line>\d+))(?=\ |,|$)", re.VERBOSE)
    spots: list[SPOT] = []
    begin = 0
    for line in text.split("\n"):
        found = mention.search(line) if "//" in line else None
        if found is not None:
            candidates = places.candidates(int(found["line"]), found["base"])
            beside = bool(line[: found.start()].strip())
            spots_here = [(*found.span("place"), beside, 1)]
        else:
            matches = list(IN_NOTE.finditer(line)) if line.lstrip().startswith("//") else []
            candidates = [c for m in matches[:1] for c in places.candidates(int(m[1]))]
            spots_here = [(*m.span(1), True, -1) for m in matches]
            if len(matches) > 1:
                return None
        if spots_here and len({places.functions[number][0] for number, _ in candidates}) != 1:
            return None
        for start, end, width, sign in spots_here:
            number, offset = candidates[0]
            spots.append((begin + start, begin + end, int(width), sign * (number + 1), offset))
        begin += len(line) + 1
    return spots


def put_in_place(text: str, spots: Sequence[SPOT], places: Places) -> str:
    """Return a text with the lines that it names where they are now. Raises: Moved."""
    parts: list[str] = []
    last = 0
    for begin, end, width, function, offset in spots:
        number = abs(function) - 1
        said = str(places.line(number, offset))
        if function > 0:
            said = f"{basename(places.file(number))}:{said}"
        if width and len(said) != end - begin:
            raise Moved("a line number beside code has become wider or narrower")
        parts += [text[last:begin], said]
        last = end
    return "".join([*parts, text[last:]])


# --- warnings ---------------------------------------------------------------------------------------------------------


def split_warning(text: str, places: Places) -> list[Any]:
    """Return a warning in pieces: texts, and [function, line in it] for what names a line. Raises: Unplaced."""
    pieces: list[Any] = []
    last = 0
    for found in IN_WARNING.finditer(text):
        pieces += [text[last : found.start()], list(places.find(found[1], int(found[2])))]
        last = found.end()
    return [*pieces, text[last:]]


def join_warning(pieces: Sequence[Any], places: Places) -> str:
    """Return a warning for where its functions stand now."""
    shown = (
        piece if isinstance(piece, str) else f'File "{places.file(piece[0])}", line {places.line(*piece)}'
        for piece in pieces
    )
    return "".join(shown)


# --- modules ----------------------------------------------------------------------------------------------------------


def release(data: dict[str, Any], loops: Sequence[tuple[str, int] | None], places: Places) -> None:
    """Make the lines in a module's JSON relative to functions. loops: where that of each task is. Raises: Unplaced."""
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
                raise Unplaced("the loop of a task")
            task["loop"]["line"] = list(places.find(*loop))


def place(data: dict[str, Any], places: Places) -> None:
    """Undo `release`, where the functions stand now."""
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
