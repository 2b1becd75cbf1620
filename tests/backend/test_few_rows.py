"""The host's threads share the iterations of all loops of which the outer ones have few."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti


def directives(source: str) -> list[str]:
    """Return the lines of OpenMP's directives and the heads of the loops of an entry."""
    entry = source[source.index("_0(const struct Args *arguments)") :]
    return [line.strip() for line in re.findall(r"^ *(?:#pragma omp .*|for .*) ?\\?$", entry, re.MULTILINE)]


@pytest.mark.sampled(3, each="body")
@pytest.mark.parametrize("rows", [1, 3, 64])
@pytest.mark.parametrize("columns", [200, 1 << 16])
@pytest.mark.parametrize("body", ["plain", "loops", "while"])
def test_few_rows(rows: int, columns: int, body: str) -> None:
    ti.init(arch=ti.cpu)
    x, y = ti.field(ti.f32, (rows, columns)), ti.field(ti.f32, (rows, columns))

    @ti.kernel
    def k():
        for i, j in x:
            s = 0.0
            if ti.static(body == "loops"):
                for t in range(3):
                    s += ti.exp(x[i, j] * t)
            elif ti.static(body == "while"):
                s = x[i, j]
                while s < 2.0:
                    s = s * 2.0 + 0.1
            else:
                s = x[i, j] * 2.0
            y[i, j] = s

    numbers = np.random.default_rng(0).random((rows, columns), dtype=np.float32)
    x.from_numpy(numbers)
    k()
    expected = {"plain": numbers * 2, "loops": np.exp(numbers) + np.exp(2 * numbers) + 1}.get(body)
    if expected is None:
        expected = numbers
        while (expected < 2).any():
            expected = np.where(expected < 2, expected * np.float32(2) + np.float32(0.1), expected)
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-5)
    omp, *rest = directives(k.source())
    if rows == 64:  # the rows are enough
        assert omp.startswith("#pragma omp parallel for firstprivate(args) schedule(") or rows * columns < 1 << 14
    elif columns == 200:
        assert ("collapse(2)" in omp) == (body == "while")  # of the others, iterations of a row are lanes of vectors
    else:
        assert omp.startswith("for ") and rest[0].startswith("#pragma omp parallel for ")


def test_rows_of_ndarrays_are_shared() -> None:
    ti.init(arch=ti.cpu)

    @ti.kernel
    def k(a: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in a:
            a[i, j] += 1.0

    assert "collapse" not in k.source(ti.ndarray(ti.f32, (2, 100)))
