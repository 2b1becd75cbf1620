"""What the host must know of each `print` and each check to show its records: the content of `Interface.reports`.

In: the statement. Out: plain data, from which `records` makes what the user reads.
"""

from __future__ import annotations

from typing import Any

from ..errors import SourceLocation
from ..ir.statements import Const, IndexCheck, Print, RangeFor, Record
from ..ir.types import Tensor, element_of

WORD_TYPES = {"u1": "i32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "f16": "f32"}
"""What a value of a small type is written as."""


def describe_site(statement: Record, task: int, loop: RangeFor | None) -> dict[str, Any]:
    """Return what the host needs to read a record: where it is from, its text, the types of its words.

    task: number of the task it is in. loop: the parallel loop whose turns the task runs.
    """
    values = [
        {
            "type": WORD_TYPES.get(element_of(type).name, element_of(type).name),
            "python_type": str(element_of(type)),
            "shape": list(type.shape) if isinstance(type, Tensor) else [],
        }
        for value in statement.values
        if (type := value.type) is not None
    ]
    site: dict[str, Any] = {"frames": _frames(statement.location), "task": task, "values": values}
    if isinstance(statement, Print):
        return {"kind": "print", "parts": [p if isinstance(p, str) else list(p) for p in statement.parts], **site}
    site |= {"message": statement.message, "loop": None if loop is None else _describe_loop(loop)}
    if isinstance(statement, IndexCheck):
        return {"kind": "bounds", "array": statement.array, "axes": len(statement.indices), **site}
    return {"kind": statement.kind, **site}


def _frames(location: SourceLocation | None) -> list[dict[str, Any]]:
    """Return the place of each call that led to `location`, and its own."""
    frames: list[dict[str, Any]] = []
    while location is not None:
        text = location.source.line(location.line)
        span = [location.line, location.column, location.end_line, location.end_column]
        frames.append({"file": location.file, "function": location.function, "span": span, "text": text})
        location = location.call_site
    return frames[::-1]


def _describe_loop(loop: RangeFor) -> dict[str, Any]:
    """Return the line of a parallel loop, and what tells the indices of a turn from its number.

    axes: begin, step and number of turns of each, None where only a launch knows them.
    """
    axes: list[list[int | None]] = []
    for begin, end, step in zip(loop.begins, loop.ends, loop.steps, strict=True):
        first, last, stride = (int(v.value) if isinstance(v, Const) else None for v in (begin, end, step))
        known = first is not None and last is not None and stride is not None
        axes.append([first, stride, len(range(first, last, stride)) if known else None])  # type: ignore[arg-type]
    names = loop.names if len(loop.names) == len(axes) else [f"index {axis}" for axis in range(len(axes))]
    return {"line": loop.location.line, "names": list(names), "axes": axes}
