"""Random operations on random sparse trees, and the same on a model of sets and NumPy arrays.

`tests/semantics/sparse/test_random.py` runs some of them.

`python tests/support/kernels/random_sparse.py FIRST COUNT [TARGET]` runs more seeds than the tests do.
"""

from __future__ import annotations

import itertools
import random
import sys
from math import prod
from typing import Any

import numpy as np

import shadesmith as ti

KINDS = ("dense", "pointer", "pointer", "bitmasked")
AXES = {1: [ti.i, ti.j], 2: [ti.ij, ti.jk, ti.ik], 3: [ti.ijk], 4: [ti.ijkl]}
COUNTS = [1, 1, 1, 1, 2, 2, 3, 4]
"""How many axes a node has."""
DTYPES = {"i32": np.int32, "u8": np.uint8, "i64": np.int64, "f64": np.float64, "u16": np.uint16, "f32": np.float32}


class Level:
    """A sparse node: how it is queried, and which of its cells are active as the model has it."""

    def __init__(self, node: Any, kind: str, axes: list[int], own: int = 0) -> None:
        self.node, self.kind, self.axes = node, kind, axes
        self.active: set[tuple[int, ...]] = set()
        self.own = own

    @property
    def shape_deactivated(self) -> tuple[int, ...]:
        """What the indices of `ti.deactivate` count: lists of a dynamic node."""
        return self.node.parent().shape if self.kind == "dynamic" else self.node.shape

    def with_all_before(self, cell: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return a cell, of a list with those before it: a list has no holes."""
        if self.kind != "dynamic":
            return [cell]
        place = self.axes.index(self.own)
        return [(*cell[:place], item, *cell[place + 1 :]) for item in range(cell[place] + 1)]

    def items(self, of_list: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return all cells, active or not, of a list."""
        place = self.axes.index(self.own)
        return [(*of_list[:place], k, *of_list[place:]) for k in range(self.node.node.extents[0])]

    def scaled(self, shape: tuple[int, ...], axes: list[int], index: tuple[int, ...]) -> tuple[int, ...]:
        """Return the cell of this node that contains the element at an index of a field of `shape`."""
        found = []
        for axis, extent in zip(self.axes, self.node.shape, strict=True):
            place = axes.index(axis)
            found.append(index[place] // (shape[place] // extent))
        return tuple(found)


class Case:
    """One tree with its model, driven by one seed. has_small: whether a target has atomics of u8 and u16."""

    def __init__(self, seed: int, has_small: bool = True) -> None:
        self.random = random.Random(seed)
        self.levels: list[Level] = []
        node, axes = ti.root, []
        text = []
        has_list = self.random.random() < 0.3
        depth = self.random.randint(0 if has_list else 1, 4)
        for level in range(depth + has_list):
            kind = "dynamic" if level == depth else self.random.choice(KINDS)
            if level == 0 and kind == "dense" and self.random.random() < 0.5:
                kind = self.random.choice(KINDS[1:])
            chosen = self.random.choice(AXES[self.random.choice(COUNTS)])
            if kind == "dynamic":
                free = [axis for axis in (ti.i, ti.j, ti.k, ti.l, ti.axes(4)) if axis[0].number not in axes]
                chosen = self.random.choice(free[:2])
            most = 2 if len(chosen) > 3 or prod(node.shape) > 30 else 5
            extents = [self.random.randint(1, most) for _ in chosen]
            if kind == "dynamic":
                extents = [self.random.choice([1, 3, 7, 40]) if prod(node.shape) <= 30 else 3]
                chunk = self.random.choice([1, 2, 5, 64])
                node = node.dynamic(chosen, extents[0], chunk_size=chunk)
            else:
                node = getattr(node, kind)(chosen, extents)
            axes = sorted({*axes, *(axis.number for axis in chosen)})
            text.append(f"{kind}({chosen}, {extents})")
            if kind != "dense":
                self.levels.append(Level(node, kind, axes, chosen[0].number))
        self.dtype = self.random.choice([name for name in DTYPES if has_small or DTYPES[name](0).itemsize >= 4])
        self.node, self.text = node, ".".join(text)
        self.axes = axes
        self.x, self.y = ti.field(getattr(ti, self.dtype)), ti.Vector.field(2, ti.f32)
        self.offset = tuple(self.random.randint(-3, 3) for _ in node.shape) if self.random.random() < 0.3 else None
        node.place(self.x, self.y, offset=self.offset)
        self.shape = node.shape
        self.begin = self.offset or (0,) * len(self.shape)
        self.values = np.zeros(self.shape, DTYPES[self.dtype])
        self.pairs = np.zeros((*self.shape, 2), np.float32)
        self.kernels = Kernels(self.x, self.y, len(self.shape))

    # --- the model

    def touch(self, index: tuple[int, ...], upto: Level | None = None) -> None:
        """Activate the cells that contain an element, or a cell of `upto`."""
        for level in self.levels:
            shape, axes = (self.shape, self.axes) if upto is None else (upto.node.shape, upto.axes)
            level.active.update(level.with_all_before(level.scaled(shape, axes, index)))
            if level is upto:
                return

    def is_active(self, index: tuple[int, ...]) -> bool:
        last = self.levels[-1] if self.levels else None
        return last is None or last.scaled(self.shape, self.axes, index) in last.active

    def drop(self, level: Level, cells: list[tuple[int, ...]]) -> None:
        """Deactivate cells with all below them."""
        gone = set(cells)
        level.active -= gone
        below = self.levels[self.levels.index(level) + 1 :]
        for inner in below:
            inner.active = {c for c in inner.active if level.scaled(inner.node.shape, inner.axes, c) not in gone}
        for index in itertools.product(*map(range, self.shape)):
            if level.scaled(self.shape, self.axes, index) in gone:
                self.values[index], self.pairs[index] = 0, 0

    # --- what is done

    def indices(self, shape: tuple[int, ...], unique: bool = True) -> list[tuple[int, ...]]:
        count = self.random.randint(1, 6)
        found = [tuple(self.random.randrange(n) for n in shape) for _ in range(count)]
        return list(dict.fromkeys(found)) if unique else found

    def moved(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(i + b for i, b in zip(index, self.begin, strict=True))

    def run(self, steps: int) -> None:
        for step in range(steps):
            name = self.random.choice([name for name in dir(self) if name.startswith("do_")])
            getattr(self, name)()
            self.compare(f"{self.text} offset {self.offset}, step {step}: {name}")

    def do_store(self) -> None:
        found = self.indices(self.shape)
        values = [self.random.randint(1, 99) for _ in found]
        self.kernels.store(table([self.moved(i) for i in found]), np.array(values, np.int32))
        for index, value in zip(found, values, strict=True):
            self.touch(index)
            self.values[index] = value
            self.pairs[index][1] += value

    def do_add(self) -> None:
        found = self.indices(self.shape, unique=False)
        self.kernels.add(table([self.moved(i) for i in found]))
        for index in found:
            self.touch(index)
            self.values[index] += self.values.dtype.type(1)

    def do_store_from_python(self) -> None:
        index = self.indices(self.shape)[0]
        self.x[self.moved(index)] = 7
        self.y[self.moved(index)] = [1, 2]
        self.touch(index)
        self.values[index], self.pairs[index] = 7, (1, 2)

    def do_loop(self) -> None:
        self.kernels.grow()
        for index in itertools.product(*map(range, self.shape)):
            if self.is_active(index):
                self.values[index] += self.values.dtype.type(2)
                self.pairs[index][0] += self.values[index]

    def do_activate(self) -> None:
        levels = [level for level in self.levels if level.kind != "dynamic"]
        if levels:
            level = self.random.choice(levels)
            cells = self.indices(level.node.shape)
            self.kernels.activate(level.node, table(cells), len(level.node.shape))
            for cell in cells:
                self.touch(cell, level)

    def do_deactivate(self) -> None:
        if self.levels:
            level = self.random.choice(self.levels)
            cells = self.indices(level.shape_deactivated)
            self.kernels.deactivate(level.node, table(cells), len(level.shape_deactivated))
            for cell in cells:
                self.drop(level, level.items(cell) if level.kind == "dynamic" else [cell])

    def do_append(self) -> None:
        level = self.levels[-1] if self.levels else None
        if level is None or level.kind != "dynamic":
            return
        found = []
        for of_list in dict.fromkeys(self.indices(level.shape_deactivated)):
            free = [item for item in level.items(of_list) if item not in level.active]
            if free:
                found.append((of_list, free[0]))
        if found:
            self.kernels.append(level.node, table([of_list for of_list, _ in found]), len(level.shape_deactivated))
        for _, item in found:
            self.touch(item)
            self.values[item], self.pairs[item] = 5, (6, 7)

    def do_deactivate_all(self) -> None:
        if self.levels and self.random.random() < 0.5:
            level = self.random.choice(self.levels)
            level.node.deactivate_all()
            self.drop(level, list(level.active))

    def do_fill(self) -> None:
        self.x.fill(3)
        for index in itertools.product(*map(range, self.shape)):
            if self.is_active(index):
                self.values[index] = 3

    def do_from_numpy(self) -> None:
        given = np.arange(self.values.size).astype(self.values.dtype).reshape(self.shape)
        self.x.from_numpy(given)
        for index in itertools.product(*map(range, self.shape)):
            if self.is_active(index):
                self.values[index] = given[index]

    def compare(self, where: str) -> None:
        np.testing.assert_array_equal(self.x.to_numpy(), self.values, where)
        np.testing.assert_array_equal(self.y.to_numpy(), self.pairs, where)
        index = tuple(self.random.randrange(n) for n in self.shape)
        assert self.x[self.moved(index)] == self.values[index], where
        visited = self.kernels.visited(self.x, self.shape)
        active = [index for index in itertools.product(*map(range, self.shape)) if self.is_active(index)]
        assert visited == [self.moved(index) for index in active], where
        for level in self.levels:
            cells = self.kernels.visited(level.node, level.node.shape)
            assert cells == sorted(level.active), f"{where}, {level.kind}"
            if level.kind == "dynamic":
                of_list = self.indices(level.shape_deactivated)[0]
                length = self.kernels.length(level.node, table([of_list]), len(level.shape_deactivated))
                assert length == len(level.active.intersection(level.items(of_list))), f"{where}, {of_list}"
                continue
            for cell in self.indices(level.node.shape):
                active_at = self.kernels.is_active(level.node, table([cell]), len(level.node.shape))
                assert active_at == (cell in level.active), f"{where}, {level.kind} {cell}"


def table(indices: list[tuple[int, ...]]) -> np.ndarray:
    """Return indices as an array of five columns."""
    return np.array([[*index, 0, 0, 0, 0, 0][:5] for index in indices], np.int32).reshape(-1, 5)


class Kernels:
    """Kernels on the fields of one tree."""

    def __init__(self, x: Any, y: Any, axes: int) -> None:
        count, found = ti.field(ti.i32, shape=()), ti.field(ti.i32, shape=(1 << 15, 5))

        @ti.kernel
        def store(at: ti.types.ndarray(dtype=ti.i32, ndim=2), values: ti.types.ndarray(dtype=ti.i32, ndim=1)):
            for k in values:
                I = ti.Vector([at[k, axis] for axis in ti.static(range(axes))])
                x[I] = ti.cast(values[k], x.dtype)
                y[I].y += ti.cast(values[k], ti.f32)

        @ti.kernel
        def add(at: ti.types.ndarray(dtype=ti.i32, ndim=2)):
            for k in range(at.shape[0]):
                x[ti.Vector([at[k, axis] for axis in ti.static(range(axes))])] += 1

        @ti.kernel
        def grow():
            for I in ti.grouped(x):
                x[I] += 2
                y[I].x += ti.cast(x[I], ti.f32)

        @ti.kernel
        def activate(node: ti.template(), at: ti.types.ndarray(dtype=ti.i32, ndim=2), n: ti.template()):
            for k in range(at.shape[0]):
                ti.activate(node, ti.Vector([at[k, axis] for axis in ti.static(range(n))]))

        @ti.kernel
        def deactivate(node: ti.template(), at: ti.types.ndarray(dtype=ti.i32, ndim=2), n: ti.template()):
            for k in range(at.shape[0]):
                ti.deactivate(node, [at[k, axis] for axis in ti.static(range(n))])

        @ti.kernel
        def active_at(node: ti.template(), at: ti.types.ndarray(dtype=ti.i32, ndim=2), n: ti.template()) -> ti.i32:
            return ti.is_active(node, ti.Vector([at[0, axis] for axis in ti.static(range(n))]))

        @ti.kernel
        def append(node: ti.template(), at: ti.types.ndarray(dtype=ti.i32, ndim=2), n: ti.template()):
            for k in range(at.shape[0]):
                ti.append(node, [at[k, axis] for axis in ti.static(range(n))], [5, [6, 7]])

        @ti.kernel
        def length(node: ti.template(), at: ti.types.ndarray(dtype=ti.i32, ndim=2), n: ti.template()) -> ti.i32:
            return ti.length(node, [at[0, axis] for axis in ti.static(range(n))])

        @ti.kernel
        def visit(cells: ti.template(), n: ti.template()):
            count[None] = 0
            for I in ti.grouped(cells):
                k = ti.atomic_add(count[None], 1)
                for axis in ti.static(range(n)):
                    found[k, axis] = I[axis]

        self.store, self.add, self.grow = store, add, grow
        self.activate, self.deactivate, self.is_active = activate, deactivate, active_at
        self.append, self.length = append, length
        self.visit, self.count, self.found = visit, count, found

    def visited(self, cells: Any, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the indices of a loop, sorted."""
        self.visit(cells, len(shape))
        return sorted(map(tuple, self.found.to_numpy()[: self.count[None], : len(shape)].tolist()))


def main(first: int, count: int, target: str) -> None:
    for seed in range(first, first + count):
        ti.init(arch=getattr(ti, target), debug=seed % 3 == 0, log_level=ti.ERROR)
        case = Case(seed, target != "vulkan")
        print(seed, case.text, flush=True)
        case.run(12)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "python")
