"""Formats the records of `print` and `assert` on a device as messages for the user.

In: the description of a site in `Interface.reports` (`record_sites.describe_site`). Out: functions of the numbers of a
record. This module depends on no statements, so a session can load it without the compiler.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...errors import SourceLocation, SourceText, TaichiAssertionError
from ...ir.types import SCALARS
from ...lang.printf import formatter

Part = str | tuple[int, str] | list[Any]
"""A string, or the number of a value and its format specification (a list if it comes from JSON)."""


class Iteration(NamedTuple):
    """An iteration of a parallel loop. line: of the loop in Python. indices: by name, None if unknown to the host."""

    line: int
    number: int
    indices: dict[str, int] | None


def text_writer(site: dict[str, Any]) -> Callable[[Sequence[Any]], str]:
    """Return the function from the numbers of a record to its message: scalars in order, tensors row by row."""
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
    """Return the function that formats a scalar, `[a, b]` or `[[a, b], [c, d]]` from the numbers from `start` on."""
    if not shape:
        return lambda numbers: write(numbers[start])
    size = 1
    for extent in shape[1:]:
        size *= extent
    inner = [_value_writer(write, shape[1:], start + size * k) for k in range(shape[0])]
    return lambda numbers: "[" + ", ".join([part(numbers) for part in inner]) + "]"


def location(frames: Sequence[dict[str, Any]]) -> SourceLocation:
    """Return the location of a site, with the calls that led there."""
    result: SourceLocation | None = None
    for frame in frames:
        line, column, end_line, end_column = frame["span"]
        source = SourceText(frame["file"], line, (frame["text"],) if frame["text"] else ())
        result = SourceLocation(source, line, column, end_line, end_column, frame["function"], result)
    assert result is not None
    return result


def is_notice(site: dict[str, Any]) -> bool:
    """Return whether a record of a site is one of a notice, which goes to standard error."""
    return site["kind"] == "print" and "message" in site


def notice(site: dict[str, Any], count: int) -> str:
    """Return what a notice says. count: how many of its records a launch has written."""
    times = f"({count} times in this launch)\n" if count > 1 else ""
    return f"{site['message']} in {location(site['frames']).describe()}\n{times}"


def failure(
    kernel: str,
    site: dict[str, Any],
    numbers: Sequence[Any],
    iteration: Iteration | None,
    count: int,
    calls: Sequence[dict[str, Any]] = (),
) -> TaichiAssertionError:
    """Return the error for a failed check.

    Args:
        iteration: None in a serial task.
        count: number of checks that failed in the launch.
        calls: sites of the calls of real functions that led to the check, the innermost first.
    """
    where = location([frame for part in (*reversed(calls), site) for frame in part["frames"]])
    message = text_writer(site)(numbers)
    error = TaichiAssertionError(f"{where.describe()}\n{message}{_circumstances(iteration, count)}")
    error.location, error.kind, error.kernel, error.message = where, site["kind"], kernel, message
    error.values, error.failures = tuple(numbers), count
    error.iteration = None if iteration is None else iteration.indices
    if site["kind"] == "bounds":
        error.array = site["array"]
        error.index, error.shape = tuple(numbers[: site["axes"]]), tuple(numbers[site["axes"] :])
    return error


def _circumstances(iteration: Iteration | None, count: int) -> str:
    """Return the last line of an error: the iteration and its loop, and whether other checks failed."""
    if iteration is None:
        return ""
    indices = iteration.indices or {"iteration": iteration.number}
    at = ", ".join(f"{name} = {index}" for name, index in indices.items())
    if count > 1:
        return f"\n({count} checks failed in this launch; this is the first in the order of the loop: {at})"
    return f"\n(in the parallel loop of line {iteration.line}: {at})"
