"""Descriptions of the `print` and check sites, with which the host decodes records: the content of `Interface.reports`.

In: the statement. Out: plain data, from which `records` makes messages for the user.
"""

from __future__ import annotations

from typing import Any

from ...errors import SourceLocation
from ...ir.functions import Call
from ...ir.statements import IndexCheck, Notice, Print, Record
from ...ir.types import Tensor, element_of

WORD_TYPES = {"u1": "i32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "f16": "f32"}
"""Type of a small value -> its type in a record."""


def describe_site(statement: Record | Call, task: int) -> dict[str, Any]:
    """Return the description of a site: its location, its message, the types of its values.

    task: number of the task that contains it. The record of a call means that a check failed in the called function; it
    follows that of the check. A print with a `message` is a notice, for standard error.
    """
    values = [
        {
            "type": WORD_TYPES.get(element_of(type).name, element_of(type).name),
            "python_type": str(element_of(type)),
            "shape": list(type.shape) if isinstance(type, Tensor) else [],
        }
        for value in ([] if isinstance(statement, Call) else statement.values)
        if (type := value.type) is not None
    ]
    site: dict[str, Any] = {"frames": _frames(statement.location), "task": task, "values": values}
    if isinstance(statement, Call):
        return {"kind": "call", **site}
    if isinstance(statement, Print):
        return {"kind": "print", "parts": [p if isinstance(p, str) else list(p) for p in statement.parts], **site}
    site["message"] = statement.message
    if isinstance(statement, Notice):
        return {"kind": "print", "parts": [f"{statement.message}\n"], **site}
    if isinstance(statement, IndexCheck):
        return {"kind": "bounds", "array": statement.array, "axes": len(statement.indices), **site}
    return {"kind": statement.kind, **site}


def _frames(location: SourceLocation | None) -> list[dict[str, Any]]:
    """Return the frames of the calls that led to `location`, outermost first, and its own."""
    frames: list[dict[str, Any]] = []
    while location is not None:
        source_line = location.source.line(location.line)
        span = [location.line, location.column, location.end_line, location.end_column]
        frames.append({"file": location.file, "function": location.function, "span": span, "text": source_line})
        location = location.call_site
    return frames[::-1]
