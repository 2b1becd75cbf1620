"""Serial statements around loops run in fewer launches, and give what Python gives."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

floats = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def mean(x: floats, out: floats):
    total = 0.0
    for i in x:
        total += x[i]
    out[0] = total / ti.max(x.shape[0], 1)


@ti.kernel
def chain(x: floats, s: ti.template(), m: ti.template(), c: ti.template()):
    s[None] = 1.0
    for i in x:
        s[None] += x[i]
    m[None] = s[None] * 2.0
    c[None] = 5
    for i in x:
        c[None] += int(x[i])
    if c[None] > 40:
        c[None] -= 1


@ti.kernel
def variance(x: floats) -> ti.f32:
    total = 0.0
    for i in x:
        total += x[i]
    middle = total / ti.max(x.shape[0], 1)
    squares = 0.0
    for i in x:
        squares += (x[i] - middle) ** 2
    return squares / ti.max(x.shape[0], 1)


@ti.kernel
def read_by_all(x: floats, out: floats):
    total = 0.0
    for i in x:
        out[i] = x[i] * 2.0
        total += x[i]
    out[0] += total + out[x.shape[0] - 1]


@ti.kernel
def greatest(x: floats, out: floats, n: ti.i32):
    most = -5.0
    for i in range(n):
        ti.atomic_max(most, x[i])
    out[0] = most
    most = 1.0
    out[1] = most


@pytest.mark.sampled(3)
@pytest.mark.parametrize("count", [0, 1, 7, 1000, 20011])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_what_follows_a_sum_has_all_of_it(count: int, target: str) -> None:
    ti.init(arch=getattr(ti, target))
    if target == "python" and count > 1000:
        pytest.skip("slow")
    s, m, c = ti.field(ti.f32, ()), ti.field(ti.f32, ()), ti.field(ti.i32, ())
    x, out = (np.arange(count) % 7).astype(np.float32), np.full(max(count, 2), -1, np.float32)
    total = int(x.sum())
    for _ in range(2):  # counts of blocks are set back
        chain(x, s, m, c)
        assert (s[None], m[None]) == (1 + total, 2 * (1 + total))
        assert c[None] == 5 + total - (5 + total > 40)
        mean(x, out)
        assert out[0] == pytest.approx(total / max(count, 1), rel=1e-6)
        assert variance(x) == pytest.approx(x.var() if count else 0.0, rel=1e-4, abs=1e-6)
        greatest(x, out, count)
        assert out[:2].tolist() == [x.max() if count else -5.0, 1.0]
        if count > 1:
            read_by_all(x, out)
            assert out[0] == pytest.approx(2 * x[0] + total + 2 * x[-1], rel=1e-6)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_statements_after_a_loop_are_part_of_its_launch(target: str) -> None:
    ti.init(arch=getattr(ti, target))
    x, out = np.ones(9, np.float32), np.ones(9, np.float32)
    s, m, c = ti.field(ti.f32, ()), ti.field(ti.f32, ()), ti.field(ti.i32, ())
    if target != "python":
        assert len(mean.inspect(x, out).module.tasks) == 1
        assert len(chain.inspect(x, s, m, c).module.tasks) == 3
        assert len(variance.inspect(x).module.tasks) == 2
        assert len(read_by_all.inspect(x, out).module.tasks) == 3  # other blocks wrote what it reads
        assert "out[0] = total" in mean.source(x, out)
