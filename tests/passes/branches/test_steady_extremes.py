"""Pass `extremes`: minima and maxima with a number that is the same in all iterations of a loop."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

N = 40


@ti.func
def overlap(a, b):
    return ti.min(a[1], b[1]) - ti.max(a[0], b[0])


@ti.kernel
def overlaps(x: ti.template(), y: ti.template()):
    for i in range(N):
        longest = 0.0
        for j in range(N):
            if x[j][0] != x[i][0]:
                longest += overlap(x[i], x[j])
        y[i] = longest


@ti.kernel
def clamped(x: ti.template(), y: ti.template()):
    for i in range(N):
        least = x[i][0]
        s = 0.0
        for j in range(N):
            s += ti.max(least, x[j][1])
            least = least + 0.25
        y[i] = s


def start(arch=ti.cpu, **options) -> list:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, **options)
    x, y = ti.Vector.field(2, ti.f32, N), ti.field(ti.f32, N)
    numbers = np.random.default_rng(0).integers(-9, 9, (N, 2)).astype(np.float32)
    numbers[3, 0] = numbers[7, 1] = numbers[9] = np.nan
    x.from_numpy(numbers)
    return [x, y]


@pytest.mark.parametrize("kernel", [overlaps, clamped], ids=lambda kernel: kernel.__name__)
def test_results(target: str, kernel) -> None:
    results = []
    for arch in (getattr(ti, target), ti.python):
        fields = start(arch)
        kernel(*fields)
        results.append(fields[1].to_numpy())
    assert np.array_equal(*results, equal_nan=True)


@ti.kernel
def two_overlaps(x: ti.template(), y: ti.template()):
    for i in range(N):
        longest = 0.0
        for j in range(N):
            longest += overlap(x[i], x[j]) * overlap(x[i], x[N - 1 - j])
        y[i] = longest


def test_what_is_the_same_in_all_iterations_is_second():
    assert "min_f32(x(j).y, x(i).y) - max_f32(x(j).x, x(i).x)" in overlaps.source(*start())


def test_a_parameter_that_is_the_same_in_all_calls_is_second():
    assert "min_f32(b.y, a.y) - max_f32(b.x, a.x)" in two_overlaps.source(*start())


def test_the_order_stays_without_fast_math():
    assert "min_f32(a.y, b.y) - max_f32(a.x, b.x)" in two_overlaps.source(*start(fast_math=False))


def test_a_variable_that_the_loop_changes_is_none():
    assert "max_f32(least, x(j).y)" in clamped.source(*start())
