"""Pass `register_tiles`: tiles of 128 x 16 and 16 x 128 for products with few columns or rows, also in parts."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [pytest.mark.targets("vulkan", "cuda"), pytest.mark.usefixtures("tiles_of_few")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("columns", [8, 13, 16])
@pytest.mark.parametrize("in_parts", [False, True])
def test_products(target: str, columns: int, in_parts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole tiles and others; the gradients of low-rank adapters, whose sums are in parts."""
    if in_parts:
        module = sys.modules["shadesmith.transpiler.passes.tiles.split_sums"]
        monkeypatch.setattr(module, "LONG", 64)
        monkeypatch.setattr(module, "SHORTEST_PART", 16)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    rows, length = (128, 64) if columns == 16 else (131, 80)
    x, y = (np.random.default_rng(n).integers(-9, 9, (n, length)).astype(np.float32) for n in (rows, columns))
    a, b = ti.field(ti.f32, (rows, length)), ti.field(ti.f32, (columns, length))
    c, d = ti.field(ti.f32, (rows, columns)), ti.field(ti.f32, (columns, rows))
    a.from_numpy(x)
    b.from_numpy(y)

    @ti.kernel
    def multiply():
        for i, j in c:
            s = 0.0
            for k in range(length):
                s += a[i, k] * b[j, k]
            c[i, j] = s
        for j, i in d:
            s = 1.0
            for k in range(length):
                s -= b[j, k] * a[i, k]
            d[j, i] = s

    source = multiply.source(arch=ti.cuda)
    assert "a block computes 128 x 16 elements" in source and "a block computes 16 x 128 elements" in source
    assert ("(split_sums)" in source) == in_parts
    multiply()
    assert np.array_equal(c.to_numpy(), x @ y.T) and np.array_equal(d.to_numpy(), 1 - y @ x.T)
