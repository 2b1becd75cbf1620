"""Pass `own_functions`: iterations of C that fill rows of local arrays are not inlined."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

N = 64
Text = ti.types.ndarray(dtype=ti.u8, ndim=2)
APART = "__attribute__((noinline)) void task("


def distances(length: int, **options):
    """Return a kernel of edit distances, two arrays of characters, and the field of results."""
    random = np.random.default_rng(5)
    first, second = (random.integers(97, 101, (N, length)).astype(np.uint8) for _ in range(2))
    out = ti.field(ti.i32, N)

    @ti.kernel(**options)
    def distance(a: Text, b: Text):
        for p in out:
            row = ti.Vector([0] * (length + 1))
            for j in range(length + 1):
                row[j] = j
            for i in range(length):
                diagonal = row[0]
                row[0] = i + 1
                for j in range(length):
                    old = row[j + 1]
                    row[j + 1] = ti.min(old + 1, row[j] + 1, diagonal + (0 if a[p, i] == b[p, j] else 1))
                    diagonal = old
            out[p] = row[length]

    return distance, (first, second), out


def expected(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    length = first.shape[1]
    row = np.tile(np.arange(length + 1), (N, 1))
    for i in range(length):
        before, row = row, row.copy()
        row[:, 0] = i + 1
        for j in range(length):
            cost = (first[:, i] != second[:, j]).astype(int)
            row[:, j + 1] = np.minimum(np.minimum(before[:, j + 1], row[:, j]) + 1, before[:, j] + cost)
    return row[:, length]


@pytest.mark.parametrize("passes", [[], ["-own_functions"]])
def test_edit_distances(target: str, passes: list[str]) -> None:
    kernel, texts, out = distances(18, passes=passes)
    kernel(*texts)
    np.testing.assert_array_equal(out.to_numpy(), expected(*texts))
    assert (APART in kernel.source(*texts, arch=ti.cpu)) == (not passes)


def test_short_rows_are_inlined(target: str) -> None:
    kernel, texts, _ = distances(12)
    assert APART not in kernel.source(*texts, arch=ti.cpu)


def test_iterations_without_rows_are_inlined(target: str) -> None:
    x, y = ti.field(ti.f32, (N, 40)), ti.field(ti.f32, N)

    @ti.kernel
    def sums():
        for i in y:
            s = 0.0
            for a in range(40):
                for b in range(40):
                    s += x[i, a] * x[i, b]
            y[i] = s

    assert "noinline" not in sums.source(arch=ti.cpu)
