"""Vectors of 17 to 33 elements, whose loops C unrolls up to 32: operations, reductions and parts, to the bit."""

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

EDGES = [0.0, -0.0, 1e-40, -1e-45, np.inf, -np.inf, np.nan, 3e38, -3e38, 1.5, -2.25, 7.0]
SIZES = [17, 19, 32, 33]


def results_of(arch: Any, size: int, kind: Any, layout: Any, values: np.ndarray) -> list[np.ndarray]:
    """Return what a kernel of all kinds of operations on vectors gives, exactly rounded."""
    ti.init(arch=arch, fast_math=False)
    count = len(values) - 1
    x, y, z = (ti.Vector.field(size, kind, count, layout=layout) for _ in range(3))
    found = ti.Vector.field(7, kind, count)
    x.from_numpy(values[:-1])
    y.from_numpy(values[1:])

    @ti.kernel
    def compute():
        for i in x:
            v, w = x[i], y[i]
            z[i] = ti.max(v * 2 + w, w - v)
            h = v * w - v
            found[i] = ti.Vector(
                [v.sum(), v.dot(w), v.max(), w.min(), (v > w).any() + 2 * (v == v).all(), h[3] + h[size - 1], h.sum()]
            )

    compute()
    return [z.to_numpy(), found.to_numpy()]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("layout", ["AOS", "SOA"])
@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
@pytest.mark.parametrize("size", SIZES)
def test_long_vectors_are_computed_as_the_interpreter_computes_them(size: int, kind: str, layout: str) -> None:
    random = np.random.RandomState(size)
    values = random.choice([*EDGES, *random.randn(20)], (9, size))
    values[:4] = random.randn(4, size)
    if kind == "i32":
        values = random.randint(-(2**31), 2**31, (9, size))
    values = values.astype({"f32": np.float32, "f64": np.float64, "i32": np.int32}[kind])
    results = [results_of(a, size, getattr(ti, kind), getattr(ti.Layout, layout), values) for a in (ti.cpu, ti.python)]
    for ours, expected in zip(*results):
        np.testing.assert_array_equal(ours, expected)
        if kind != "i32":
            numbers = ~np.isnan(ours)
            np.testing.assert_array_equal(np.signbit(ours)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("size, hinted", [(16, False), (17, True), (32, True), (33, False)])
def test_loops_over_long_vectors_have_a_hint_to_unroll_them(size: int, hinted: bool) -> None:
    @ti.kernel
    def total(x: ti.types.ndarray(ti.types.vector(size, ti.f32), 1), y: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            y[i] = (x[i] * 2.0).sum()

    ti.init(arch=ti.cpu)
    source = total.source(ti.Vector.ndarray(size, ti.f32, 4), ti.ndarray(ti.f32, 4))
    assert source.count(f"    #pragma GCC unroll {size}\n    for (int i = 0;") == 2 * hinted
