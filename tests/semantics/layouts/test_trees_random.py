"""200 random trees: a pattern written from Python, changed in kernels and read back equals NumPy; sizes equal Taichi's.

`tests/support/kernels/random_trees.py` says what the trees are, `tests/data/record_trees.py` what Taichi 1.7.4 does with them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from random_trees import COUNT, Dense, Place, build, places_in, random_trees

import shadesmith as ti
from shadesmith.transpiler.ir.snodes import Node, index_components_of, position_of, start_offset

RECORDED = Path(__file__).parents[2] / "data" / "trees.json"
TOGETHER = 10
"""Trees in one kernel."""
DTYPES = {"u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16, "u32": np.uint32, "i32": np.int32,
          "i64": np.int64, "f32": np.float32, "f64": np.float64}  # fmt: skip


def _indices(place: Place) -> list[np.ndarray]:
    """Return the index along each axis of every element, with an axis for each of a vector's."""
    grid = np.indices(place.shape, np.int64)
    ones = (1,) * len(place.tensor)
    return [axis.reshape(place.shape + ones) + begin for axis, begin in zip(grid, place.begins, strict=True)]


def _sum(place: Place) -> np.ndarray:
    return sum((2 * axis + 3) * index for axis, index in enumerate(_indices(place)))


def _pattern(place: Place) -> np.ndarray:
    shape = place.shape + place.tensor
    return (np.arange(np.prod(shape)) * 7 % 101 - 50).reshape(shape).astype(DTYPES[place.dtype])


def _changed(values: np.ndarray, place: Place, partner: np.ndarray | None) -> np.ndarray:
    """Return what the kernel makes of a field."""
    if place.dtype.startswith("f"):
        result = values * 2 + _sum(place)
    else:
        result = values.astype(np.int64) * 2 + _sum(place)
    if partner is not None:
        result = result + partner.astype(np.int64).astype(np.int32)
    return result.astype(values.dtype)


def _partner(place: Place, beside: list[Dense | Place]) -> Place | None:
    """Return a field of numbers in the same cells."""
    found = [p for p in beside if isinstance(p, Place) and p is not place and not p.tensor]
    return found[0] if found else None


def _cells(nodes: list[Dense | Place]) -> list[tuple[Place, Place | None]]:
    found: list[tuple[Place, Place | None]] = []
    for node in nodes:
        found += [(node, _partner(node, nodes))] if isinstance(node, Place) else _cells(node.children)
    return found


def _loops(tops: list[Dense]) -> dict[tuple[int, ...], list[tuple[Place, Place | None]]]:
    """Return the fields of trees by their shape: those of one shape share a loop."""
    found: dict[tuple[int, ...], list[tuple[Place, Place | None]]] = {}
    for place, partner in _cells(tops):
        found.setdefault(place.shape, []).append((place, partner))
    return found


def _loop(fields: list[tuple[Place, Place | None]], over_field: bool) -> str:
    """Return a loop over the cells of the first field that changes them all."""
    leader = fields[0][0]
    names = "ijkl"[: len(leader.shape)]
    bounds = ", ".join(f"({begin}, {begin + n})" for begin, n in zip(leader.begins, leader.shape, strict=True))
    text = f"    for {', '.join(names)} in {leader.name if over_field else f'ti.ndrange({bounds})'}:\n"
    for place, partner in fields:
        total = " + ".join(
            f"{2 * axis + 3} * ({name} + {own - first})"
            for axis, (name, first, own) in enumerate(zip(names, leader.begins, place.begins, strict=True))
        )
        at = _moved(names, leader, place)
        text += f"        {at} = ti.cast({at} * 2 + ({total}), ti.{place.dtype})\n"
        if partner is not None:
            read = f"ti.cast({_moved(names, leader, partner)}, ti.i32)"
            text += f"        {at} += ti.cast({read}, ti.{place.dtype})\n"
    return text


def _moved(names: str, leader: Place, place: Place) -> str:
    """Return the text of an element of `place` where the loop is over the indices of `leader`."""
    moves = [own - first for first, own in zip(leader.begins, place.begins, strict=True)]
    return f"{place.name}[{', '.join(f'{name} + {move}' if move else name for name, move in zip(names, moves))}]"


@pytest.mark.sampled(16, each="passes")
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
@pytest.mark.parametrize("passes", ["", "+lower_access"])
def test_patterns_come_back_as_numpy_changes_them(
    target: str, define_kernel: Callable[..., Any], first: int, passes: str
) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, passes=passes)
    trees = [random_trees(number) for number in range(first, first + TOGETHER)]
    fields: dict[str, Any] = {}
    for tops in trees:
        fields.update(build(ti, tops)[1])
    expected: dict[str, np.ndarray] = {}
    choice = random.Random(first)
    for place in places_in([top for tops in trees for top in tops]):
        expected[place.name] = _pattern(place)
        fields[place.name].from_numpy(expected[place.name])
        place_in_shape = tuple(choice.randrange(extent) for extent in place.shape)
        expected[place.name][place_in_shape] = np.asarray(11, expected[place.name].dtype)
        value = 11 if not place.tensor else np.full(place.tensor, 11, expected[place.name].dtype)
        fields[place.name][tuple(np.add(place_in_shape, place.begins))] = value
    loops = [fields_of for tops in trees for fields_of in _loops(tops).values()]
    text = "".join(_loop(fields_of, number % 3 > 0) for number, fields_of in enumerate(loops))
    transform = define_kernel(f"def transform():\n{text}", **fields)
    transform()
    for place, partner in [both for fields_of in loops for both in fields_of]:
        beside = None if partner is None else expected[partner.name].reshape(partner.shape + (1,) * len(place.tensor))
        expected[place.name] = _changed(expected[place.name], place, beside)
    for name, values in expected.items():
        np.testing.assert_array_equal(fields[name].to_numpy(), values, err_msg=name)
    for place in places_in([top for tops in trees for top in tops]):
        last = tuple(extent - 1 for extent in place.shape)
        found = np.asarray(fields[place.name][tuple(np.add(last, place.begins))])
        np.testing.assert_array_equal(found, expected[place.name][last])


def _addresses(node: Node, shape: tuple[int, ...]) -> np.ndarray:
    """Return where each element begins in the memory of its tree."""
    digits = index_components_of(node)
    found = np.full(shape, start_offset(node), np.int64)
    for index in np.ndindex(shape):
        found[index] += sum(d.stride_bytes * p for d, p in zip(digits, position_of(digits, index), strict=True))
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_cells_lie_where_taichi_puts_them(first: int) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    recorded = json.loads(RECORDED.read_text())
    for number in range(first, first + TOGETHER):
        tops = random_trees(number)
        _, fields, nodes = build(ti, tops)
        sizes, addresses = recorded[number]
        assert [[node._cell_size_bytes, node._offset_bytes_in_parent_cell] for node in nodes] == sizes, number
        for top in tops:
            begin = None
            for place in places_in([top]):
                at = _addresses(fields[place.name].snode.describe_node(), place.shape)
                begin = at.flat[0] if begin is None else begin
                at -= begin
                assert [int(at.flat[0]), crc32(at)] == addresses[place.name], place
    ti.reset()
