"""From the numbers of a record, written by `print` or `assert` on a device, to what the user reads.

In: a site as `Interface.reports` describes it (`sites.describe_site`). Out: functions of the record's numbers. It knows
no statements, so a session can load it without the compiler.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import TaichiAssertionError
from ..ir.printf import formatter
from ..ir.types import SCALARS

Part = str | tuple[int, str] | list[Any]
"""A text, or the number of a value and its format specification (a list where it comes from JSON)."""


def text_writer(site: dict[str, Any]) -> Callable[[Sequence[Any]], str]:
    """Return the function that makes a site's text of the numbers of a record: scalars in order, tensors row by row."""
    is_print = site["kind"] == "print"
    parts: Sequence[Part] = site["parts"] if is_print else _message_parts(site["message"])
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


def _message_parts(message: str) -> list[Part]:
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


def failure(site: dict[str, Any], numbers: Sequence[Any], count: int) -> TaichiAssertionError:
    """Return the error for a failed check. count: how many failed in this launch."""
    text = f"{site['where']}\n{text_writer(site)(numbers)}"
    if count > 1:
        text += f"\n({count} checks failed in this launch; this is the first in the order of the loop)"
    return TaichiAssertionError(text)
