"""Random SNode trees of dense nodes, as data: for shadesmith, for Taichi and for NumPy alike.

In: a number. Out: the nodes below the root of a `FieldsBuilder`: one or two trees (structures of arrays have several)
to depth 4, over 1 to 4 axes, with fields of all widths, vectors and offsets. `build` makes the fields of it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import prod
from typing import Any

COUNT = 200
DTYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "f32", "f64")
TENSORS = ((), (), (), (2,), (3,), (4,), (2, 2))
EXTENTS = (1, 2, 2, 3, 3, 4, 5, 7)
MAX_CELLS = 240
MAX_PLACES = 5


@dataclass
class Place:
    """A field. shape: of its index; offset: None or the first index along each axis."""

    name: str
    dtype: str
    tensor: tuple[int, ...]
    shape: tuple[int, ...]
    offset: tuple[int, ...] | None

    @property
    def begins(self) -> tuple[int, ...]:
        """The first index along each axis."""
        return self.offset or (0,) * len(self.shape)


@dataclass
class Dense:
    """A node with its children."""

    axes: tuple[int, ...]
    extents: tuple[int, ...]
    children: list[Dense | Place] = field(default_factory=list)


class _Maker:
    def __init__(self, number: int) -> None:
        self.random = random.Random(20_260 + number)
        self.number = number
        self.places = 0
        self.axes = sorted(self.random.sample(range(4), self.random.choice((1, 1, 2, 2, 2, 3, 3, 4))))

    def dense(self, depth: int, shape: dict[int, int]) -> Dense:
        choice = self.random
        axes = tuple(sorted(choice.sample(self.axes, choice.randint(1, min(2, len(self.axes))))))
        extents = []
        shape = dict(shape)
        for axis in axes:
            most = max(1, MAX_CELLS // prod(shape.values()))
            extents.append(choice.choice([extent for extent in EXTENTS if extent <= most]))
            shape[axis] = shape.get(axis, 1) * extents[-1]
        node = Dense(axes, tuple(extents))
        for _ in range(choice.choice((1, 1, 2, 3))):
            deeper = depth < 4 and choice.random() < 0.55
            if deeper:
                node.children.append(self.dense(depth + 1, shape))
            elif self.places < MAX_PLACES:
                node.children.append(self.place(shape))
        if not node.children:
            node.children.append(self.place(shape))
        return node

    def place(self, shape: dict[int, int]) -> Place:
        choice = self.random
        self.places += 1
        extents = tuple(shape[axis] for axis in sorted(shape))
        offset = tuple(choice.randint(-9, 9) for _ in extents) if choice.random() < 0.4 else None
        name = f"f{self.number}_{self.places}"
        return Place(name, choice.choice(DTYPES), choice.choice(TENSORS), extents, offset)


def random_trees(number: int) -> list[Dense]:
    """Return the tops of the trees with that number."""
    maker = _Maker(number)
    return [maker.dense(1, {}) for _ in range(maker.random.choice((1, 1, 2)))]


def places_in(nodes: list[Dense | Place]) -> list[Place]:
    """Return all fields at and below `nodes`, in order."""
    found: list[Place] = []
    for node in nodes:
        found += [node] if isinstance(node, Place) else places_in(node.children)
    return found


def build(ti: Any, tops: list[Dense]) -> tuple[Any, dict[str, Any], list[Any]]:
    """Return the builder, the fields by name, and the nodes (places too) in the order of a walk. ti: the module."""
    builder = ti.FieldsBuilder()
    fields: dict[str, Any] = {}
    nodes: list[Any] = []

    def add(parent: Any, node: Dense | Place) -> None:
        if isinstance(node, Dense):
            made = parent.dense(ti.axes(*node.axes), node.extents)
            nodes.append(made)
            for child in node.children:
                add(made, child)
            return
        dtype = getattr(ti, node.dtype)
        if not node.tensor:
            made = ti.field(dtype, name=node.name)
        elif len(node.tensor) == 1:
            made = ti.Vector.field(node.tensor[0], dtype, name=node.name)
        else:
            made = ti.Matrix.field(*node.tensor, dtype, name=node.name)
        parent.place(made, offset=node.offset)
        fields[node.name] = made
        nodes.append(made.snode)

    for top in tops:
        add(builder, top)
    return builder, fields, nodes
