"""Kernels of sparse trees, in addition to those of `corpus.py`: makers of (kernel, arguments) of every form of tree and statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import shadesmith as ti

Maker = Callable[[], tuple[Any, tuple[Any, ...]]]
MAKERS: list[Maker] = []


def entry(maker: Maker) -> Maker:
    MAKERS.append(maker)
    return maker


@entry
def pointer_blocks() -> tuple[Any, tuple[Any, ...]]:
    x, v = ti.field(ti.f32), ti.Vector.field(3, ti.f32)
    block = ti.root.pointer(ti.ij, (8, 6))
    block.dense(ti.ij, (4, 5)).place(x, v)

    @ti.kernel
    def pointers(n: ti.i32) -> ti.f32:
        for i in range(n):
            x[i, i] += 1.5
            v[i, i].y = x[i, i + 1]
            ti.atomic_max(x[i, 2 * i], 0.5)
        total = 0.0
        for i, j in x:
            x[i, j] *= 2.0
            v[i, j] += x[i, j]
            total += x[i, j]
        for i, j in block:
            if ti.is_active(block, [i, j]) and i == j:
                ti.deactivate(block, [i, j])
        ti.activate(block, ti.Vector([1, 2]))
        return total

    return pointers, (5,)


@entry
def nested_pointers() -> tuple[Any, tuple[Any, ...]]:
    x, y, mass = ti.field(ti.i32), ti.field(ti.f64), ti.field(ti.f32)
    outer = ti.root.pointer(ti.ijk, 4)
    outer.place(mass)
    inner = outer.dense(ti.ijk, 2).pointer(ti.ijk, (2, 3, 4))
    inner.dense(ti.ijk, 2).place(x, y, offset=(-8, 0, 4))

    @ti.kernel
    def nested():
        for i, j, k in ti.ndrange((-8, 24), 48, (4, 68)):
            if (i + j + k) % 7 == 0:
                x[i, j, k] = i
                y[i, j, k] += 1.0
        for I in ti.grouped(x):
            y[I] += x[I]
        for i, j, k in mass:
            mass[i, j, k] = ti.is_active(inner, [4 * i, 6 * j, 8 * k])
            ti.deactivate(inner, [4 * i, 6 * j, 8 * k])
        for i, j, k in outer:
            ti.deactivate(outer, [i, j, k])

    return nested, ()


@entry
def bitmasked_grid() -> tuple[Any, tuple[Any, ...]]:
    x, near = ti.field(ti.u8), ti.field(ti.i32)
    grid = ti.root.bitmasked(ti.ij, (33, 7))
    grid.place(x, near)

    @ti.kernel
    def bits():
        for i, j in grid:
            near[i, j] += x[i, j]
            if x[i, j] > 3:
                ti.deactivate(grid, [i, j])
            x[i, (j + 1) % 7] = ti.u8(i)

    return bits, ()


@entry
def bits_everywhere() -> tuple[Any, tuple[Any, ...]]:
    x, y = ti.field(ti.f32), ti.field(ti.i32)
    blocks = ti.root.bitmasked(ti.i, 5)
    cells = blocks.pointer(ti.i, 9)
    bits = cells.bitmasked(ti.j, 40)
    bits.place(x)
    bits.dense(ti.j, 3).place(y)

    @ti.kernel
    def masks():
        for i, j in x:
            x[i, j] += 1.0
        for i, j in y:
            y[i, j] = i + j
            ti.deactivate(bits, [i, j // 3])
        for i in cells:
            x[i, 3] = 2.0
            ti.deactivate(cells, i)
        for i in range(5):
            ti.deactivate(blocks, [i])
            ti.activate(bits, [9 * i, 4])

    return masks, ()


@entry
def lists() -> tuple[Any, tuple[Any, ...]]:
    S = ti.types.struct(kind=ti.i32, at=ti.types.vector(2, ti.f32))
    x, count, items = ti.field(ti.i32), ti.field(ti.i32, shape=16), S.field()
    cells = ti.root.dense(ti.ij, (4, 4)).dynamic(ti.k, 100, chunk_size=7)
    cells.place(x)
    ti.root.dynamic(ti.i, 1000).place(items)

    @ti.kernel
    def append(n: ti.i32) -> ti.i32:
        for i in range(n):
            k = ti.append(cells, [i % 4, i // 4 % 4], i)
            items.append(S(kind=k, at=[i, 0.5]))
        for i, j, k in x:
            x[i, j, k] += ti.length(cells, [i, j])
            if k == 0:
                count[i * 4 + j] = x[i, j].length()
        for k in items:
            items[k].at.y += 1.0
        x[1, 2].deactivate()
        x[3, 3, 50] = 4
        return items.length()

    return append, (50,)


@entry
def lists_in_blocks() -> tuple[Any, tuple[Any, ...]]:
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    block = ti.root.pointer(ti.i, 6)
    lists = block.dense(ti.i, 2).dynamic(ti.j, 32, chunk_size=8)
    lists.place(x)
    block.place(y)

    @ti.kernel
    def blocks_of_lists():
        for i in range(12):
            ti.append(lists, i, 0.5 * i)
        for i, j in x:
            x[i, j] += y[i // 2]
            y[i // 2] += 1.0
        for i in block:
            ti.deactivate(block, [i])

    return blocks_of_lists, ()


@ti.func
def spread(x: ti.template(), i, j):
    for a, b in ti.static(ti.ndrange(2, 2)):
        x[i + a, j + b] += 0.25


@ti.real_func
def weigh(x: ti.template(), block: ti.template(), i: ti.i32) -> ti.f32:
    if not ti.is_active(block, [i // 4, i // 4]):
        return -1.0
    x[i, i] += 1.0
    return x[i, i]


@entry
def functions_of_cells() -> tuple[Any, tuple[Any, ...]]:
    x, out = ti.field(ti.f32), ti.field(ti.f32, shape=16)
    block = ti.root.pointer(ti.ij, 8)
    block.dense(ti.ij, 4).place(x)

    @ti.kernel
    def called():
        for i in out:
            spread(x, i, 2 * i % 16)
            out[i] = weigh(x, block, i)
        for i in range(3):
            for a, b in x:
                out[i] += x[a, b]

    return called, ()
