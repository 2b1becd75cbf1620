"""Which Python line each line of an emitted text comes from.

In: the text, and the functions in it as they were printed. Out: the entries of `SourceFile.lines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import NOWHERE, SourceLocation
from ..module.interface import END_OF_BODY
from .statements import Line


class PrintedBody(NamedTuple):
    """A function of a text. head: its first line; begins: the Python line that stands for it, or `NOWHERE`."""

    head: str
    body: list[Line]
    begins: SourceLocation = NOWHERE


def line_map(text: str, functions: Sequence[PrintedBody]) -> tuple[tuple[int, str, int], ...]:
    """Return where Python lines begin in `text`, and where bodies end that have some.

    Bodies stand whole below the heads of their functions, in order.
    """
    lines = text.split("\n")
    found: list[tuple[int, str, int]] = []
    start = 0
    for function in functions:
        start = lines.index(function.head, start) + 2
        count = len(found)
        if function.begins is not NOWHERE:
            found.append((start - 1, function.begins.file, function.begins.line))
        for offset, line in enumerate(function.body):
            if line.location is not None:
                found.append((start + offset, line.location.file, line.location.line))
        if len(found) > count:
            found.append((start + len(function.body) + 1, *END_OF_BODY))
    return tuple(found)
