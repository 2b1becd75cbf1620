"""Descriptions of runtime objects for the compiler, returned by their method `describe_array()`."""

from __future__ import annotations

from itertools import product
from re import findall
from typing import Any, TypeVar

from ..ir.snodes import Node
from ..ir.types import Packing, Struct, Tensor, Type
from ..lazy_dataclasses import dataclass

Step = str | tuple[int, ...]
"""A step from an element to a part of it: the name of a member, or the indices of a component."""

COMPONENTS = "xyzw"

T = TypeVar("T")


def step_into(element: Type, step: Step) -> Type:
    """Return the type of a part. Raises: KeyError if a struct has no such member."""
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
    """Return the Python expression of a part of `name`: `s.pos`, `v.x`, `m[0, 1]`."""
    if isinstance(step, str):
        return f"{name}.{step}"
    assert isinstance(element, Tensor)
    if len(step) == 1 and element.shape[0] <= len(COMPONENTS):
        return f"{name}.{COMPONENTS[step[0]]}"
    return f"{name}[{', '.join(map(str, step))}]"


def identify_step(name: str, element: Type, step: Step) -> str:
    """Return an identifier for a part of `name`: `s_pos`, `v_x`, `m_01`, `m_0_12`."""
    if isinstance(element, Tensor) and len(element.shape) == 2 and max(element.shape) <= 10:
        return f"{name}_{step[0]}{step[1]}"
    return "_".join(findall(r"\w+", name_step(name, element, step)))


def is_described(value: Any) -> bool:
    """Return whether `value` has `describe_array`. Its class is examined, since an object may have any attribute."""
    return hasattr(type(value), "describe_array")


def safe_attribute(value: Any, name: str, kind: type[T], default: T) -> T:
    """Return the attribute of a foreign object if it is of this kind, else the default.

    A user's object may return anything for any attribute, or raise other errors than AttributeError.
    """
    try:
        result = getattr(value, name, default)
    except Exception:
        return default
    return result if isinstance(result, kind) else default


def name_of(value: Any) -> str:
    """Return the name of a function or class in errors; another object is shown as a string."""
    return safe_attribute(value, "__name__", str, "") or str(value)


@dataclass(frozen=True, slots=True)
class ArrayDescription:
    """A dense array as the compiler sees it.

    Attributes:
        kind: "field" (constant shape, captured) or "ndarray" (an argument).
        element: type of the elements.
        shape: extents (of a field: part of the compiled code).
        name: the Python name if the object knows one.
        owner, path: of a part of another array's elements: that array, and the steps that lead to the part.
        place, offset, strided: as in `ir.statements.Array`.
        tree: owner of the memory of a sparse tree, as `NodeDescription.tree`.
        parts: of a split field, the objects of its parts in order.
        packing, words: of quantised numbers, where they are in the words, and the object of these.
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
    packing: Packing | None = None
    words: Any = None


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """A node of a tree as the compiler sees it; returned by the method `describe_cells()` of a node.

    Attributes:
        node: the node.
        tree: has the method `sparse_memory(node, role)`, which returns the memory of an auxiliary array at run time.
        fields: those placed in the node itself, in order.
    """

    node: Node
    tree: Any
    fields: tuple[Any, ...] = ()
