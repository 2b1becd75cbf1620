"""What a kernel's Python calls the nodes and fields of a tree: variables in sight of the kernel, and members of `self`.

In: the place of an array that the kernel uses. Out: the tree with names for its nodes and types for its places, from
which the text makes structs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..ir.snodes import Node, Tree, places_of
from ..ir.types import Type
from .scope import Frame


def see_tree(top: Node, frames: list[Frame], used: Mapping[int, str], named: Callable[[Type], Type]) -> Tree:
    """Return a tree as the kernel sees it. used: names of objects the kernel has read, by identity; they come first.

    named: gives structs their names in the kernel.
    """
    tree = Tree(top)
    for place in places_of(top):
        assert place.element is not None
        tree.elements[place] = named(place.element)
    for name, value in _in_sight(frames):
        describe = getattr(type(value), "describe_node", None)
        node = describe(value) if describe is not None else None
        if node is not None and (node not in tree.names or id(value) in used):
            tree.names[node] = used.get(id(value), name)
    return tree


def _in_sight(frames: list[Frame]) -> Iterator[tuple[str, Any]]:
    """Yield the names that the functions under construction see, nearest first, with their values."""
    seen: set[int] = set()
    for frame in reversed(frames):
        for scope in reversed(frame.scopes):
            for name, local in scope.items():
                yield name, local.value
                yield from _members(local.value)
        yield from frame.captured.items()
        module = frame.definition.function.__globals__
        if id(module) not in seen:
            seen.add(id(module))
            yield from list(module.items())


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members of an object that a method's `self` is."""
    if hasattr(type(value), "_data_oriented"):
        yield from vars(value).items()
