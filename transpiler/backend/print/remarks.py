"""Where the remarks of statements are printed in a source, and in which characters."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import NOWHERE, SourceLocation
from ...ir.nodes import Remark, Statement


def remarks_above(statements: Sequence[Statement]) -> dict[int, list[Remark]]:
    """Return the remarks to print above each statement of a block: before all that follows their Python line."""
    above: dict[int, list[Remark]] = {}
    for position, statement in enumerate(statements):
        for remark in statement.remarks:
            if remark.where == "above":
                above.setdefault(_start(statements, position, remark), []).append(remark)
    return {position: sorted(remarks, key=lambda remark: _path(remark.location)) for position, remarks in above.items()}


def _start(statements: Sequence[Statement], position: int, remark: Remark) -> int:
    omitted = _path(remark.location)
    start = position
    for before in range(position - 1, -1, -1):
        location = statements[before].location
        path = _path(location)
        calls = len(path) < len(omitted) and path[-1][0] == omitted[len(path) - 1][0]
        if location is NOWHERE or calls:  # of the line whose call contained the omitted statement: before or after it
            continue
        if path <= omitted:
            break
        start = before
    return start


def _path(location: SourceLocation) -> list[tuple[int, int]]:
    """Return the lines of the inlined calls that lead to a location, then its own: sorts locations of one source."""
    path = [(location.line, 0)]
    while location.call_site is not None:
        location = location.call_site
        path.append((location.line, location.column))
    return path[::-1]


def inert(text: str) -> str:
    """Return the text of a comment in one line, which no backslash or trigraph at its end continues."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable.replace("??/", "? ?/").rstrip("\\ ")
