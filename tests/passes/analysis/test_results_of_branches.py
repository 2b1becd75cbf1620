"""Values that are read as the result of a lazy choice alone, `old if flag > 0 else w[q[j]]`: passes see that, too."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.choices import small_is_large

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")

N, M, K = 20, 64, 64


def field(*shape: int, kind: type = np.int32) -> tuple[ti.Field, np.ndarray]:
    values = np.random.default_rng(sum(shape)).integers(0, 5, shape).astype(kind)
    made = ti.field(ti.i32 if kind is np.int32 else ti.f32, shape)
    made.from_numpy(values)
    return made, values


@pytest.mark.parametrize("flag", [0, 1])
def test_sums_before_the_last_iteration(target: str, flag: int) -> None:
    (x, values), (w, others), (z, _) = field(N, M), field(M), field(N, M)

    @ti.kernel
    def sums(flag: ti.i32):
        for i in range(N):
            s = 0
            for j in range(M):
                before = s
                chosen = before if flag > 0 else w[w[j]]
                s = before + x[i, j]
                z[i, j] = chosen

    sums(flag)
    before = np.cumsum(values, axis=1) - values
    np.testing.assert_array_equal(z.to_numpy(), before if flag else np.tile(others[others], (N, 1)))


@pytest.mark.parametrize("flag", [0, 1])
def test_elements_before_products(target: str, flag: int, monkeypatch: pytest.MonkeyPatch) -> None:
    small_is_large(monkeypatch.setattr)
    a, b, d, c = (field(*shape, kind=np.float32) for shape in ((N, K), (K, M), (N, M), (N, M)))
    (a, left), (b, right), (d, olds), (c, _), (w, others) = a, b, d, c, field(M)

    @ti.kernel
    def products(flag: ti.i32):
        for i, j in c:
            old = d[i, j]
            s = 0.0
            for k in range(K):
                s += a[i, k] * b[k, j]
            c[i, j] = s + (old if flag > 0 else w[w[j]])

    products(flag)
    np.testing.assert_array_equal(c.to_numpy(), left @ right + (olds if flag else others[others]))


@pytest.mark.parametrize("flag", [0, 1])
def test_elements_before_the_products_of_a_row(target: str, flag: int, monkeypatch: pytest.MonkeyPatch) -> None:
    small_is_large(monkeypatch.setattr)
    a, b, e = (field(*shape, kind=np.float32) for shape in ((N, K), (K, M), (N,)))
    (a, left), (b, right), (e, olds), (w, others) = a, b, e, field(M)

    @ti.kernel
    def products(flag: ti.i32):
        for i in range(N):
            old, most = e[i], 0.0
            for j in range(M):
                s = 0.0
                for k in range(K):
                    s += a[i, k] * b[k, j]
                most += ti.max(s, old if flag > 0 else w[w[j]])
            e[i] = most

    products(flag)
    least = olds[:, None] if flag else others[others][None]
    np.testing.assert_array_equal(e.to_numpy(), np.maximum(left @ right, least).sum(axis=1))
