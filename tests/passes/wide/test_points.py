"""Pass `wide_accesses`: branches for one column of a row, as of a source of waves, do not keep iterations apart."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

NOTE = "four iterations at a time"


def waves(n: int, m: int):
    x, y = ti.field(ti.f32, (n, m)), ti.field(ti.f32, (n, m))
    x.from_numpy(np.random.default_rng(1).random((n, m), np.float32))
    return x, y


def moved(x: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x)
    y[1:-1, 1:-1] = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1]
    return y


@pytest.mark.parametrize("at", [(128, 133), (1, 1), (254, 258), (5, 0), (300, 40), (7, 4)])
def test_a_source_inside_of_a_stencil(target: str, at: tuple[int, int]) -> None:
    n, m = 256, 260
    x, y = waves(n, m)

    @ti.kernel
    def step(amp: ti.f32, at_i: ti.i32, at_j: ti.i32):
        for i, j in ti.ndrange((1, n - 1), (1, m - 1)):
            v = x[i, j - 1] + x[i, j + 1] + x[i - 1, j] + x[i + 1, j] - 4.0 * x[i, j]
            if i == at_i and j == at_j:
                v += amp
            y[i, j] = v

    step(8.0, *at)
    expected = moved(x.to_numpy())
    if 1 <= at[0] < n - 1 and 1 <= at[1] < m - 1:
        expected[at] += 8
    assert np.allclose(y.to_numpy(), expected, atol=1e-5)
    source = step.source(8.0, *at)
    assert NOTE in source and "i != args.at_i ||" in source


def test_a_source_in_all_rows_and_two_of_them(target: str) -> None:
    n, m = 300, 256
    x, y = waves(n, m)

    @ti.kernel
    def step(amp: ti.f32):
        for i, j in y:
            v = 2 * x[i, j]
            if j == m // 2 + 1:
                v = amp
            if i == 7 and j - 3 == m // 4 and v > 0.5:
                v -= amp
            y[i, j] = v

    step(8.0)
    expected = 2 * x.to_numpy()
    expected[:, m // 2 + 1] = 8
    expected[7, m // 4 + 3] -= 8 if expected[7, m // 4 + 3] > 0.5 else 0
    assert np.array_equal(y.to_numpy(), expected)
    assert NOTE in step.source(8.0)


def test_columns_that_differ_by_row(target: str) -> None:
    n, m = 300, 256
    x, y = waves(n, m)

    @ti.kernel
    def diagonal(amp: ti.f32):
        for i, j in y:
            v = 2 * x[i, j]
            if j == i:
                v += amp
            y[i, j] = v

    diagonal(3.0)
    expected = 2 * x.to_numpy()
    expected[range(m), range(m)] += 3
    assert np.array_equal(y.to_numpy(), expected)
    assert NOTE in diagonal.source(3.0)


def test_columns_that_are_loaded(target: str) -> None:
    """As of labels, of which some are no columns. Not under a condition that keeps a thread from the load."""
    n, m = 300, 256
    x, y = waves(n, m)
    labels = np.random.default_rng(2).integers(-3, m + 3, n).astype(np.int32)
    labels[:4] = [-(2**31), 2**31 - 1, 0, m - 1]
    label, few = ti.field(ti.i32, n), ti.field(ti.i32, 10)
    label.from_numpy(labels)

    @ti.kernel
    def gradient():
        for i, j in y:
            v = 2 * x[i, j]
            if j == label[i]:
                v -= 1.0
            y[i, j] = v

    @ti.kernel
    def guarded():
        for i, j in y:
            v = 2 * x[i, j]
            if i < 10:
                if j == few[i]:
                    v -= 1.0
            y[i, j] = v

    gradient()
    expected = 2 * x.to_numpy()
    inside = (labels >= 0) & (labels < m)
    expected[np.flatnonzero(inside), labels[inside]] -= 1
    assert np.array_equal(y.to_numpy(), expected)
    assert NOTE in gradient.source()
    guarded()
    expected = 2 * x.to_numpy()
    expected[:10, 0] -= 1
    assert np.array_equal(y.to_numpy(), expected)


def test_columns_that_an_iteration_stores_stay(target: str) -> None:
    x, y = waves(300, 256)
    at = ti.field(ti.i32, 300)

    @ti.kernel
    def both():
        for i, j in y:
            v = 2 * x[i, j]
            at[i] = 5
            if j == at[i]:
                v += 3.0
            y[i, j] = v

    both()
    expected = 2 * x.to_numpy()
    expected[:, 5] += 3
    assert np.array_equal(y.to_numpy(), expected)
