"""Many reductions of one kind in a loop are one, of a vector, which a block joins at once."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

SIZES = (0, 1, 33, 1000)


def sums_of_products(n: int, rows: int = 4):
    """Return a kernel that adds to the upper half of a matrix and to a vector, its data, and what it computes."""
    j, r = ti.Vector.field(rows, ti.f32, max(n, 1)), ti.field(ti.f32, max(n, 1))
    h, b = ti.Matrix.field(rows, rows, ti.f32, ()), ti.Vector.field(rows, ti.f32, ())

    @ti.kernel
    def add(n: ti.i32):
        for i in range(n):
            for p in ti.static(range(rows)):
                b[None][p] += j[i][p] * r[i]
                for q in ti.static(range(p, rows)):
                    h[None][p, q] += j[i][p] * j[i][q]

    return add, j, r, h, b


@pytest.mark.parametrize("n", SIZES)
def test_normal_equations(n: int, target: str) -> None:
    add, j, r, h, b = sums_of_products(n)
    dice = np.random.default_rng(n)
    given_j, given_r = dice.random((max(n, 1), 4), np.float32), dice.random(max(n, 1), np.float32)
    j.from_numpy(given_j)
    r.from_numpy(given_r)
    h.fill(1)
    add(n)
    add(n)
    used_j, used_r = given_j[:n].astype(np.float64), given_r[:n].astype(np.float64)
    expected = 2 * np.triu(used_j.T @ used_j) + 1
    np.testing.assert_allclose(h.to_numpy(), expected, rtol=2e-6)
    np.testing.assert_allclose(b.to_numpy(), 2 * used_j.T @ used_r, rtol=2e-6)


@pytest.mark.parametrize("language", ["cuda", "vulkan"])
def test_a_block_waits_once(language: str) -> None:
    ti.init(arch=ti.python)
    add, *_ = sums_of_products(9)
    text = add.source(9, arch=getattr(ti, language))
    assert text.count("= block_sum(") == 2  # of a block, and of all blocks
    assert "vec14 sums" in text and "sums.e[13] += " in text
    waits = "__syncthreads();" if language == "cuda" else "barrier();"
    assert text.count(waits) <= 4


def test_a_thread_of_c_has_them_apart() -> None:
    """So that loops are vectorized."""
    ti.init(arch=ti.python)
    text = sums_of_products(9)[0].source(9, arch=ti.cpu)
    assert "sums.e" not in text and "h_0_1_sum" in text


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["i32", "u32", "i64", "f32", "f64"])
def test_extremes_and_sums_of_columns(kind: str, n: int, target: str) -> None:
    type = getattr(ti, kind)
    columns = 5
    x = ti.field(type, (max(n, 1), columns))
    low, high, total = ti.field(type, columns), ti.field(type, columns), ti.field(type, columns)
    dtype = x.to_numpy().dtype
    given = np.random.default_rng(n).integers(0, 7, (max(n, 1), columns)).astype(dtype)
    if kind == "f32" and n > 3:
        given[3, 2] = np.nan
    x.from_numpy(given)
    low.fill(5)
    high.fill(1)

    @ti.kernel
    def find(n: ti.i32):
        for i in range(n):
            for k in ti.static(range(columns)):
                ti.atomic_min(low[k], x[i, k])
                ti.atomic_max(high[k], x[i, k])
                total[k] += x[i, k]

    find(n)
    used = given[:n]
    with np.errstate(all="ignore"):
        expected = np.fmin.reduce(used, axis=0, initial=5), np.fmax.reduce(used, axis=0, initial=1)
        assert (low.to_numpy() == expected[0]).all() and (high.to_numpy() == expected[1]).all()
        sums = used.astype(np.float64).sum(axis=0)
        np.testing.assert_allclose(total.to_numpy().astype(np.float64), sums, rtol=1e-6)


@pytest.mark.parametrize("n", (1, 70))
def test_vectors_and_matrices_are_joined_at_once(n: int, target: str) -> None:
    x = ti.Vector.field(3, ti.f32, n)
    mean, moment, square = (
        ti.Vector.field(3, ti.f32, ()),
        ti.Matrix.field(3, 3, ti.f32, ()),
        ti.Matrix.field(2, 5, ti.i32, ()),
    )
    given = np.random.default_rng(1).random((n, 3), np.float32)
    x.from_numpy(given)

    @ti.kernel
    def add():
        for i in x:
            mean[None] += x[i]
            moment[None] += x[i].outer_product(x[i])
            square[None] += ti.Matrix([[i, 1, 2, 3, 4], [5, 6, 7, 8, -i]])

    add()
    np.testing.assert_allclose(mean.to_numpy(), given.sum(axis=0, dtype=np.float64), rtol=2e-6)
    np.testing.assert_allclose(moment.to_numpy(), given.astype(np.float64).T @ given, rtol=2e-6)
    triangle = n * (n - 1) // 2
    expected = n * np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 0]]) + np.array(
        [[triangle, 0, 0, 0, 0], [0, 0, 0, 0, -triangle]]
    )
    assert (square.to_numpy() == expected).all()
