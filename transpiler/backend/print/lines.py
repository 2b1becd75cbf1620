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
    """Wrap a statement before operators outside parentheses, or a list; without either it stays one line."""
    if (lines := _wrapped_list(text)) is not None:
        return lines
    parts, start, depth, fold, brackets = [], 0, 0, 0, {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
    for index, character in enumerate(text):
        depth += brackets.get(character, 0)
        if depth == 0 and character == " " and text.startswith(FOLDS, index):
            fold = index
        if index - start > MAX_WIDTH and fold > start:
            parts.append(text[start:fold])
            start = fold + 1
    return [parts[0], *(INDENT + part for part in [*parts[1:], text[start:]])] if parts else [text]


def _wrapped_list(text: str) -> list[str] | None:
    """Return the lines of `float w[9] = {a, b, c};`, None if the statement declares no list of plain values."""
    head, equals, values = text.partition("] = ")
    opening, _, rest = values.partition("(") if "(" in values.partition("{")[0] else values.partition("{")
    if not equals or not rest or any(bracket in rest[:-2] for bracket in "({"):
        return None
    lines = [f"{head}] = {values[: len(opening) + 1]}"]
    for item in rest[:-2].split(", "):
        if lines[-1].startswith(INDENT) and len(lines[-1]) + len(item) + 2 <= MAX_WIDTH:
            lines[-1] += f" {item},"
        else:
            lines.append(f"{INDENT}{item},")
    return [*lines[:-1], lines[-1].removesuffix(","), rest[-2:]]
