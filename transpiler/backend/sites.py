"""What the host must know of each `print` and `assert` to show its records: the content of `Interface.reports`.

In: the statement. Out: plain data, from which `records` makes what the user reads.
"""

from __future__ import annotations

from typing import Any

from ..ir.statements import Assert, Print
from ..ir.types import Tensor, element_of

WORD_TYPES = {"u1": "i32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "f16": "f32"}
"""What a value of a small type is written as."""


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
