"""The lines of an edited source, matched with those of the kernel that it is an edit of."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from ...errors import NOWHERE, SourceLocation
from ...lazy_dataclasses import dataclass
from ..nodes import Statement

NAME = re.compile(r"\$(\w+)")
DEFINITION = re.compile(r"\$(\w+)(?: (\w+))?(?:: ([^=]+?))? = (.*)")
COMMENT = "//"


class TextError(Exception):
    """A mistake in the text. line: its number, from 1."""

    def __init__(self, line: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.line, self.message, self.hint = line, message, hint


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the text. number: from 1. text: without indentation. base: the statement that has the same line."""

    number: int
    text: str
    base: Statement | None = None
    location: SourceLocation = NOWHERE


def lines_of(text: str, base: str, statements: dict[int, Statement]) -> list[Line]:
    """Return the lines of the text that are neither empty nor comments, matched with those of the base."""
    found = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    found = [(number, line) for number, line in found if line and not line.startswith(COMMENT)]
    old = [line.strip() for line in base.splitlines()]
    matches: dict[int, int] = {}
    plain = [plain_line(line) for _, line in found]
    stretches = SequenceMatcher(None, [plain_line(line) for line in old], plain, autojunk=False).get_opcodes()
    for tag, first, last, start, _ in stretches:
        if tag == "equal":
            matches.update((start + k, first + k) for k in range(last - first))
    lines, location = [], NOWHERE
    for position, (number, line) in enumerate(found):
        statement = statements.get(matches[position] + 1) if position in matches else None
        location = statement.location if statement is not None else location
        lines.append(Line(number, line, statement, location))
    return lines


def plain_line(line: str) -> str:
    """Return a line without the names of values."""
    return NAME.sub("$", line)
