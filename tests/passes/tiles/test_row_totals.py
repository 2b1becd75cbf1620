"""Pass `register_tiles`: atomic operations on elements of rows, one for all columns of a thread."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [pytest.mark.targets("vulkan", "cuda"), pytest.mark.usefixtures("tiles_of_few")]

NOTE = "one atomic operation for all columns of the thread (register_tiles)"
A, B, K = 70, 67, 18
Numbers = ti.types.ndarray(ti.i32, 2)


def test_counts_and_extremes(target: str) -> None:
    """The element of a row need not exist where its condition never holds; tiles are not whole."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = (np.random.default_rng(n).integers(-9, 9, (n, K)).astype(np.int32) for n in (A, B))
    product = np.zeros((A, B), np.int32)

    @ti.kernel
    def find(x: Numbers, y: Numbers, c: Numbers, limit: ti.i32):
        for a, b in c:
            n = 0
            for k in range(x.shape[1]):
                n += x[a, k] * y[b, k]
            c[a, b] = n
            if n > limit and a > 0:
                counts[a - 1] -= 1
            ti.atomic_max(greatest[a], n)

    counts, greatest = ti.field(ti.i32, A - 1), ti.field(ti.i32, A)
    greatest.fill(-1)
    find(x, y, product, 30)
    expected = x @ y.T
    assert np.array_equal(product, expected)
    assert np.array_equal(counts.to_numpy(), -(expected > 30)[1:].sum(1))
    assert np.array_equal(greatest.to_numpy(), np.maximum(-1, expected.max(1)))
    assert find.source(x, y, product, 30, arch=ti.cuda).count(NOTE) >= 2


@pytest.mark.parametrize("reason", ["columns", "loaded", "two kinds", "floats"])
def test_others_stay(reason: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    kind = ti.f32 if reason == "floats" else ti.i32
    x, y, c, h = ti.field(kind, (A, K)), ti.field(kind, (B, K)), ti.field(kind, (A, B)), ti.field(kind, A)

    @ti.kernel
    def count():
        for a, b in c:
            n = ti.cast(0, kind)
            for k in range(K):
                n += x[a, k] * y[b, k]
            if ti.static(reason == "columns"):
                h[b] += n
            elif ti.static(reason == "loaded"):
                h[a] += 1
                c[a, b] = h[b]
            elif ti.static(reason == "two kinds"):
                h[a] += 1
                ti.atomic_max(h[b], n)
            else:
                h[a] += n

    source = count.source(arch=ti.cuda)
    assert NOTE not in source and "(register_tiles)" in source
