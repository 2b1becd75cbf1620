"""Arrays of generated programs: fields of several layouts and ndarrays, with their first contents."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass

from .scalars import NUMPY, edge, is_real, real

AXES = ("ti.i", "ti.j", "ti.k", "ti.l")


@dataclass(frozen=True)
class ArrayInfo:
    """An array. kind: "field" or "ndarray"; tensor: shape of an element; exact: whether its reals are exact.

    make: Python lines that create it; values: its first contents, None for zeros. member: of a struct, such as ".p".
    is_sparse: whether loops over it visit some cells only. node: the name of the sparse node that its cells are of.
    offset: its first index on each axis. clamps: whether indices out of range are those of the nearest element.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    tensor: tuple[int, ...] = ()
    exact: bool = True
    make: tuple[str, ...] = ()
    values: str | None = None
    member: str = ""
    is_sparse: bool = False
    node: str = ""
    offset: tuple[int, ...] = ()
    clamps: bool = False

    def at(self, index: str) -> str:
        """Return an element; the index counts from 0."""
        if self.offset:
            index = ", ".join(f"({part}) {shift:+d}" for part, shift in zip(parts_of(index), self.offset))
        return f"{self.name.removesuffix(self.member)}[{index}]{self.member}"


def parts_of(index: str) -> list[str]:
    """Return the expressions of an index of several axes."""
    nodes = ast.parse(f"_[{index},]", mode="eval").body.slice.elts  # type: ignore[attr-defined]
    return [ast.unparse(node) for node in nodes]


def contents(chance: random.Random, dtype: str, shape: tuple[int, ...]) -> str:
    """Return an expression for a NumPy array of random values."""
    count = 1
    for extent in shape:
        count *= extent
    numbers = [real(chance) if is_real(dtype) else edge(dtype, chance) for _ in range(count)]
    text = f"np.array([{', '.join(map(str, numbers))}], np.{NUMPY[dtype]})"
    return text if len(shape) == 1 else f"{text}.reshape({shape})"


def field_lines(chance: random.Random, name: str, dtype: str, shape: tuple[int, ...], element: str) -> tuple[str, ...]:
    """Return lines that make a dense field, of some layout. element: `ti.field(` or `ti.Vector.field(3, `."""
    extents = str(shape[0]) if len(shape) == 1 and chance.random() < 0.7 else str(shape)
    kind = chance.random()
    if kind < 0.5 or not shape:
        return (f"{name} = {element}ti.{dtype}, shape={extents})",)
    if kind < 0.6 and len(shape) == 2:
        return (f'{name} = {element}ti.{dtype}, shape={extents}, order="ji")',)
    if kind < 0.7 and element != "ti.field(":
        return (f"{name} = {element}ti.{dtype}, shape={extents}, layout=ti.Layout.SOA)",)
    return (f"{name} = {element}ti.{dtype})", f"{placed(chance, shape)}.place({name})")


def sparse_lines(
    chance: random.Random, name: str, dtype: str, shape: tuple[int, ...], element: str, has_lists: bool
) -> tuple[str, ...]:
    """Return lines that make a field in a sparse tree."""
    outer, inner = split_shape(chance, shape)
    axes = joined(AXES[: len(shape)])
    kind = chance.choice(("pointer", "pointer", "bitmasked"))
    form = chance.random()
    if has_lists and len(shape) == 1 and form < 0.25:
        tree = f"ti.root.dynamic({axes}, {shape[0]}, chunk_size={chance.choice((1, 4, 32))})"
    elif form < 0.5:
        tree = f"ti.root.{kind}({axes}, {shape})"
    elif form < 0.75:
        tree = f"ti.root.{kind}({axes}, {outer}).dense({axes}, {inner})"
    else:
        tree = f"ti.root.{kind}({axes}, {outer}).{chance.choice(('bitmasked', 'pointer'))}({axes}, {inner})"
    return (f"{name} = {element}ti.{dtype})", f"{tree}.place({name})")


def split_shape(chance: random.Random, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return two shapes whose product is a shape."""
    outer = tuple(chance.choice([n for n in range(1, extent + 1) if extent % n == 0]) for extent in shape)
    return outer, tuple(extent // first for extent, first in zip(shape, outer))


def placed(chance: random.Random, shape: tuple[int, ...]) -> str:
    """Return a dense tree of one or two levels whose extents multiply to a shape."""
    axes = AXES[: len(shape)]
    outer, inner = split_shape(chance, shape)
    kind = chance.random()
    if kind < 0.4:
        return f"ti.root.dense({joined(axes)}, {shape})"
    if kind < 0.7 and len(shape) > 1:
        order = chance.sample(range(len(shape)), len(shape))
        return "ti.root" + "".join(f".dense({axes[k]}, {shape[k]})" for k in order)
    return f"ti.root.dense({joined(axes)}, {outer}).dense({joined(axes)}, {inner})"


def joined(axes: tuple[str, ...]) -> str:
    """Return `ti.ij` for ti.i and ti.j."""
    return "ti." + "".join(axis[-1] for axis in axes)
