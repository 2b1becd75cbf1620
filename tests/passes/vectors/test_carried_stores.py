"""Passes `vector_lanes` and `lane_loops`: loops of C that store what they carry run for neighbouring iterations."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

RUNS = "#define LANES 128"
STEPS = 5


def fields(columns: int, kind=ti.f32):
    x, y = ti.field(kind, (STEPS, columns)), ti.field(kind, (STEPS, columns))
    numbers = np.random.default_rng(0).integers(-9, 9, (STEPS, columns)) / 4
    x.from_numpy(numbers.astype(np.float64 if kind == ti.f64 else np.float32))
    return x, y


@ti.kernel
def smooth(x: ti.template(), y: ti.template()):
    for c in range(x.shape[1]):
        s = 0.0
        for t in range(STEPS):
            s = 0.75 * s + x[t, c]
            y[t, c] = s


@ti.kernel
def fall(x: ti.template(), y: ti.template()):
    for c in range(x.shape[1]):
        before, last = 1.0, 0.0
        for t in range(STEPS):
            before, last = last, x[t, c]
        y[0, c] = before


@ti.func
def tick(s, v):
    q = 0.5 * v + s[0]
    return q, ti.Vector([0.25 * v - q + s[1], 0.125 * v - 0.5 * q])


@ti.kernel
def cascade(x: ti.template(), y: ti.template()):
    for c in range(x.shape[1]):
        s, r = ti.Vector([0.0, 0.0]), ti.Vector([1.0, 0.0])
        for t in range(STEPS):
            q, s = tick(s, x[t, c])
            q, r = tick(r, q)
            y[t, c] = q


@ti.kernel
def window(x: ti.template(), y: ti.template()):
    for c in range(x.shape[1]):
        s = ti.Vector([0.0, 0.0, 0.0])
        for t in range(STEPS):
            s = ti.Vector([s[1], s[2], x[t, c]])
            y[t, c] = s.max()


@ti.kernel
def greatest(x: ti.template(), y: ti.template()):
    for c in range(x.shape[1]):
        best = -100.0
        for t in range(STEPS):
            if x[t, c] > best:
                best = x[t, c]
            y[t, c] = best


KERNELS = [smooth, fall, cascade, window, greatest]


def result_of(kernel, arch, columns: int, kind=ti.f32) -> np.ndarray:
    ti.init(arch=arch, log_level=ti.ERROR, fast_math=False, default_fp=kind)
    x, y = fields(columns, kind)
    kernel(x, y)
    return y.to_numpy()


@pytest.mark.sampled(4, each="kernel")
@pytest.mark.parametrize("columns", [1, 16, 127, 128, 129, 300])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_results_are_those_of_the_interpreter(kernel, columns):
    assert np.array_equal(result_of(kernel, ti.cpu, columns), result_of(kernel, ti.python, columns))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_doubles(kernel):
    assert np.array_equal(result_of(kernel, ti.cpu, 130, ti.f64), result_of(kernel, ti.python, 130, ti.f64))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_they_run_together(kernel):
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    x, y = fields(200)
    assert RUNS in kernel.source(x, y)


def test_a_vector_becomes_an_array_for_each_component():
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    x, y = fields(200)
    source = window.source(x, y)
    assert "float s_x[LANES];" in source and "s_x[c - first_c] = s_y[c - first_c];" in source


def test_sums_that_are_stored_behind_their_loop_stay_lanes_of_vectors():
    @ti.kernel
    def sums(x: ti.template(), y: ti.template()):
        for c in range(x.shape[1]):
            s = 0.0
            for t in range(STEPS):
                s += x[t, c]
            y[0, c] = s

    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    source = sums.source(*fields(200))
    assert RUNS not in source and "(vector_lanes)" in source


def test_a_branch_in_a_function_stays():
    @ti.func
    def bent(s):
        r = s
        if s > 1:
            r = ti.sin(s)
        return r

    @ti.kernel
    def bend(x: ti.template(), y: ti.template()):
        for c in range(x.shape[1]):
            s = 0.0
            for t in range(STEPS):
                s = bent(s) + bent(x[t, c])
                y[t, c] = s

    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    assert RUNS not in bend.source(*fields(200))
