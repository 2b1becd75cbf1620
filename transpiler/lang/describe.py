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
    place, offset: as in `ir.statements.Array`. tree: what owns the memory of a sparse tree, `NodeDescription.tree`.
    """

    element: Type
    shape: tuple[int, ...]
    kind: str
    name: str | None = None
    owner: Any = None
    path: tuple[str, ...] = ()
    place: Node | None = None
    tree: Any = None
    offset: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """A node of a tree as the compiler sees it; an object that is one has a method `describe_cells()`.

    tree: what gives, at run time, the memory of the arrays beside the cells: `tree.sparse_memory(node, role)`. fields:
    those placed in the node itself, in order.
    """

    node: Node
    tree: Any
    fields: tuple[Any, ...] = ()
