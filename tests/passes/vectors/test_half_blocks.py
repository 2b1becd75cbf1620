"""Pass `half_blocks`: loops of C convert 64 neighbouring halves at a time, to the same floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from written_programs import write

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

CALL = "floats_from_f16("
SOURCE = """
import shadesmith as ti
@ti.kernel
def sums(x: ti.types.ndarray(ti.f16, 2), w: ti.types.ndarray(ti.f16, 1), y: ti.types.ndarray(ti.f32, 1), n: ti.i32):
    for i in y:
        total = 0.0
        for p in range({end}):
            {term}
        y[i] = total
"""
PRODUCT = "total += x[i, p] * ti.cast(w[p], ti.f32)"
TERMS = [PRODUCT, "total += ti.cast(x[i, p + 3], ti.f32) * p", "total -= ti.cast(x[i, n + p - n], ti.f32)"]
ROWS, LONGEST = 9, 210


def made(path: Any, end: str | int, term: str) -> Any:
    return write(path, SOURCE.replace("{end}", str(end)).replace("{term}", term)).sums


def arrays() -> list[Any]:
    """Return small whole numbers, of which all sums are exact, and rows of other halves."""
    random = np.random.default_rng(0)
    x = random.integers(-9, 9, (ROWS, LONGEST)).astype(np.float16)
    x[1] = random.integers(0, 1 << 10, LONGEST).astype(np.uint16).view(np.float16)  # subnormal
    x[2, 70], x[3, 7], x[4, 130], x[5] = np.inf, -np.inf, np.nan, -0.0
    w = random.integers(1, 5, LONGEST).astype(np.float16)
    return [x, w, np.zeros(ROWS, np.float32)]


@pytest.mark.sampled(3, each="end")
@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("end", ["n", 16, 40, 50, 64, 100, 128])
def test_results(tmp_path, end: str | int, term: str) -> None:
    lengths = [-70, 0, 1, 63, 64, 65, 200] if end == "n" else [200]
    results: list[list[np.ndarray]] = []
    for arch in (ti.cpu, ti.python):
        ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False)
        sums = made(tmp_path / f"{arch}.py", end, term)
        results.append([])
        for length in lengths:
            values = arrays()
            sums(*values, length)
            results[-1].append(values[2])
    assert np.array_equal(*results, equal_nan=True)


@pytest.mark.parametrize(("end", "blocks"), [("n", 2), (16, 2), (64, 2), (100, 2), (12, 0), (50, 0)])
def test_rows_of_16_halves_and_more_have_blocks(tmp_path, end: str | int, blocks: int) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    source = made(tmp_path / "blocks.py", end, PRODUCT).source(*arrays(), 9)
    assert source.count(f"    {CALL}") - source.count(f"    {CALL}float") == blocks


@pytest.mark.parametrize("term", [f"{PRODUCT}; w[p] = 1", "total += ti.cast(x[i, 2 * p], ti.f32)"])
def test_stores_and_distant_halves_have_none(tmp_path, term: str) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    assert CALL not in made(tmp_path / "others.py", "n", term).source(*arrays(), 9)


def test_halves_of_arrays_with_gaps_stay_apart(tmp_path) -> None:
    """Neighbours along an axis of a transposed array, or of every second element, do not follow each other."""
    results = []
    for arch in (ti.cpu, ti.python):
        ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False)
        x, w, y = arrays()
        x, w = x.repeat(2, axis=1)[:, ::2], np.stack([w, -w], 1)[:, 0]
        x[1] = w  # a conversion of whole rows would mix them
        sums = made(tmp_path / f"{arch}.py", 64, PRODUCT)
        sums(x, w, y, 64)
        results.append(y)
        if arch == ti.cpu:
            assert f"    {CALL}" not in sums.source(x, w, y, 64)
    assert np.array_equal(*results, equal_nan=True)
