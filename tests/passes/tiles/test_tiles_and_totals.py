"""Loops with tiles in iterations that also add to a total, or to an extreme: whole blocks run such loops (`block_tiles`)."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

Numbers = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def energy(x: Numbers, f: Numbers, n: ti.i32) -> ti.f32:
    total = 0.0
    for i in range(n):
        s = 0.0
        for j in range(n):
            d = x[j] - x[i]
            s += d / (d * d + 0.5)
        f[i] = s
        total += s * s
    return total


@ti.kernel
def best(x: Numbers, counts: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
    most = 0
    for i in x:
        c = 0
        for j in range(x.shape[0]):
            if abs(x[j] - x[i]) < 0.05:
                c += 1
        counts[i] = c
        ti.atomic_max(most, c)
    return most


@pytest.mark.sampled(2)
@pytest.mark.targets("cuda", "vulkan")
@pytest.mark.parametrize("n", [0, 1, 31, 128, 300, 1000, 1024])
def test_totals(target: str, n: int) -> None:
    random = np.random.default_rng(n)
    x, f, counts = random.random(n, dtype=np.float32), np.zeros(n, np.float32), np.zeros(n, np.int32)
    d = x[None].astype(np.float64) - x[:, None]
    forces = (d / (d * d + 0.5)).sum(1)
    assert abs(energy(x, f, n) - (forces**2).sum()) <= 1e-4 * (1 + (forces**2).sum())
    np.testing.assert_allclose(f, forces, atol=1e-3 * (1 + n / 100))
    near = (np.abs(x[None] - x[:, None]) < np.float32(0.05)).sum(1)
    assert best(x, counts) == (near.max() if n else 0)
    assert np.array_equal(counts, near)


@pytest.mark.targets("cuda", "vulkan")
@pytest.mark.parametrize("n", [512, 1000, 70000])
def test_known_sizes(target: str, n: int) -> None:
    x, f, total = ti.field(ti.f32, n), ti.field(ti.f32, n), ti.field(ti.f32, ())
    y = ti.field(ti.f32, 600)

    @ti.kernel
    def run():
        for i in x:
            s = 0.0
            for j in range(600):
                s += ti.max(y[j] - x[i], 0.0)
            f[i] = s
            total[None] += s

    random = np.random.default_rng(n)
    values, others = random.random(n, dtype=np.float32), random.random(600, dtype=np.float32)
    x.from_numpy(values)
    y.from_numpy(others)
    run()
    sums = np.sort(others.astype(np.float64))
    above = np.searchsorted(sums, values)
    tails = np.append(np.cumsum(sums[::-1])[::-1], 0)
    true = tails[above] - (600 - above) * values.astype(np.float64)
    np.testing.assert_allclose(f.to_numpy(), true, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(total[None], true.sum(), rtol=1e-5)
    text = run.source(arch=getattr(ti, target))
    assert "(block_tiles)" in text and "joined below (reduce_atomics)" in text


@pytest.mark.parametrize("by_value", [False, True])
def test_additions_to_few_elements_beside_a_product(by_value: bool) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    g, c, high = ti.field(ti.u32, (512, 64)), ti.field(ti.i32, (512, 512)), ti.field(ti.i32, 512)

    @ti.kernel
    def count():
        for a, b in c:
            n = 0
            for w in range(64):
                n += ti.cast(ti.math.popcnt(g[a, w] & g[b, w]), ti.i32)
            c[a, b] = n
            if n > 900:
                high[n % 512 if ti.static(by_value) else a] += 1

    source = count.source(arch=ti.cuda)
    assert ("(register_tiles)" in source) is not by_value and ("(block_sums)" in source) is by_value
