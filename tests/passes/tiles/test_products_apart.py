"""Pass `products_apart`: several sums of one serial loop as products of a task before, which have tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [pytest.mark.targets("vulkan", "cuda"), pytest.mark.usefixtures("tiles_of_few")]

NOTE = "(products_apart)"
B, K, I, J = 33, 20, 18, 7
RANDOM = np.random.default_rng(1)
W, X, U, Y = (RANDOM.integers(-9, 9, shape).astype(np.float32) for shape in ((4, K, I), (B, I), (J, K), (B, J)))


def started(target: str, *values: np.ndarray, **options: Any) -> list[Any]:
    """Start a session; return fields of some arrays, and one for the results."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, **options)
    fields = [ti.field(ti.f32, array.shape) for array in values]
    for field, array in zip(fields, values, strict=True):
        field.from_numpy(array)
    return [*fields, ti.field(ti.f32, (B, K))]


@pytest.mark.parametrize("order", ["an axis", "in one axis", "downwards"])
def test_gates(target: str, order: str) -> None:
    """Rows of a network's four gates, as PyTorch has them and otherwise; each starts with a number of its own."""
    w, flat, x, c = started(target, W, W.reshape(-1, I), X)

    @ti.kernel
    def cell():
        for b, k in c:
            a = ti.Vector([0.0, k, 2.0, 3.0])
            for i in range(I):
                for m in ti.static(range(4)):
                    if ti.static(order == "an axis"):
                        a[m] += w[m, k, i] * x[b, i]
                    elif ti.static(order == "in one axis"):
                        a[m] += x[b, i] * flat[m * K + k, i]
                    else:
                        a[m] -= x[b, i] * w[3 - m, k, i]
            c[b, k] = a[0] + 2 * a[1] + 3 * a[2] + 4 * a[3]

    source = cell.source(arch=ti.cuda)
    assert source.count("4 sums of each iteration (products_apart)") == 1 and "(register_tiles)" in source
    cell()
    sums = np.einsum("mki,bi->mbk", W if order != "downwards" else -W[::-1], X)
    sums += np.array([0, 0, 2, 3])[:, None, None]
    sums[1] += np.arange(K)
    assert np.array_equal(c.to_numpy(), np.einsum("m,mbk->bk", [1, 2, 3, 4], sums))


def test_two_products(target: str) -> None:
    """Each serial loop is one; what is behind them stays a loop of its own, which adds to a total, too."""
    w, x, u, y, c = started(target, W, X, U, Y)
    total = ti.field(ti.f32, ())

    @ti.kernel
    def step():
        for b, k in c:
            s = 0.0
            for i in range(I):
                s += w[1, k, i] * x[b, i]
            for j in range(J):
                s += y[b, j] * u[j, k]
            c[b, k] = s
            total[None] += s

    assert step.source(arch=ti.cuda).count("a sum of each iteration (products_apart)") == 2
    step()
    assert np.array_equal(c.to_numpy(), X @ W[1].T + Y @ U) and total[None] == c.to_numpy().sum()


@pytest.mark.parametrize("reason", ["unequal steps", "other terms", "elements that are stored", "rounding"])
def test_others_stay(target: str, reason: str) -> None:
    w, x, c = started(target, W, X, fast_math=reason != "rounding")

    @ti.kernel
    def sums():
        for b, k in c:
            a = ti.Vector([1.0, 1.0, 1.0])
            for i in range(I):
                for m in ti.static(range(3)):
                    if ti.static(reason == "unequal steps"):
                        a[m] += w[m + m // 2, k, i] * x[b, i]
                    elif ti.static(reason == "other terms" and m == 1):
                        a[m] += w[m, k, i] + x[b, i]
                    elif ti.static(reason == "elements that are stored"):
                        a[m] += w[m, k, i] * c[b, i]
                    else:
                        a[m] += w[m, k, i] * x[b, i]
            c[b, k] = a.sum()

    assert NOTE not in sums.source(arch=ti.cuda)


def test_steps_of_a_recurrent_network(target: str) -> None:
    """A step stores the next state, which is another plane of the field that it loads."""
    w, x, u, c = started(target, W[:2], X, np.arange(2 * K * K).reshape(2, K, K) % 5 - 2)
    h = ti.field(ti.f32, (3, B, K))
    h.from_numpy(np.ones((3, B, K), np.float32))

    @ti.kernel
    def step(t: ti.i32):
        for b, k in c:
            g = ti.Vector([c[b, k], 1.0])
            for i in range(I):
                for m in ti.static(range(2)):
                    g[m] += w[m, k, i] * x[b, i]
            for i in range(K):
                for m in ti.static(range(2)):
                    g[m] += u[m, k, i] * h[t, b, i]
            h[t + 1, b, k] = g[0] + 2 * g[1]

    assert step.source(1, arch=ti.cuda).count("2 sums of each iteration (products_apart)") == 2
    step(1)
    sums = np.einsum("mki,bi->mbk", W[:2], X) + u.to_numpy().sum(2)[:, None]
    assert np.array_equal(h.to_numpy()[2], sums[0] + 2 * (sums[1] + 1)) and (h.to_numpy()[:2] == 1).all()
