"""C with `fast_math` stores 0 in place of subnormal numbers where they would stay; no other number and no thread changes."""

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.one_target
TYPES = {"f32": (ti.f32, np.float32), "f64": (ti.f64, np.float64)}
MANY = 1 << 15
"""Iterations that several threads share."""


def values(kind: type, count: int) -> np.ndarray:
    """Return numbers of all exponents and both signs, subnormal ones, zeros, infinities and NaN."""
    info = np.finfo(kind)
    random = np.random.default_rng(3)
    exponents = random.integers(info.minexp - info.nmant, info.maxexp, count)
    x = np.ldexp(random.uniform(0.5, 1, count), exponents).astype(kind) * random.choice([-1, 1], count).astype(kind)
    tiny, least = info.tiny, info.smallest_subnormal
    edges = [0, least, tiny - least, tiny, tiny + least, 2 * tiny, 1, info.max, np.inf, np.nan]
    x[: 2 * len(edges)] = np.array([*edges, *(-np.array(edges))], kind)
    return x


def flushed(x: np.ndarray) -> np.ndarray:
    """Return numbers with 0 in place of subnormal ones."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, x.dtype.type(0), x)


@pytest.mark.parametrize("count", [64, MANY])
@pytest.mark.parametrize("fast_math", [True, False])
@pytest.mark.parametrize("name", TYPES)
def test_only_subnormal_numbers_change(name: str, fast_math: bool, count: int) -> None:
    T, kind = TYPES[name]
    ti.init(arch=ti.cpu, default_fp=T, fast_math=fast_math)
    x = values(kind, count)

    @ti.kernel
    def scale(x: ti.types.ndarray(T, 1), factor: T):
        for i in x:
            x[i] *= factor

    for factor in (1.0, 0.75, -0.5, 1e-3):
        found = x.copy()
        with np.errstate(all="ignore"):
            expected = found * kind(factor)
        scale(found, factor)
        np.testing.assert_array_equal(found, flushed(expected) if fast_math else expected)


@pytest.mark.parametrize("name", TYPES)
def test_normal_numbers_have_the_bits_that_they_had(name: str) -> None:
    T, kind = TYPES[name]
    results = []
    for passes in ("", "-flush_subnormals"):
        ti.init(arch=ti.cpu, default_fp=T, passes=passes)
        V = ti.types.vector(3, T)
        v, f = ti.ndarray(V, MANY), ti.ndarray(V, MANY)
        for array, seed in ((v, 1), (f, 2)):
            array.from_numpy(np.random.default_rng(seed).normal(size=(MANY, 3)).astype(kind))

        @ti.kernel
        def push(v: ti.types.ndarray(V, 1), f: ti.types.ndarray(V, 1), drag: T, dt: T):
            for i in v:
                v[i] = v[i] * drag + f[i] * dt
            for i in f:
                f[i] -= f[i] * f[i].norm() * dt

        for _ in range(20):
            push(v, f, 0.97, 0.01)
        results.append((v.to_numpy().tobytes(), f.to_numpy().tobytes()))
    assert results[0] == results[1]


def test_what_decays_becomes_0() -> None:
    for passes, kept in (("", False), ("-flush_subnormals", True)):
        ti.init(arch=ti.cpu, passes=passes)
        x, m = ti.field(ti.f32, 100), ti.Vector.field(2, ti.f32, 100)

        @ti.kernel
        def decay():
            for i in x:
                x[i] = x[i] * 0.9
                m[i] = 0.9 * m[i] + (1 - 0.9) * ti.Vector([x[i], 0.0])

        x.fill(1e-30)
        m.fill(1e-30)
        for _ in range(400):
            decay()
        assert x.to_numpy().all() == kept and m.to_numpy().all() == kept


def test_heat_that_spreads_from_a_point_leaves_no_subnormal_number() -> None:
    """Between two fields, one of which is copied into the other."""
    n = 128
    for passes, kept in (("", False), ("-flush_subnormals", True)):
        ti.init(arch=ti.cpu, passes=passes)
        u, v = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))

        @ti.kernel
        def spread():
            for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
                v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])
            for i, j in u:
                u[i, j] = v[i, j]

        u[n // 2, n // 2] = 1.0
        for _ in range(50):
            spread()
        found = u.to_numpy()
        is_subnormal = (found != 0) & (np.abs(found) < np.finfo(np.float32).tiny)
        assert is_subnormal.any() == kept
        assert abs(found.sum() - 1) < 1e-5


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_compute_with_subnormal_numbers_after_a_launch(threads: int) -> None:
    """Also those of OpenMP, which other kernels and libraries share: no mode of a processor is set."""
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads)

    @ti.kernel
    def decay(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] *= 0.5

    @ti.kernel
    def halve(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            y[i] = x[i] * 0.5

    x = np.full(MANY, np.finfo(np.float32).tiny, np.float32)
    y = np.zeros_like(x)
    decay(x.copy())
    halve(x, y)
    assert (y.view(np.uint32) == 1 << 22).all() and ((x / np.float32(2)).view(np.uint32) == 1 << 22).all()


def test_what_is_loaded_after_a_store_is_what_was_stored() -> None:
    ti.init(arch=ti.cpu)

    @ti.kernel
    def decay(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), positive: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] *= 0.5
            y[i] = x[i]
            positive[i] = x[i] > 0

    x, y, positive = np.full(8, np.finfo(np.float32).tiny), np.ones(8, np.float32), np.ones(8, np.int32)
    x = x.astype(np.float32)
    decay(x, y, positive)
    assert not x.any() and not y.any() and not positive.any()
