"""What the host must know of each `print` and `assert` to show its records: the content of `Interface.reports`.

In: the statement. Out: plain data, and from it functions that turn the numbers of a record into what the user reads.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import TaichiAssertionError
from ..ir.printf import formatter
from ..ir.statements import Assert, Print
from ..ir.types import SCALARS, Tensor, element_of

WORD_TYPES = {"u1": "i32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "f16": "f32"}
"""What a value of a small type is written as."""

Part = str | tuple[int, str] | list[Any]
"""A text, or the number of a value and its format specification (a list where it comes from JSON)."""


def describe_site(statement: Print | Assert, task: int) -> dict[str, Any]:
    """Return what the host needs to read a record: where it is from, its text, the types of its words."""
    location = statement.location
    values = [
        {
            "type": WORD_TYPES.get(element_of(type).name, element_of(type).name),
            "python_type": str(element_of(type)),
            "shape": list(type.shape) if isinstance(type, Tensor) else [],
        }
        for value in statement.values
        if (type := value.type) is not None
    ]
    site: dict[str, Any] = {"file": location.file, "line": location.line, "where": location.describe(), "task": task}
    site["values"] = values
    if isinstance(statement, Print):
        parts = [part if isinstance(part, str) else list(part) for part in statement.parts]
        return {"kind": "print", "parts": parts, **site}
    return {"kind": statement.kind, "message": statement.message, **site}


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
