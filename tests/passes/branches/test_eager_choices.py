"""Pass `eager_choices`: C computes both sides of `and` and `or` in choices of serial loops."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once


def test_sums_of_words_with_a_carry(target: str) -> None:
    rows, words = 40, 4
    x, y, z = (ti.field(ti.u32, (rows, words)) for _ in range(3))

    @ti.kernel
    def add():
        for i in range(rows):
            carry = ti.u32(0)
            for w in range(words):
                v = x[i, w]
                s = v + y[i, w] + carry
                carry = ti.u32(1) if s < v or (carry > 0 and s == v) else ti.u32(0)
                z[i, w] = s

    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 1 << 32, (rows, words), dtype=np.uint64) for _ in range(2))
    a[:5], b[:5, 0] = 0xFFFFFFFF, 1
    b[:5, 1:] = 0
    x.from_numpy(a.astype(np.uint32))
    y.from_numpy(b.astype(np.uint32))
    add()
    numbers = [[sum(int(v) << (32 * k) for k, v in enumerate(row)) for row in side] for side in (a, b)]
    expected = [(p + q) % (1 << 128) for p, q in zip(*numbers, strict=True)]
    assert [sum(int(v) << (32 * k) for k, v in enumerate(row)) for row in z.to_numpy()] == expected
    assert "(s < v) | ((carry > 0u) & (s == v)) ? 1u : 0u" in add.source(arch=ti.cpu)
    assert "s < v || (carry > 0u && s == v)" in add.source(arch=ti.cuda)


def test_comparisons_with_nan(target: str) -> None:
    n = 64
    x, y = ti.field(ti.f32, (n, n)), ti.field(ti.i32, n)

    @ti.kernel
    def count():
        for i in range(n):
            m, last = 0, 0.0
            for k in range(n):
                v = x[i, k]
                m = m + 1 if (v < last and v > -2) or v == 3.0 else m - 1
                last = v
            y[i] = m

    values = (np.arange(n * n).reshape(n, n) * 7 % 13 - 6).astype(np.float32)
    values[::3, ::5] = np.nan
    x.from_numpy(values)
    count()
    last = np.concatenate([np.zeros((n, 1), np.float32), values[:, :-1]], axis=1)
    taken = ((values < last) & (values > -2)) | (values == 3)
    assert np.array_equal(y.to_numpy(), np.where(taken, 1, -1).sum(axis=1))


def test_what_stays() -> None:
    """Branches, what is loaded for a side alone, and choices outside of serial loops."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    x, y = ti.field(ti.i32, 100), ti.field(ti.i32, 100)

    @ti.kernel
    def branch():
        for i in range(100):
            m = 0
            for k in range(50):
                if m < k or (m > 3 and m == i):
                    y[k] = m
                m = (m * 7 + k) % 11
            x[i] = m

    @ti.kernel
    def loaded():
        for i in range(100):
            m = 0
            for k in range(50):
                m = 1 if m < k and x[(m * k) % 100] > 3 else m + 2
            y[i] = m

    @ti.kernel
    def alone():
        for i in range(100):
            m = x[i]
            y[i] = 1 if m < i or (m > 3 and m == 2 * i) else 0

    for kernel in (branch, loaded, alone):
        source = kernel.source()
        assert ") | (" not in source and ") & (" not in source, source
