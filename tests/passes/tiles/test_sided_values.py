"""Pass `register_tiles`: tiles of what a block computes of elements of a row or of a column, once for each of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

NOTE = "(register_tiles)"
MODULE = sys.modules["shadesmith.transpiler.passes.tiles.parts.register_plan"]


@pytest.fixture(autouse=True)
def _for_few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few iterations be enough; leave out the interpreter, which has no blocks."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")
    for name in ("SHORT", "FEWEST", "THIN"):
        monkeypatch.setattr(MODULE, name, 1)


def field_of(values: np.ndarray) -> Any:
    field = ti.field(ti.i32 if values.dtype == np.int32 else ti.f32, values.shape)
    field.from_numpy(values)
    return field


def randoms(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.random(shape, np.float32) + 0.5 for shape in shapes]


def test_weights_of_a_softmax(target: str) -> None:
    """An exponential of an element and of a number of its row, which a block computes once for 64 columns."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y, z = randoms((70, 33), (33, 66), (70,))
    a, b, most, c = field_of(x), field_of(y), field_of(z), ti.field(ti.f32, (70, 66))

    @ti.kernel
    def weigh():
        for i, j in c:
            s = 0.0
            for k in range(33):
                s += ti.exp(a[i, k] - most[i]) * b[k, j]
            c[i, j] = s

    source = weigh.source(arch=ti.cuda)
    assert NOTE in source and source.count("expf(") == 1
    weigh()
    assert np.allclose(c.to_numpy(), np.exp(x - z[:, None]) @ y, rtol=1e-4)


@pytest.mark.parametrize("is_fast", [True, False])
def test_factors_of_rows_and_of_columns(target: str, is_fast: bool) -> None:
    """`a * b * z / r` is a product of two, if sums may be rounded in another way."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, fast_math=is_fast)
    x, y, z, r = randoms((70, 33), (33, 66), (66,), (70,))
    a, b, of_column, of_row, c = field_of(x), field_of(y), field_of(z), field_of(r), ti.field(ti.f32, (70, 66))

    @ti.kernel
    def scale():
        for i, j in c:
            s = 0.0
            for k in range(33):
                s += 2.0 * a[i, k] * b[k, j] * of_column[j] / of_row[i]
            c[i, j] = s

    assert (NOTE in scale.source(arch=ti.cuda)) == is_fast
    scale()
    assert np.allclose(c.to_numpy(), 2 * (x @ y) * z / r[:, None], rtol=1e-4)


def test_rows_that_are_named_by_an_array(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = randoms((9, 20), (20, 66))
    names = np.random.default_rng(1).integers(0, 9, 70).astype(np.int32)
    a, b, of_row, c = field_of(x), field_of(y), field_of(names), ti.field(ti.f32, (70, 66))

    @ti.kernel
    def gather():
        for i, j in c:
            s = 0.0
            for k in range(20):
                s += a[of_row[i], k] * b[k, j]
            c[i, j] = s

    assert NOTE in gather.source(arch=ti.cuda)
    gather()
    assert np.allclose(c.to_numpy(), x[names] @ y, rtol=1e-4)
