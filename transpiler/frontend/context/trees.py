"""Names of the nodes and fields of a tree in a kernel: variables that the kernel sees, and members of `self`.

Input: the place node of an array that the kernel uses. Output: the tree with names for its nodes and types for its
places, from which the structs of the emitted source are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...ir.snodes import Node, Tree, places_of, top_of
from ...ir.statements import Array
from ...ir.types import Type
from ...lang.describe import identify_step, name_step, steps_of
from .scope import Frame


def describe_tree(top: Node, frames: Sequence[Frame], used: Mapping[int, str], named: Callable[[Type], Type]) -> Tree:
    """Return the kernel's view of a tree. used: names of objects that the kernel read, by identity; preferred.

    named: returns a type with the kernel's struct names.
    """
    tree = Tree(top)
    for leaf in places_of(top):
        assert leaf.element is not None
        tree.elements[leaf] = named(leaf.element)
        if leaf.name:
            tree.names[leaf] = leaf.name
    own: set[Node] = set()
    for seen, whole in in_sight(frames):
        for name, value in with_parts(seen, whole):
            describe = getattr(type(value), "describe_node", None)
            node = describe(value) if describe is not None else None
            if node is not None and (node not in own or id(value) in used):
                own.add(node)
                tree.names[node] = used.get(id(value), name)
    return tree


def with_parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield an object with its name, and the parts of a split field with names derived from it."""
    yield name, value
    if hasattr(type(value), "describe_parts"):
        for step, part in value.describe_parts():
            yield from with_parts(identify_step(name, value.element, step), part)


def name_parts(whole: Array, trees: Mapping[Node, Tree]) -> None:
    """Name a tree that consists of the parts of one field after it, and its members after the parts."""
    leaves = [part.place for part in whole.parts]
    top = None if leaves[0] is None else top_of(leaves[0])
    if top is None or leaves != list(places_of(top)):
        return
    names = trees[top].names
    names.setdefault(top, whole.name)
    for leaf, step in zip(leaves, steps_of(whole.element), strict=True):
        short = name_step("", whole.element, step).removeprefix(".")
        if leaf is not None and short.isidentifier():
            names[leaf] = short


def in_sight(frames: Sequence[Frame]) -> Iterator[tuple[str, Any]]:
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
    """Yield the members of the `self` of a method."""
    if hasattr(type(value), "_data_oriented"):
        yield from vars(value).items()
