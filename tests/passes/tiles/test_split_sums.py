"""Pass `split_sums`: long sums of few elements, in parts."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

NOTE = "(split_sums)"


@pytest.fixture(autouse=True)
def _for_few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let short sums be enough; leave out the interpreter, which has no blocks."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")
    limits = {"LONG": 64, "SHORTEST_PART": 16, "FEWEST": 1, "THIN": 1, "SHORT": 1}
    for module in [
        sys.modules[f"shadesmith.transpiler.passes.tiles.{n}"] for n in ("parts.register_plan", "split_sums")
    ]:
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value, raising=False)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.float32)


def field_of(values: np.ndarray, dtype: Any = ti.f32) -> Any:
    field = ti.field(dtype, values.shape)
    field.from_numpy(values)
    return field


@pytest.mark.parametrize("columns", [8, 65])
def test_a_covariance(target: str, columns: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x = numbers(192, columns)
    values, c = field_of(x), field_of(np.ones((columns, columns), np.float32))

    @ti.kernel
    def covariance():
        for p, q in c:
            s = c[p, q]
            for i in range(192):
                s -= values[i, p] * values[i, q]
            c[p, q] = s / 2

    assert covariance.source(arch=ti.cuda).count(NOTE) == 2
    covariance()
    assert np.array_equal(c.to_numpy(), (1 - x.T @ x) / 2)


def test_the_gradient_of_a_convolution_by_its_weights(target: str) -> None:
    """Three serial loops are one, of which a part may begin inside of a row."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = numbers(4, 3, 10, 10), numbers(4, 5, 8, 8)
    images, gradient, w = field_of(x), field_of(y), field_of(np.zeros((5, 3, 3, 3), np.float32))

    @ti.kernel
    def by_weights():
        for m, c, a, b in w:
            s = 0.0
            for n in range(4):
                for i in range(8):
                    for j in range(8):
                        s += gradient[n, m, i, j] * images[n, c, i + a, j + b]
            w[m, c, a, b] = s

    assert by_weights.source(arch=ti.cuda).count(NOTE) == 2
    by_weights()
    windows = np.lib.stride_tricks.sliding_window_view(x, (8, 8), axis=(2, 3))
    assert np.array_equal(w.to_numpy(), np.einsum("nmij,ncabij->mcab", y, windows))


def test_sums_of_integers_wrap(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, fast_math=False)
    x = np.random.default_rng(0).integers(-(1 << 31), (1 << 31) - 1, (128, 9)).astype(np.int32)
    values, c = field_of(x, ti.i32), ti.field(ti.i32, (9, 9))

    @ti.kernel
    def products():
        for p, q in c:
            for i in range(128):
                c[p, q] += values[i, p] * values[i, q]

    assert NOTE in products.source(arch=ti.cuda)
    products()
    assert np.array_equal(c.to_numpy(), x.T @ x)


def test_what_does_not_fit_runs_as_before() -> None:
    sources = []
    for options in ({"fast_math": False}, {"passes": "-split_sums"}):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        x, c = ti.field(ti.f32, (128, 9)), ti.field(ti.f32, (9, 9))

        @ti.kernel
        def products():
            for p, q in c:
                s = 0.0
                for i in range(128):
                    s += x[i, p] * x[i, q]
                c[p, q] = s

        sources.append(products.source(arch=ti.cuda))
    assert not any(NOTE in source for source in sources)
