"""The lines of a printed function, and how a long one is wrapped."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import SourceLocation

INDENT = "    "
MAX_WIDTH = 100
"""Columns an expression may grow to before an operand gets a name."""
FOLDS = (" + ", " - ", " && ", " || ")


class Line(NamedTuple):
    """One line of a body.

    location: the Python line whose source starts here, if any.
    comment: the Python line that the comment in this line shows, if any.
    """

    depth: int
    text: str
    location: SourceLocation | None = None
    comment: SourceLocation | None = None


def wrapped(text: str) -> list[str]:
    """Wrap a statement before operators outside parentheses; without such operators it stays one line."""
    parts, start, depth, fold, brackets = [], 0, 0, 0, {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
    for index, character in enumerate(text):
        depth += brackets.get(character, 0)
        if depth == 0 and character == " " and text.startswith(FOLDS, index):
            fold = index
        if index - start > MAX_WIDTH and fold > start:
            parts.append(text[start:fold])
            start = fold + 1
    return [parts[0], *(INDENT + part for part in [*parts[1:], text[start:]])] if parts else [text]
