"""What a kernel's Python calls the nodes and fields of a tree: variables in sight of the kernel, and members of `self`.

In: the place of an array that the kernel uses. Out: the tree with names for its nodes and types for its places, from
which the text makes structs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...ir.snodes import Node, Tree, places_of, top_of
from ...ir.statements import Array
from ...ir.types import Type
from ...lang.describe import identify_step, name_step, steps_of
from .scope import Frame


def see_tree(top: Node, frames: list[Frame], used: Mapping[int, str], named: Callable[[Type], Type]) -> Tree:
    """Return a tree as the kernel sees it. used: names of objects the kernel has read, by identity; they come first.

    named: gives structs their names in the kernel.
    """
    tree = Tree(top)
    for place in places_of(top):
        assert place.element is not None
        tree.elements[place] = named(place.element)
        if place.name:
            tree.names[place] = place.name
    own: set[Node] = set()
    for seen, whole in _in_sight(frames):
        for name, value in _with_parts(seen, whole):
            describe = getattr(type(value), "describe_node", None)
            node = describe(value) if describe is not None else None
            if node is not None and (node not in own or id(value) in used):
                own.add(node)
                tree.names[node] = used.get(id(value), name)
    return tree


def _with_parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield an object under its name, and its parts, if it is a field whose parts lie apart, under names made of it."""
    yield name, value
    if hasattr(type(value), "describe_parts"):
        for step, part in value.describe_parts():
            yield from _with_parts(identify_step(name, value.element, step), part)


def name_parts(whole: Array, trees: Mapping[Node, Tree]) -> None:
    """Let a tree that consists of the parts of one field bear its name, and its members those of the parts."""
    places = [part.place for part in whole.parts]
    top = None if places[0] is None else top_of(places[0])
    if top is None or places != list(places_of(top)):
        return
    names = trees[top].names
    names.setdefault(top, whole.name)
    for place, step in zip(places, steps_of(whole.element), strict=True):
        short = name_step("", whole.element, step).removeprefix(".")
        if place is not None and short.isidentifier():
            names[place] = short


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
