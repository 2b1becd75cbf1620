"""Pass `carried_extremes`: minima of several floats of which one is what the iteration before has stored."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

N, LENGTH = 16, 12
Rows = ti.types.ndarray(dtype=ti.f32, ndim=2)


@pytest.mark.parametrize("passes", [[], ["-carried_extremes"]])
def test_time_warping(target: str, passes: list[str]) -> None:
    random = np.random.default_rng(2)
    a, b = (random.random((N, LENGTH), dtype=np.float32) for _ in range(2))
    out = ti.field(ti.f32, N)

    @ti.kernel(passes=passes)
    def warp(a: Rows, b: Rows):
        for p in out:
            row = ti.Vector([1e9] * (LENGTH + 1))
            row[0] = 0.0
            for i in range(LENGTH):
                diagonal = row[0]
                row[0] = 1e9
                for j in range(LENGTH):
                    old = row[j + 1]
                    row[j + 1] = ti.abs(a[p, i] - b[p, j]) + ti.min(old, row[j], diagonal)
                    diagonal = old
            out[p] = row[LENGTH]

    warp(a, b)
    row = np.full((N, LENGTH + 1), 1e9, np.float32)
    row[:, 0] = 0
    for i in range(LENGTH):
        before, row = row, row.copy()
        row[:, 0] = 1e9
        for j in range(LENGTH):
            row[:, j + 1] = abs(a[:, i] - b[:, j]) + np.minimum(np.minimum(before[:, j + 1], row[:, j]), before[:, j])
    np.testing.assert_array_equal(out.to_numpy(), row[:, LENGTH])
    source = warp.source(a, b, arch=ti.cpu)
    assert ("min_f32(row[j], min_f32(old, diagonal))" in source) == (not passes), source


def test_elements_of_arrays_and_four_operands(target: str) -> None:
    x = ti.field(ti.f32, (4, 40))
    x.from_numpy(np.random.default_rng(3).random((4, 40), dtype=np.float32))
    expected = x.to_numpy()
    for k in range(1, 40):
        expected[:, k] = np.maximum(np.maximum(expected[:, k] + 0.5, expected[:, k - 1]), 0.25) * np.float32(0.75)

    @ti.kernel
    def scan():
        for i in range(4):
            for k in range(1, 40):
                x[i, k] = ti.max(ti.max(x[i, k] + 0.5, x[i, k - 1]), 0.25) * 0.75

    scan()
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_what_a_later_iteration_stores_keeps_its_place(target: str) -> None:
    x = ti.field(ti.f32, (4, 40))

    def body(passes: list[str]) -> str:
        @ti.kernel(passes=passes)
        def scan():
            for i in range(4):
                for k in range(39):
                    x[i, k] = ti.min(ti.min(x[i, k], x[i, k + 1]), x[i, 39])

        return scan.source(arch=ti.cpu).partition("{")[2]

    assert body([]) == body(["-carried_extremes"])
