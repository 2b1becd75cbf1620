"""How an object of the runtime enters a kernel: it has a method `describe_array()` that returns this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ir.snodes import Node
from ..ir.types import Type


@dataclass(frozen=True, slots=True)
class ArrayDescription:
    """A dense array as the compiler sees it. kind: "field" (constant shape, captured) or "ndarray" (an argument).

    shape: extents (for a field part of the compiled code). name: the Python name if the object knows one.
    owner, path: for a member of the structs of another array: that array, and the names that lead to the member.
    place, offset: as in `ir.statements.Array`.
    """

    element: Type
    shape: tuple[int, ...]
    kind: str
    name: str | None = None
    owner: Any = None
    path: tuple[str, ...] = ()
    place: Node | None = None
    offset: tuple[int, ...] = ()
