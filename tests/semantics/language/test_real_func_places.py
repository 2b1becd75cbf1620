"""Real functions where other forms meet them: bounds of loops, tasks, inlined functions, matrices, several launches."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
import shadesmith.math as tm


@ti.real_func
def double(n: ti.i32) -> ti.i32:
    return 2 * n


@ti.real_func
def turned(m: tm.mat2, angle: ti.f32) -> tm.mat2:
    c, s = ti.cos(angle), ti.sin(angle)
    return tm.mat2(c, -s, s, c) @ m


def test_a_bound_of_a_parallel_loop(target: str) -> None:
    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.i32, ndim=1), n: ti.i32) -> ti.i32:
        for i in range(double(n) - 1, double(n + 1)):
            x[i] = double(i)
        for i, j in ti.ndrange(double(1), double(n)):
            x[0] += 1
        return x[double(n)]

    x = np.zeros(12, np.int32)
    assert run(x, 4) == 16
    assert x.tolist() == [16, 0, 0, 0, 0, 0, 0, 14, 16, 18, 0, 0]


def test_results_cross_tasks(target: str) -> None:
    @ti.real_func
    def both(n: ti.i32) -> (ti.i32, tm.vec2):
        return n + 1, tm.vec2(n, -n)

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.f32, ndim=1), n: ti.i32) -> ti.f32:
        k = double(n)
        a, v = both(k)
        for i in x:
            x[i] = i * k + a + v.y
        return v.x

    x = np.zeros(3, np.float32)
    assert run(x, 5) == 10.0
    assert x.tolist() == [1.0, 11.0, 21.0]


def test_matrices_and_vectors_of_truth_values(target: str) -> None:
    @ti.real_func
    def signs(v: tm.vec3) -> ti.types.vector(3, ti.u1):
        return v > 0

    @ti.kernel
    def run(angle: ti.f32) -> tm.mat2:
        m = turned(tm.mat2(1, 2, 3, 4), angle)
        if signs(tm.vec3(1, -1, 2))[2] and not signs(tm.vec3(0))[0]:
            m = turned(m, -angle)
        return m

    np.testing.assert_allclose(run(0.7).to_numpy(), [[1, 2], [3, 4]], rtol=1e-6)


def test_inlined_functions_call_and_are_called(target: str) -> None:
    @ti.func
    def pick(x, limit):
        if x > limit:
            return double(x)
        return -x

    @ti.real_func
    def chosen(x: ti.i32) -> ti.i32:
        s = 0
        for k in range(3):
            if pick(x, 4) < 0 and k == 1:
                return s
            s += pick(x + k, 4)
        return s

    @ti.kernel
    def run(x: ti.i32) -> ti.i32:
        return pick(chosen(x), 0)

    def picked(x: int, limit: int) -> int:
        return 2 * x if x > limit else -x

    def expected(x: int) -> int:
        s = 0
        for k in range(3):
            if picked(x, 4) < 0 and k == 1:
                break
            s += picked(x + k, 4)
        return picked(s, 0)

    assert [run(x) for x in range(-2, 8)] == [expected(x) for x in range(-2, 8)]


def test_a_condition_known_at_compile_time_leaves_no_call(target: str) -> None:
    @ti.real_func
    def endless(n: ti.template(), x: ti.i32) -> ti.i32:
        if ti.static(n > 0):
            return x + endless(n - 1, x)
        return 0

    @ti.kernel
    def run(x: ti.i32) -> ti.i32:
        return endless(4, x)

    assert run(3) == 12
    assert run.source(1, arch=ti.vulkan).count("int endless_") == 4  # that of n = 0 is a constant


def test_i64_and_f64_survive(target: str) -> None:
    @ti.real_func
    def wide(a: ti.i64, b: ti.u64, c: ti.f64) -> (ti.i64, ti.u64, ti.f64):
        return a - 1, b + ti.u64(1), c * 0.1

    @ti.kernel
    def run(a: ti.i64, b: ti.u64) -> ti.f64:
        x, y, z = wide(a, b, 3.0)
        return ti.cast(x + a, ti.f64) + ti.cast(y >> 60, ti.f64) + z

    assert run(-(2**40), 2**64 - 2) == pytest.approx(-(2.0**41) - 1 + 15 + 0.3, rel=1e-15)


def test_nan_and_zero_divisors_pass_through(target: str) -> None:
    @ti.real_func
    def ratio(a: ti.f32, b: ti.f32) -> ti.f32:
        if b == 0:
            return ti.math.nan
        return a / b

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            x[i] = ratio(1.0, x[i])

    x = np.array([0, -0.0, 2, np.inf], np.float32)
    run(x)
    assert np.isnan(x[:2]).all() and x[2:].tolist() == [0.5, 0.0]
    empty = np.zeros(0, np.float32)
    run(empty)


def test_a_hundred_functions_in_a_chain_compile(target: str) -> None:
    chain = [double]

    def link(inner: object) -> object:
        @ti.real_func
        def step(n: ti.i32) -> ti.i32:
            return inner(n) + 1

        return step

    for _ in range(100):
        chain.append(link(chain[-1]))
    last = chain[-1]

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return last(n)

    assert run(21) == 142
