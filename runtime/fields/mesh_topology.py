"""Which elements of a mesh lead to which: computed from a plain array of cells, or read from Taichi's patches.

In: cells as rows of numbers of vertices, or the data of a file of Taichi's patcher. Out: `Topology`, NumPy arrays with
numbers of the whole mesh. An order is a number of axes: 0 is a vertex, 1 an edge, 2 a face, 3 a cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.lang.meshes import INITIALS

Array = np.ndarray[Any, Any]
Orders = tuple[int, int]
"""From which order to which."""

CORNERS = {2: 1, 3: 2, 4: 3}
"""The order of elements with so many vertices."""


@dataclass(frozen=True)
class Relation:
    """To which elements each element leads.

    Attributes:
        neighbors: (n, count), or (m,) if elements have different numbers of neighbours.
        begins: (n + 1,) then; None otherwise.
    """

    neighbors: Array
    begins: Array | None = None


@dataclass
class Topology:
    """The elements of a mesh.

    Attributes:
        numbers: of the elements, by order.
        relations: from an order to an order.
        patches: (n,) number of the patch of each element, by order; empty if there is one patch.
        num_patches: of patches.
    """

    numbers: dict[int, int]
    relations: dict[Orders, Relation] = field(default_factory=dict)
    patches: dict[int, Array] = field(default_factory=dict)
    num_patches: int = 1


def orders_of(name: str) -> Orders:
    """Return the orders of a relation's name: "FV" is (2, 0). Raises: TaichiRuntimeError for another name."""
    if len(name) != 2 or not set(name.upper()) <= set(INITIALS):
        message = f"`{name}` names no relation of a mesh"
        raise TaichiRuntimeError(message, "write two of the letters V, E, F, C: 'FV' leads from a face to its vertices")
    return INITIALS.index(name[0].upper()), INITIALS.index(name[1].upper())


# --- from cells -----------------------------------------------------------------------------------------------------


def from_cells(num_verts: int, cells: Any, relations: Iterable[str] | None = None) -> Topology:
    """Return the topology of edges, triangles or tetrahedra, given by the numbers of their vertices.

    relations: names such as "FV"; None for all. Raises: TaichiRuntimeError for arrays that are no mesh.
    """
    rows = _checked(num_verts, cells)
    top = CORNERS[rows.shape[1]]
    corners = {order: _elements(rows, order) for order in range(1, top)}
    corners[top] = rows
    corners[0] = np.arange(num_verts)[:, None]
    wanted = [(a, b) for a in range(top + 1) for b in range(top + 1)]
    if relations is not None:
        wanted = [orders_of(name) for name in relations]
    made = Topology({order: len(corners[order]) for order in range(top + 1)})
    for pair in wanted:
        if max(pair) > top:
            letters = INITIALS[pair[0]] + INITIALS[pair[1]]
            raise TaichiRuntimeError(
                f"a mesh of elements with {top + 1} vertices has no relation `{letters}`",
                f"its elements are {', '.join(INITIALS[: top + 1])}",
            )
        made.relations[pair] = _relation(corners, *pair)
    return made


def _checked(num_verts: int, cells: Any) -> Array:
    rows = np.asarray(cells)
    if rows.ndim != 2 or rows.shape[1] not in CORNERS or rows.dtype.kind not in "iu" or not len(rows):
        message = f"cells of shape {rows.shape} and type {rows.dtype} are no mesh"
        raise TaichiRuntimeError(message, "give an array of integers: 2, 3 or 4 numbers of vertices in each row")
    if rows.min() < 0 or rows.max() >= num_verts:
        message = f"cells name the vertices {rows.min()} to {rows.max()}, and there are {num_verts} vertices"
        raise TaichiRuntimeError(message, "count vertices from 0")
    ordered = np.sort(rows, axis=1)
    twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(twice):
        raise TaichiRuntimeError(f"cell {twice[0]} has a vertex twice: {rows[twice[0]].tolist()}", "leave it out")
    return rows.astype(np.int64)


def _parts(rows: Array, order: int) -> Array:
    """Return the parts of an order of each element, (n, parts, order + 1)."""
    choices = list(combinations(range(rows.shape[1]), order + 1))
    if order == 1 and rows.shape[1] == 3:
        choices = [(0, 1), (1, 2), (2, 0)]  # around the triangle
    return rows[:, choices]


def _elements(rows: Array, order: int) -> Array:
    """Return the distinct parts of an order, each with the vertices in the sequence of its first appearance."""
    parts = _parts(rows, order).reshape(-1, order + 1)
    _, first = np.unique(np.sort(parts, axis=1), axis=0, return_index=True)
    return parts[np.sort(first)]


def _relation(corners: Mapping[int, Array], from_order: int, to_order: int) -> Relation:
    if from_order > to_order:
        return Relation(_downwards(corners, from_order, to_order))
    if from_order < to_order:
        return _inverse(_downwards(corners, to_order, from_order), len(corners[from_order]))
    return _adjacent(corners, from_order)


def _downwards(corners: Mapping[int, Array], from_order: int, to_order: int) -> Array:
    """Return the numbers of the parts of an order of each element, (n, parts)."""
    if to_order == 0:
        return corners[from_order]
    parts = np.sort(_parts(corners[from_order], to_order), axis=2)
    known = np.sort(corners[to_order], axis=1)
    rows = np.concatenate([known, parts.reshape(-1, to_order + 1)])
    _, same = np.unique(rows, axis=0, return_inverse=True)
    number = np.empty(len(known), np.int64)
    number[same.reshape(-1)[: len(known)]] = np.arange(len(known))
    return number[same.reshape(-1)[len(known) :]].reshape(len(parts), comb(from_order + 1, to_order + 1))


def _inverse(downwards: Array, number: int) -> Relation:
    """Return the elements of which each part is a part."""
    at = np.argsort(downwards.reshape(-1), kind="stable")
    return Relation(at // downwards.shape[1], _begins(downwards.reshape(-1), number))


def _adjacent(corners: Mapping[int, Array], order: int) -> Relation:
    """Return the elements that share a part of the next lower order; of vertices, those that share an edge."""
    if order == 0:
        here, there = corners[1].T
        pairs = np.concatenate([np.stack([here, there], 1), np.stack([there, here], 1)])
    else:
        below = order - 1
        shared = _inverse(_downwards(corners, order, below), len(corners[below]))
        assert shared.begins is not None
        counts = np.diff(shared.begins)
        part = np.repeat(np.arange(len(counts)), counts)
        repeats = counts[part]
        here = np.repeat(shared.neighbors, repeats)
        within = np.arange(len(here)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        there = shared.neighbors[np.repeat(shared.begins[part], repeats) + within]
        pairs = np.stack([here, there], 1)[here != there]
    pairs = np.unique(pairs, axis=0)
    return Relation(pairs[:, 1], _begins(pairs[:, 0], len(corners[order])))


def _begins(owners: Array, number: int) -> Array:
    """Return where the neighbours of each element begin, from the element of each neighbour."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=number))])


# --- from patches ---------------------------------------------------------------------------------------------------


def from_patches(data: Mapping[str, Any]) -> Topology:
    """Return the topology in a file of Taichi's patcher.

    A patch has its elements, first those that it owns, then those of its neighbours, by numbers of its own;
    `l2g_mapping` makes numbers of the whole mesh of these. Relations are complete for owned elements.
    Raises: TaichiRuntimeError if the data lack something.
    """
    try:
        return _from_patches(data)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        message = f"this is no mesh in patches: {type(error).__name__}: {error}"
        raise TaichiRuntimeError(message, "give the data of Taichi's patcher, a dict or a file of JSON") from None


def _from_patches(data: Mapping[str, Any]) -> Topology:
    elements = {element["order"]: element for element in data["elements"]}
    made = Topology({order: int(element["num"]) for order, element in elements.items()})
    made.num_patches = int(data["num_patches"])
    owned = {order: np.asarray(element["owned_offsets"], np.int64) for order, element in elements.items()}
    total = {order: np.asarray(element["total_offsets"], np.int64) for order, element in elements.items()}
    numbers = {order: np.asarray(element["l2g_mapping"], np.int64) for order, element in elements.items()}
    for order in elements:
        patch = np.repeat(np.arange(made.num_patches), np.diff(owned[order]))
        if made.num_patches > 1:
            made.patches[order] = np.empty(made.numbers[order], np.int64)
            made.patches[order][numbers[order][_owned_at(owned[order], total[order])]] = patch
    for relation in data["relations"]:
        pair = relation["from_order"], relation["to_order"]
        read = _read_fixed if pair[0] > pair[1] else _read_dynamic
        made.relations[pair] = read(relation, owned, total, numbers)
    return made


def _owned_at(owned: Array, total: Array) -> Array:
    """Return where the owned elements of all patches are among all elements of all patches."""
    counts = np.diff(owned)
    return np.repeat(total[:-1] - owned[:-1], counts) + np.arange(owned[-1])


def _read_fixed(relation: Any, owned: Any, total: Any, numbers: Any) -> Relation:
    order, to_order = relation["from_order"], relation["to_order"]
    count = comb(order + 1, to_order + 1)
    values = np.asarray(relation["value"], np.int64).reshape(-1, count)
    at = _owned_at(owned[order], total[order])
    start = np.repeat(total[to_order][:-1], np.diff(owned[order]))
    neighbors = np.empty((len(at), count), np.int64)
    neighbors[numbers[order][at]] = numbers[to_order][start[:, None] + values[at]]
    return Relation(neighbors)


def _read_dynamic(relation: Any, owned: Any, total: Any, numbers: Any) -> Relation:
    order, to_order = relation["from_order"], relation["to_order"]
    values = np.asarray(relation["value"], np.int64)
    offsets, patch_offsets = np.asarray(relation["offset"], np.int64), np.asarray(relation["patch_offset"], np.int64)
    patch = np.repeat(np.arange(len(owned[order]) - 1), np.diff(owned[order]))
    first = np.arange(len(patch)) + patch  # a patch has one offset more than owned elements
    begins, counts = patch_offsets[patch] + offsets[first], offsets[first + 1] - offsets[first]
    element = numbers[order][_owned_at(owned[order], total[order])]
    sequence = np.argsort(element)
    lengths = counts[sequence]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(begins[sequence] - starts[:-1], lengths) + np.arange(starts[-1])
    base = np.repeat(total[to_order][patch[sequence]], lengths)
    return Relation(numbers[to_order][base + values[at]], starts)
