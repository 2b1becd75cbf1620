"""Where the notes of statements stand in a text, and in which characters."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import NOWHERE, SourceLocation
from ...ir.nodes import Remark, Statement


def left_out(statements: Sequence[Statement]) -> dict[int, list[Remark]]:
    """Return what to say before which statement of a block: a note stands before all that follows its Python line."""
    found: dict[int, list[Remark]] = {}
    for position, statement in enumerate(statements):
        for note in statement.remarks:
            if note.where == "above":
                found.setdefault(_begin(statements, position, note), []).append(note)
    return {position: sorted(notes, key=lambda note: _path(note.location)) for position, notes in found.items()}


def _begin(statements: Sequence[Statement], position: int, note: Remark) -> int:
    gone = _path(note.location)
    begin = position
    for before in range(position - 1, -1, -1):
        location = statements[before].location
        path = _path(location)
        calls = len(path) < len(gone) and path[-1][0] == gone[len(path) - 1][0]
        if location is NOWHERE or calls:  # of the line with the call that what is gone stood in: before it or behind
            continue
        if path <= gone:
            break
        begin = before
    return begin


def _path(location: SourceLocation) -> list[tuple[int, int]]:
    """Return the line of a place, behind those of the calls that brought it here: places of one text in order."""
    path = [(location.line, 0)]
    while location.call_site is not None:
        location = location.call_site
        path.append((location.line, location.column))
    return path[::-1]


def inert(text: str) -> str:
    """Return the text of a comment in one line, which no backslash or trigraph at its end continues."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable.replace("??/", "? ?/").rstrip("\\ ")
