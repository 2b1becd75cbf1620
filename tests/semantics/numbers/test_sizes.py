"""Loops and arrays too large for 32-bit counts are refused before the launch; those that fit are right."""

import numpy as np
import pytest

import shadesmith as ti


@ti.kernel
def count_cells(n: ti.i32, m: ti.i32) -> ti.i32:
    s = 0
    for i, j in ti.ndrange(n, m):
        s += 1
    return s


@ti.kernel
def count_constant() -> ti.i32:
    s = 0
    for i, j in ti.ndrange(2**16, 2**16):
        s += 1
    return s


def test_a_loop_over_2_to_the_32_is_refused_at_launch(target: str) -> None:
    with pytest.raises(OverflowError, match="4294967296 iterations"):
        count_cells(2**16, 2**16)
    assert count_cells(2**4, 2**4) == 256


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_constant_loop_over_2_to_the_32_is_refused_with_its_line(target: str) -> None:
    if target == "python":  # it has no threads to count, and finds out when it runs
        with pytest.raises(OverflowError, match="4294967296 iterations"):
            count_constant()
        return
    with pytest.raises(ti.TaichiTypeError, match="4,294,967,296 iterations") as caught:
        count_constant()
    assert caught.value.location.python_line == "for i, j in ti.ndrange(2**16, 2**16):"


def test_arrays_beyond_2_gib_are_right() -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)

    @ti.kernel
    def mark(x: ti.types.ndarray(ti.i8, 2)):
        for i, j in ti.ndrange(3, 3):
            x[i * 40_000, j] = 7

    x = np.zeros((90_000, 30_000), np.int8)  # 2.5 GiB, untouched but for nine cells
    mark(x)
    assert x[80_000, :4].tolist() == [7, 7, 7, 0] and x[40_000, 2] == 7 and x[1, 0] == 0
    ti.reset()


def test_vulkan_refuses_arrays_beyond_its_indices() -> None:
    ti.init(arch=ti.vulkan, log_level=ti.WARN)

    @ti.kernel
    def mark(x: ti.types.ndarray(ti.i8, 2)):
        for i, j in ti.ndrange(3, 3):
            x[i, j] = 7

    with pytest.raises(ti.TaichiRuntimeTypeError, match="2,700,000,000 elements"):
        mark(np.zeros((90_000, 30_000), np.int8))
    ti.reset()
