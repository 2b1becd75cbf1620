"""From the numbers of a record, written by `print` or `assert` on a device, to what the user reads.

In: a site as `Interface.reports` describes it (`sites.describe_site`). Out: functions of the record's numbers. It knows
no statements, so a session can load it without the compiler.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...errors import SourceLocation, SourceText, TaichiAssertionError
from ...ir.printf import formatter
from ...ir.types import SCALARS

Part = str | tuple[int, str] | list[Any]
"""A text, or the number of a value and its format specification (a list where it comes from JSON)."""


class Turn(NamedTuple):
    """A turn of a parallel loop. line: of the loop in Python. indices: by name, None where only the device knows."""

    line: int
    number: int
    indices: dict[str, int] | None


def text_writer(site: dict[str, Any]) -> Callable[[Sequence[Any]], str]:
    """Return the function that makes a site's text of the numbers of a record: scalars in order, tensors row by row."""
    is_print = site["kind"] == "print"
    parts: Sequence[Part] = site["parts"] if is_print else message_parts(site["message"])
    starts = [0]
    for value in site["values"]:
        size = 1
        for extent in value["shape"]:
            size *= extent
        starts.append(starts[-1] + size)
    writers: list[Callable[[Sequence[Any]], str]] = []
    for part in parts:
        if isinstance(part, str):
            writers.append(lambda numbers, text=part: text)  # type: ignore[misc]
        else:
            value, specification = site["values"][part[0]], part[1]
            write = formatter(SCALARS[value["python_type"]], specification, shortest=not is_print)
            writers.append(_value_writer(write, value["shape"], starts[part[0]]))
    return lambda numbers: "".join([write(numbers) for write in writers])


def message_parts(message: str) -> list[Part]:
    """Return the parts of an assert's message: `i is {0:.2f}`."""
    parts: list[Part] = []
    for literal, name, specification, _ in string.Formatter().parse(message):
        parts.append(literal)
        if name is not None:
            parts.append((int(name), specification or ""))
    return parts


def _value_writer(write: Callable[[Any], str], shape: Sequence[int], start: int) -> Callable[[Sequence[Any]], str]:
    """Return how a scalar, `[a, b]` or `[[a, b], [c, d]]` is read from the numbers from `start` on."""
    if not shape:
        return lambda numbers: write(numbers[start])
    size = 1
    for extent in shape[1:]:
        size *= extent
    inner = [_value_writer(write, shape[1:], start + size * k) for k in range(shape[0])]
    return lambda numbers: "[" + ", ".join([part(numbers) for part in inner]) + "]"


def location(frames: Sequence[dict[str, Any]]) -> SourceLocation:
    """Return where a site stands, with the calls that led there."""
    found: SourceLocation | None = None
    for frame in frames:
        line, column, end_line, end_column = frame["span"]
        source = SourceText(frame["file"], line, (frame["text"],) if frame["text"] else ())
        found = SourceLocation(source, line, column, end_line, end_column, frame["function"], found)
    assert found is not None
    return found


def failure(
    kernel: str,
    site: dict[str, Any],
    numbers: Sequence[Any],
    turn: Turn | None,
    count: int,
    calls: Sequence[dict[str, Any]] = (),
) -> TaichiAssertionError:
    """Return the error for a failed check. turn: None in a serial task. count: how many failed in the launch.

    calls: sites of the calls of real functions that led to it, the inmost first.
    """
    place = location([frame for part in (*reversed(calls), site) for frame in part["frames"]])
    message = text_writer(site)(numbers)
    error = TaichiAssertionError(f"{place.describe()}\n{message}{_circumstances(turn, count)}")
    error.location, error.kind, error.kernel, error.message = place, site["kind"], kernel, message
    error.values, error.failures = tuple(numbers), count
    error.iteration = None if turn is None else turn.indices
    if site["kind"] == "bounds":
        error.array = site["array"]
        error.index, error.shape = tuple(numbers[: site["axes"]]), tuple(numbers[site["axes"] :])
    return error


def _circumstances(turn: Turn | None, count: int) -> str:
    """Return the last line of an error: which turn of which loop, and whether there were others."""
    if turn is None:
        return ""
    indices = turn.indices or {"turn": turn.number}
    at = ", ".join(f"{name} = {index}" for name, index in indices.items())
    if count > 1:
        return f"\n({count} checks failed in this launch; this is the first in the order of the loop: {at})"
    return f"\n(in the parallel loop of line {turn.line}: {at})"
