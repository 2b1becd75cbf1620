"""Pass `register_tiles` for loops that are no product of matrices as they are written: convolutions, heads, batches."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Four = ti.types.ndarray(ti.f32, 4)
NOTE = "(register_tiles)"


@pytest.fixture(autouse=True)
def _for_few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few iterations be enough; leave out the interpreter, which has no blocks."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")
    modules = [
        sys.modules[f"shadesmith.transpiler.passes.tiles.{n}"] for n in ("parts.register_plan", "register_tiles")
    ]
    for name in ("SHORT", "FEWEST", "THIN"):
        for module in modules:
            monkeypatch.setattr(module, name, 1, raising=False)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.float32)


def field_of(values: np.ndarray) -> Any:
    field = ti.field(ti.f32, values.shape)
    field.from_numpy(values)
    return field


def convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return what a convolution gives: images [n, c, i, j] by weights [m, c, a, b]."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("ncijab,mcab->nmij", windows, w)


def test_a_convolution_of_small_images(target: str) -> None:
    """Images and their axes are one axis, and so are channels and both axes of the weights."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, w = numbers(3, 5, 9, 11), numbers(6, 5, 3, 2)
    images, weights, y = field_of(x), field_of(w), field_of(np.zeros((3, 6, 7, 10), np.float32))

    @ti.kernel
    def convolve():
        for n, m, i, j in y:
            s = 0.0
            for c in range(5):
                for a, b in ti.static(ti.ndrange(3, 2)):
                    s += images[n, c, i + a, j + b] * weights[m, c, a, b]
            y[n, m, i, j] = s

    source = convolve.source(arch=ti.cuda)
    assert NOTE in source and "n_i_j_tile" in source and "c_a_b_next" in source
    convolve()
    assert np.array_equal(y.to_numpy(), convolved(x, w))


@pytest.mark.parametrize("size", [2, 66])
def test_a_convolution_of_ndarrays(target: str, size: int) -> None:
    """Channels are last, and only the launch knows how many images and rows there are."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, w = numbers(2, size + 2, size + 2, 7), numbers(3, 3, 7, 5)

    @ti.kernel
    def convolve(images: Four, weights: Four, y: Four):
        for n, i, j, m in y:
            s = 1.0
            for a, b, c in ti.ndrange(3, 3, 7):
                s += images[n, i + a, j + b, c] * weights[a, b, c, m]
            y[n, i, j, m] = s

    assert NOTE in convolve.source(arch=ti.cuda)
    y = np.zeros((2, size, size, 5), np.float32)
    convolve(x, w, y)
    expected = convolved(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1)).transpose(0, 2, 3, 1)
    assert np.array_equal(y, expected + 1)


@pytest.mark.parametrize("channels", [1, 6, 16])
def test_channels_that_the_launch_knows(target: str, channels: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, w = numbers(2, channels, 8, 20), numbers(4, channels, 3, 3)

    @ti.kernel
    def convolve(images: Four, weights: Four, y: Four):
        for n, m, i, j in y:
            s = 0.0
            for c in range(images.shape[1]):
                for a in range(3):
                    for b in range(3):
                        s += images[n, c, i + a, j + b] * weights[m, c, a, b]
            y[n, m, i, j] = s

    assert NOTE in convolve.source(arch=ti.cuda)
    y = np.zeros((2, 4, 6, 18), np.float32)
    convolve(x, w, y)
    assert np.array_equal(y, convolved(x, w))


@pytest.mark.parametrize("tokens", [1, 70])
def test_tokens_before_heads(target: str, tokens: int) -> None:
    """Rows are the second of four axes."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = numbers(2, 3, tokens, 40), numbers(2, 40, 3, 33)

    @ti.kernel
    def attend(p: Four, v: Four, o: Four):
        for b, i, h, d in o:
            s = 0.0
            for j in range(v.shape[1]):
                s += p[b, h, i, j] * v[b, j, h, d]
            o[b, i, h, d] = s

    assert NOTE in attend.source(arch=ti.cuda)
    o = np.zeros((2, tokens, 3, 33), np.float32)
    attend(x, y, o)
    assert np.array_equal(o, np.einsum("bhij,bjhd->bihd", x, y))
