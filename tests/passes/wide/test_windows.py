"""Pass `wide_accesses`: windows with tests of rows and columns inside, and windows of other arrays."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.wide import widenable

pytestmark = pytest.mark.sampled(3)  # the rest in `make test-all`

WIDE = "iterations at a time, by accesses of 16 bytes"
Vector = ti.types.ndarray(ti.f32, 1)
Grid = ti.types.ndarray(ti.f32, 2)


@pytest.fixture(autouse=True)
def _short_loops(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Let loops over small fields be widened, too."""
    monkeypatch.setattr(widenable, "FEW", 1)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, enable_fallback=False, offline_cache=False, fast_math=False)


def some(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) * 37 % 97 - 40).astype(np.float32)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("m", [12, 13])
def test_arrays_that_only_a_loop_inside_loads_may_start_anywhere(target: str, m: int, first: int) -> None:
    """Neither the address of `x` nor the length of its rows says anything about `y`."""

    @ti.kernel
    def blur(x: Grid, y: Grid):
        for i, j in y:
            if i > 0 and j > 0 and i < y.shape[0] - 1 and j < y.shape[1] - 1:
                total = 0.0
                for p, q in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                    total += x[i + p, j + q]
                y[i, j] = total

    x, y, expected = some(5 * m + first)[first:].reshape(5, m), np.zeros((5, 12), np.float32), np.zeros((5, 12))
    blur(x, y)
    expected[1:-1, 1:-1] = sum(x[p : 3 + p, q : 10 + q] for p in range(3) for q in range(3))
    np.testing.assert_array_equal(y, expected)
    for arch in (ti.cuda, ti.vulkan):
        source = blur.source(x, y, arch=arch)
        assert WIDE in source and source.count("% 16 == 0") == 2 and "args.x_n1 % 4 == 0" in source
