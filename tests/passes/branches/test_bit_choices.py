"""Pass `bit_choices`: one of two floats by a bit takes no branch in C; results are the same bits on every target."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

BY_BIT = "(bit_choices)"
N = 64


@ti.func
def gradient(h, x, y):
    u = x if (h & 1) == 0 else -x
    v = -y if (h & 2) == 2 else y
    w = u + v
    if h & 4 != 0:
        w = u - 2.0 * v
    return w if (h & 8) != 0 else w * 0.5


@ti.kernel
def gradients(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        s = 0.0
        for q in range(3):
            s += gradient(k[i] >> q, x[i], x[N - 1 - i])
        y[i] = s


@ti.kernel
def signs(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        r = x[i]
        if k[i] & 16:
            r = -r
        else:
            r = r + 1.0
        y[i] = r


@ti.kernel
def checkers(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        y[i] = x[i] if i & 1 == 0 else -x[i]


@ti.kernel
def guarded(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        r = 0.0
        if k[i] & 1:
            r = x[i] / x[N - 1 - i]
        if k[i] & 3 == 1:
            r = 2.0
        y[i] = r


def expected_gradients(k: np.ndarray, x: np.ndarray) -> np.ndarray:
    total, other = np.zeros(N, np.float32), x[::-1]
    for q in range(3):
        h = k >> q
        u, v = np.where(h & 1, -x, x), np.where(h & 2, -other, other)
        w = np.where(h & 4, u - np.float32(2) * v, u + v)
        total += np.where(h & 8, w, w * np.float32(0.5))
    return total


def arrays() -> tuple[np.ndarray, np.ndarray, list[ti.Field]]:
    random = np.random.default_rng(1)
    numbers, values = random.integers(0, 1 << 30, N).astype(np.int32), random.normal(size=N).astype(np.float32)
    k, x, y = ti.field(ti.i32, N), ti.field(ti.f32, N), ti.field(ti.f32, N)
    k.from_numpy(numbers)
    x.from_numpy(values)
    return numbers, values, [k, x, y]


def test_gradients_of_noise(target: str) -> None:
    k, x, made = arrays()
    gradients(*made)
    np.testing.assert_allclose(made[2].to_numpy(), expected_gradients(k, x), rtol=1e-5, atol=1e-6)
    source = gradients.source(*made, arch=ti.cpu)
    assert source.count(BY_BIT) == 3 and " ? " not in source and "    if (" not in source
    assert "f32_bits_to_u32(x_) ^ ((uint32_t)(h & 1) << 31u)" in source
    assert BY_BIT not in gradients.source(*made, arch=ti.cuda)


def test_signs_of_zeros_and_nan(target: str) -> None:
    k, x, made = arrays()
    x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan]
    made[1].from_numpy(x)
    signs(*made)
    found, wanted = made[2].to_numpy(), np.where(k & 16, -x, x + np.float32(1))
    assert np.array_equal(np.signbit(found), np.signbit(wanted)) and np.array_equal(found, wanted, equal_nan=True)
    assert BY_BIT in signs.source(*made, arch=ti.cpu)


def test_choices_that_stay(target: str) -> None:
    """Bits of an index are guessed rightly, quotients are not computed in vain, and two bits are no bit."""
    k, x, made = arrays()
    for kernel in (checkers, guarded):
        kernel(*made)
        assert BY_BIT not in kernel.source(*made, arch=ti.cpu)
    wanted = np.where(k & 3 == 1, 2, np.where(k & 1, x / x[::-1], 0))
    np.testing.assert_allclose(made[2].to_numpy(), wanted, rtol=1e-5)
