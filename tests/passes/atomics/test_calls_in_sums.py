"""Passes `axis_sums` and `shared_rows`: functions that compute with numbers alone are no obstacle."""

from __future__ import annotations

import numpy as np

import shadesmith as ti


@ti.func
def ones(x: ti.u32) -> ti.i32:
    y = x - ((x >> 1) & ti.u32(0x55555555))
    y = (y & ti.u32(0x33333333)) + ((y >> 2) & ti.u32(0x33333333))
    y = (y + (y >> 4)) & ti.u32(0x0F0F0F0F)
    y = (y * ti.u32(0x01010101)) >> 24
    return ti.cast(y, ti.i32)


def codes(rows: int, count: int) -> np.ndarray:
    return np.random.default_rng(rows).integers(0, 1 << 32, (rows, count), dtype=np.uint32)


def ones_of(numbers: np.ndarray) -> np.ndarray:
    return np.unpackbits(np.ascontiguousarray(numbers)[..., None].view(np.uint8), axis=-1).sum(axis=-1).astype(np.int64)


def test_the_least_along_an_axis(target: str) -> None:
    rows, count = 7, 1500
    a, b, least = ti.field(ti.u32, rows), ti.field(ti.u32, count), ti.field(ti.i32, rows)

    @ti.kernel
    def nearest():
        for q in least:
            least[q] = 1 << 30
        for q, i in ti.ndrange(rows, count):
            ti.atomic_min(least[q], ones(a[q] ^ b[i]) * 4096 + i)

    one, other = codes(1, rows)[0], codes(2, count)[0]
    a.from_numpy(one)
    b.from_numpy(other)
    nearest()
    distances = ones_of(one[:, None] ^ other[None, :])
    assert least.to_numpy().tolist() == (distances * 4096 + np.arange(count)).min(axis=1).tolist()


def test_the_least_along_a_long_axis() -> None:
    ti.init(arch=ti.cpu)
    a, b, least = ti.field(ti.u32, 64), ti.field(ti.u32, 8192), ti.field(ti.i32, 64)

    @ti.kernel
    def nearest():
        for q, i in ti.ndrange(64, 8192):
            ti.atomic_min(least[q], ones(a[q] ^ b[i]) * 8192 + i)

    one, other = codes(1, 64)[0], codes(2, 8192)[0]
    a.from_numpy(one)
    b.from_numpy(other)
    least.fill(1 << 30)
    nearest()
    distances = ones_of(one[:, None] ^ other[None, :])
    assert least.to_numpy().tolist() == (distances * 8192 + np.arange(8192)).min(axis=1).tolist()
    source = nearest.source(arch=ti.cuda)
    assert "each to a sum of its own (axis_sums)" in source and "ones(" in source


def test_sums_over_rows(target: str) -> None:
    rows, count = 40, 300
    x, total = ti.field(ti.u32, (rows, count)), ti.field(ti.i32, rows)

    @ti.kernel
    def add():
        for i in total:
            n = 0
            for k in range(count):
                n += ones(x[i, k])
            total[i] = n

    numbers = codes(rows, count)
    x.from_numpy(numbers)
    add()
    assert total.to_numpy().tolist() == ones_of(numbers).sum(axis=1).tolist()
    source = add.source(arch=ti.cuda)
    assert "threads share a row" in source and "ones(" in source


def test_functions_that_access_arrays_or_draw_numbers_stay(target: str) -> None:
    rows, count = 6, 300
    x, total, seen = ti.field(ti.u32, (rows, count)), ti.field(ti.i32, rows), ti.field(ti.i32, ())

    @ti.func
    def counted(i, k):
        n = ones(x[i, k])
        n += ones(x[i, k] ^ ti.u32(5))
        n += ones(x[i, k] ^ ti.u32(7))
        ti.atomic_add(seen[None], 1)
        return n

    @ti.func
    def drawn(v):
        n = ones(v)
        n += ones(v ^ ti.u32(5))
        n += ones(v ^ ti.u32(7))
        if ti.random() > 2.0:
            n += 1
        return n

    @ti.kernel
    def count_up():
        for i in total:
            n = 0
            for k in range(count):
                n += counted(i, k)
            total[i] = n

    @ti.kernel
    def draw():
        for i in total:
            n = 0
            for k in range(count):
                n += drawn(x[i, k])
            total[i] = n

    numbers = codes(rows, count)
    x.from_numpy(numbers)
    expected = sum(ones_of(numbers ^ np.uint32(k)) for k in (0, 5, 7)).sum(axis=1).tolist()
    count_up()
    assert total.to_numpy().tolist() == expected and seen[None] == rows * count
    draw()
    assert total.to_numpy().tolist() == expected
    assert "(shared_rows)" not in draw.source(arch=ti.cuda)
