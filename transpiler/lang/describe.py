"""How an object of the runtime enters a kernel: it has a method `describe_array()` that returns this."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from re import findall
from typing import Any, TypeVar

from ..ir.snodes import Node
from ..ir.types import Struct, Tensor, Type

Step = str | tuple[int, ...]
"""What leads from an element to a part of it: the name of a member, or the indices of a component."""

COMPONENTS = "xyzw"

T = TypeVar("T")


def step_into(element: Type, step: Step) -> Type:
    """Return the type of a part. Raises: KeyError where a struct has no such member."""
    if isinstance(element, Struct):
        assert isinstance(step, str)
        return element.member(step)
    assert isinstance(element, Tensor)
    return element.element


def steps_of(element: Type) -> list[Step]:
    """Return the steps to all parts of an element in order: the members of a struct, the components of a vector."""
    if isinstance(element, Struct):
        return list(element.names)
    return list(product(*map(range, element.shape))) if isinstance(element, Tensor) else []


def name_step(name: str, element: Type, step: Step) -> str:
    """Return what a program calls a part of what it calls `name`: `s.pos`, `v.x`, `m[0, 1]`."""
    if isinstance(step, str):
        return f"{name}.{step}"
    assert isinstance(element, Tensor)
    if len(step) == 1 and element.shape[0] <= len(COMPONENTS):
        return f"{name}.{COMPONENTS[step[0]]}"
    return f"{name}[{', '.join(map(str, step))}]"


def identify_step(name: str, element: Type, step: Step) -> str:
    """Return an identifier for a part of what is called `name`: `s_pos`, `v_x`, `m_01`, `m_0_12`."""
    if isinstance(element, Tensor) and len(element.shape) == 2 and max(element.shape) <= 10:
        return f"{name}_{step[0]}{step[1]}"
    return "_".join(findall(r"\w+", name_step(name, element, step)))


def is_described(value: Any) -> bool:
    """Return whether `value` has `describe_array`. Its class is examined, since an object may answer to any name."""
    return hasattr(type(value), "describe_array")


def ask(value: Any, name: str, kind: type[T], default: T) -> T:
    """Return the attribute of a foreign object if it is of this kind, else the default.

    Objects of a program may answer to any name with anything, or fail otherwise than by AttributeError.
    """
    try:
        result = getattr(value, name, default)
    except Exception:
        return default
    return result if isinstance(result, kind) else default


def name_of(value: Any) -> str:
    """Return what errors call a function or a class; another object by its text."""
    return ask(value, "__name__", str, "") or str(value)


@dataclass(frozen=True, slots=True)
class ArrayDescription:
    """A dense array as the compiler sees it. kind: "field" (constant shape, captured) or "ndarray" (an argument).

    shape: extents (for a field part of the compiled code). name: the Python name if the object knows one.
    owner, path: for a part of another array's elements: that array, and the steps that lead to the part: the name of a
    member, the indices of a component. place, offset, strided: as in `ir.statements.Array`. tree: what owns the memory
    of a sparse tree, `NodeDescription.tree`. parts: objects for the parts of a field whose parts are stored separately,
    in order.
    """

    element: Type
    shape: tuple[int, ...]
    kind: str
    name: str | None = None
    owner: Any = None
    path: tuple[Step, ...] = ()
    place: Node | None = None
    tree: Any = None
    offset: tuple[int, ...] = ()
    strided: bool = False
    parts: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """A node of a tree as the compiler sees it; an object that is one has a method `describe_cells()`.

    tree: what gives, at run time, the memory of the auxiliary arrays: `tree.sparse_memory(node, role)`. fields:
    those placed in the node itself, in order.
    """

    node: Node
    tree: Any
    fields: tuple[Any, ...] = ()
