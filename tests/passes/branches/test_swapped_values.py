"""Pass `swapped_values`: swaps of variables are selections in C; results are the same on every target, NaN included."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

SWAPPED = "(swapped_values)"
N = 40


@ti.kernel
def network(x: ti.template(), y: ti.template()):
    for i in range(N):
        a = ti.Vector([x[i, 0], x[i, 1], x[i, 2], x[i, 3], x[i, 4]])
        for p in ti.static(range(4)):
            for q in ti.static(range(4 - p)):
                if a[q] > a[q + 1]:
                    t = a[q]
                    a[q] = a[q + 1]
                    a[q + 1] = t
        for k in ti.static(range(5)):
            y[i, k] = a[k]


@ti.kernel
def with_places(x: ti.template(), y: ti.template()):
    for i in range(N):
        a, b = x[i, 0], x[i, 1]
        m, n = 0, 1
        if not a <= b:
            a, b = b, a
            m, n = n, m
        if b < a:
            a, b, m, n = b, a, n, m
        y[i, 0], y[i, 1], y[i, 2], y[i, 3] = a, b, m, n


KERNELS = [network, with_places]


def start(arch=ti.cpu, kind=ti.f32, **options) -> list:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, **options)
    x, y = ti.field(kind, (N, 5)), ti.field(kind, (N, 5))
    numbers = np.random.default_rng(0).integers(-3, 3, (N, 5)) * 1.0
    if kind in (ti.f32, ti.f64):
        numbers[::7, 1], numbers[::5, 2], numbers[numbers == 0] = np.nan, np.nan, -0.0
        numbers[::3, 0] = 0.0
    x.from_numpy(numbers.astype({ti.f32: np.float32, ti.f64: np.float64, ti.i32: np.int32, ti.i64: np.int64}[kind]))
    return [x, y]


def results(kernel, arch, kind, **options) -> np.ndarray:
    fields = start(arch, kind, **options)
    kernel(*fields)
    return fields[1].to_numpy()


@pytest.mark.sampled(2, each="kernel")
@pytest.mark.parametrize("kind", [ti.f32, ti.f64, ti.i32, ti.i64], ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_results_are_those_of_branches(kernel, kind):
    ours, branches = (results(kernel, ti.cpu, kind, fast_math=False, passes=p) for p in ("", "-swapped_values"))
    assert ours.tobytes() == branches.tobytes()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_results_are_those_of_the_interpreter(kernel):
    ours, expected = (results(kernel, arch, ti.f32, fast_math=False) for arch in (ti.cpu, ti.python))
    assert np.array_equal(ours, expected, equal_nan=True) and np.array_equal(np.signbit(ours), np.signbit(expected))


def test_both_are_selected():
    source = network.source(*start())
    assert SWAPPED in source and "a[q] = is_greater ? old_a_1 : old_a;" in source and "if (" not in source


def test_elements_at_other_places_stay():
    @ti.kernel
    def bubbles(x: ti.template(), y: ti.template()):
        for i in range(N):
            a = ti.Vector([x[i, 0], x[i, 1], x[i, 2]])
            for p in range(3):
                for q in range(2 - p):
                    if a[q] > a[q + 1]:
                        a[q], a[q + 1] = a[q + 1], a[q]
            y[i, 0] = a[0]

    assert SWAPPED not in bubbles.source(*start())


def test_a_branch_that_does_more_stays():
    @ti.kernel
    def counted(x: ti.template(), y: ti.template()):
        for i in range(N):
            a, b, swaps = x[i, 0], x[i, 1], 0
            if a > b:
                a, b = b, a
                swaps += 1
            y[i, 0], y[i, 1], y[i, 2] = a, b, swaps

    assert SWAPPED not in counted.source(*start())


def test_gpus_and_the_interpreter_have_none():
    fields = start(ti.python)
    assert SWAPPED not in network.source(*fields, arch=ti.cuda)
