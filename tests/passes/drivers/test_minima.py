"""Pass `minima`: kernels for Vulkan that negate integers invert sign bits; the numbers are right on every target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan.capabilities import read_capabilities
from shadesmith.runtime.devices.vulkan.instance import LLVMPIPE_DRIVER_ID, NVIDIA_DRIVER_ID, Adapter

Array = ti.types.ndarray(ti.i32, 1)


@ti.kernel
def least_of_three(x: Array, low: ti.types.ndarray(ti.i8, 1)):
    for i in range(1):
        x[4] = ti.max(ti.max(x[0], -x[1]), x[2])
        x[5] = ti.min(-x[0], -x[1], x[3])
        best = -x[3]
        for k in range(4):
            best = ti.max(best, -x[k])
        x[6] = best
        low[2] = ti.min(-low[0], low[1], low[2])


@ti.kernel
def greatest_points(x: ti.types.ndarray(ti.types.vector(2, ti.i32), 1)):
    for i in range(1):
        x[i] = ti.max(ti.max(x[0], -x[1]), x[2])


@ti.kernel
def plain(x: Array):
    for i in x:
        x[i] = ti.max(ti.min(x[i], 7), 2)


@ti.kernel
def greater(x: Array):
    for i in x:
        x[i] = ti.max(-x[i], 2)


def test_results(target: str) -> None:
    x = np.array([-5, 7, -9, 3, 0, 0, 0], np.int32)
    low = np.array([3, -2, 9], np.int8)
    least_of_three(x, low)
    ti.sync()
    points = np.array([[-5, 1], [7, 2], [-9, 3]], np.int32)
    greatest_points(points)
    ti.sync()
    assert points[0].tolist() == [-5, 3], "vectors, too"
    assert x[4:].tolist() == [-5, -7, 9] and low.tolist() == [3, -2, -3]


def test_only_kernels_that_negate_change() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros(8, np.int32)
    changed = least_of_three.source(x, np.zeros(3, np.int8), arch=ti.vulkan)
    assert "= biased_max_i32(biased_max_i32(" in changed and "= max(" not in changed
    assert "max(min(x(ii), 7), 2)" in plain.source(x, arch=ti.vulkan)
    assert "biased_" not in least_of_three.source(x, np.zeros(3, np.int8), arch=ti.cuda)


@pytest.mark.parametrize("driver_id", [LLVMPIPE_DRIVER_ID, NVIDIA_DRIVER_ID])
def test_devices_of_nvidia_are_known(driver_id: int) -> None:
    adapter = Adapter(
        0, None, "a GPU", "discrete", 0, driver_id, "a driver", 0, frozenset(), frozenset(), 128, 128, (1, 1, 1), 16384, 32,
        frozenset(), frozenset(),
    )  # fmt: skip
    capabilities = read_capabilities(adapter)
    assert capabilities.miscompiles_integers == (driver_id == NVIDIA_DRIVER_ID)


def test_archives_may_run_on_any_device(tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    module = ti.aot.Module(ti.vulkan)
    module.add_kernel(greater, template_args={"x": ti.types.ndarray(ti.i32, 1)})
    module.save(str(tmp_path / "archive"))
    assert any("biased_max_i32(" in path.read_text() for path in tmp_path.rglob("*.comp"))
