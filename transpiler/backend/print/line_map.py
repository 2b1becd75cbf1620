"""Which Python line each line of an emitted source comes from.

In: the source, and the printed functions in it. Out: the entries of `SourceFile.lines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import NOWHERE, SourceLocation
from ..module.interface import END_OF_BODY
from .lines import Line


class PrintedBody(NamedTuple):
    """A function of a source. head: its lines above the body. start: where it starts in Python, or `NOWHERE`."""

    head: str
    body: list[Line]
    start: SourceLocation = NOWHERE


def line_map(source: str, functions: Sequence[PrintedBody]) -> tuple[tuple[int, str, int], ...]:
    """Return where Python lines start in `source`, and where the bodies end that contain some.

    Bodies follow the heads of their functions, in order.
    """
    lines = source.split("\n")
    entries: list[tuple[int, str, int]] = []
    start = 0
    for function in functions:
        head = function.head.split("\n")
        start = lines.index(head[0], start) + len(head) + 1
        count = len(entries)
        if function.start is not NOWHERE:
            entries.append((start - 1, function.start.file, function.start.line))
        for offset, line in enumerate(function.body):
            if line.location is not None:
                entries.append((start + offset, line.location.file, line.location.line))
        if len(entries) > count:
            entries.append((start + len(function.body) + 1, *END_OF_BODY))
    return tuple(entries)
