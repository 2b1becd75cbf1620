"""Pass `blocks_in_order`: stencils in three dimensions have one iteration for each thread; results do not change."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Cube = ti.types.ndarray(ti.f32, 3)


@ti.kernel
def diffuse(old: Cube, new: Cube):
    for i, j, k in ti.ndrange((1, old.shape[0] - 1), (1, old.shape[1] - 1), (1, old.shape[2] - 1)):
        around = old[i - 1, j, k] + old[i + 1, j, k] + old[i, j - 1, k] + old[i, j + 1, k]
        new[i, j, k] = old[i, j, k] + 2 * (around + old[i, j, k - 1] - old[i, j, k + 1])


@ti.kernel
def double(old: Cube, new: Cube):
    for i, j, k in old:
        new[i, j, k] = 2 * old[i, j, k]


@pytest.mark.parametrize(
    "shape",
    [(0, 3, 3), (2, 5, 5), (3, 3, 3), (5, 7, 9), (4, 5, 12), (3, 3, 4), (33, 2, 65), (17, 65, 129), (9, 33, 132)],
)
def test_results(target: str, shape: tuple[int, ...]) -> None:
    if target == "python":
        shape = tuple(min(extent, 9) for extent in shape)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, enable_fallback=False)
    x = (np.arange(np.prod(shape)).reshape(shape) % 64).astype(np.float32)
    found, expected = np.zeros_like(x), np.zeros_like(x)
    diffuse(x, found)
    inner = x[1:-1, 1:-1, 1:-1]
    around = x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1]
    expected[1:-1, 1:-1, 1:-1] = inner + 2 * (around + x[1:-1, 1:-1, :-2] - x[1:-1, 1:-1, 2:])
    assert np.array_equal(found, expected)


def test_sources() -> None:
    x = np.zeros((3, 3, 3), np.float32)
    ti.init(arch=ti.python, log_level=ti.ERROR)
    for arch in (ti.cuda, ti.vulkan):
        source = diffuse.source(x, x, arch=arch)
        assert "#define BLOCK 256" in source and "(blocks_in_order)" in source and "+= stride" not in source
        assert "args.by_extent_k)" in source and "args.by_extent_j)" in source
        assert "(blocks_in_order)" not in double.source(x, x, arch=arch)
    assert "(blocks_in_order)" not in diffuse.source(x, x, arch=ti.x64)
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-blocks_in_order")
    assert "(blocks_in_order)" not in diffuse.source(x, x, arch=ti.cuda)
    ti.init(arch=ti.python, log_level=ti.ERROR, default_gpu_block_dim=64)
    assert "#define BLOCK 64" in diffuse.source(x, x, arch=ti.cuda)
