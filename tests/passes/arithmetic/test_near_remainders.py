"""Remainders of numbers near their divisor need no division on GPUs (`ranges`); the numbers are Python's everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

Row = ti.types.ndarray(ti.i32, 1)
Grid = ti.types.ndarray(ti.i32, 2)
NEAR = "mod_near_i32"


def has_near(kernel: Any, *arguments: Any) -> bool:
    """Return whether the sources for GPUs have such remainders; that for C has none."""
    assert NEAR not in kernel.source(*arguments, arch=ti.cpu)
    cuda, vulkan = (NEAR in kernel.source(*arguments, arch=arch) for arch in (ti.cuda, ti.vulkan))
    assert cuda == vulkan
    return cuda


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 1000])
@pytest.mark.all_targets
def test_neighbours_on_a_ring_of_known_length(target: str, n: int) -> None:
    """Up to a length away from each index. By a power of two the remainder is a mask."""
    x, y = ti.field(ti.i32, n), ti.field(ti.i32, (n, 5))
    offsets = [-n, -1, 0, 1, n - 1]
    x.from_numpy(np.arange(n, dtype=np.int32))

    @ti.kernel
    def look():
        for i in x:
            for k in ti.static(range(5)):
                y[i, k] = x[(i + offsets[k]) % n]

    look()
    expected = np.stack([(np.arange(n) + offset) % n for offset in offsets], 1)
    np.testing.assert_array_equal(y.to_numpy(), expected)
    is_masked = n in (2, 64)
    assert has_near(look) != is_masked
    assert ("& (n - 1)" in look.source(arch=ti.cuda)) == is_masked


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 100])
@pytest.mark.all_targets
def test_neighbours_on_a_ring_whose_length_the_launch_knows(target: str, n: int) -> None:
    @ti.kernel
    def look(x: Row, y: Grid):
        for i in x:
            y[i, 0] = x[(i - 1) % x.shape[0]]
            y[i, 1] = x[(i + 1) % x.shape[0]]
            for k in ti.static(range(-1, 2)):
                y[i, 3 + k] = x[(i + k) % x.shape[0]]

    x, y = np.arange(n, dtype=np.int32) * 3, np.zeros((n, 5), np.int32)
    look(x, y)
    expected = np.stack([np.roll(x, -k) for k in (-1, 1, -1, 0, 1)], 1) if n else y
    np.testing.assert_array_equal(y, expected)
    assert has_near(look, x, y)


def test_two_axes_and_another_extent(target: str) -> None:
    """The divisor is the extent of the index, or it is not."""

    @ti.kernel
    def look(x: Grid, y: Grid):
        for i, j in x:
            y[i, j] = x[(i + 1) % x.shape[0], (j - 1) % x.shape[1]] * 100 + (i + 1) % x.shape[1]

    x = np.arange(35, dtype=np.int32).reshape(5, 7)
    y = np.zeros_like(x)
    look(x, y)
    expected = np.roll(x, (-1, 1), (0, 1)) * 100 + ((np.arange(5) + 1) % 7)[:, None]
    np.testing.assert_array_equal(y, expected)
    source = look.source(x, y, arch=ti.cuda)
    assert source.count(f"{NEAR}((i + 1)") == 0 and f"{NEAR}(i + 1, args.x_n0)" in source
    assert "remainder_by(i + 1, args.x_n1, args.by_x_n1)" in source


def test_numbers_that_may_be_farther_are_divided(target: str) -> None:
    n = 9
    x = ti.field(ti.i32, (n, 6))

    @ti.kernel
    def look(m: ti.i32):
        for i in range(n):
            x[i, 0] = (i - 10) % n
            x[i, 1] = (i + 10) % n
            x[i, 2] = (i + m) % n
            x[i, 3] = (i - 1) % m
            x[i, 4] = (2 * i - 9) % n
            x[i, 5] = (i + 2) % m

    look(5)
    i = np.arange(n)
    expected = np.stack([(i - 10) % n, (i + 10) % n, (i + 5) % n, (i - 1) % 5, (2 * i - 9) % n, (i + 2) % 5], 1)
    np.testing.assert_array_equal(x.to_numpy(), expected)
    assert look.source(5, arch=ti.cuda).count(f"{NEAR}(") == 2  # its declaration, and `2 * i - 9`


def test_checks_of_bounds_know_the_result(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)

    @ti.kernel
    def look(x: Row, y: Row):
        for i in x:
            y[i] = x[(i + 1) % x.shape[0]]

    x, y = np.arange(6, dtype=np.int32), np.zeros(6, np.int32)
    look(x, y)
    np.testing.assert_array_equal(y, np.roll(x, -1))


@pytest.mark.parametrize("n", [1, 2, 3, 64])
def test_windows_on_a_ring_whose_length_the_launch_knows(target: str, n: int) -> None:
    """The extent that is added goes; an array may be shorter than the window reaches."""

    @ti.kernel
    def look(x: Row, y: Grid):
        for i in x:
            for p in range(-2, 3):
                y[i, 0] = 3 * y[i, 0] + x[(i + p + x.shape[0]) % x.shape[0]]
                y[i, 1] = 3 * y[i, 1] + x[(x.shape[0] - p + i) % x.shape[0]]
                y[i, 2] = 3 * y[i, 2] + x[(i - p - 2) % x.shape[0]]

    x, y = np.arange(n, dtype=np.int32), np.zeros((n, 3), np.int32)
    look(x, y)
    expected = np.zeros((n, 3), np.int32)
    for p in range(-2, 3):
        expected = 3 * expected + np.stack([np.roll(x, -p), np.roll(x, p), np.roll(x, p + 2)], 1)
    np.testing.assert_array_equal(y, expected)
    source = look.source(x, y, arch=ti.cuda)
    assert "mod_close_i32(i + p, args.x_n)" in source and "mod_close_i32(i - p, args.x_n)" in source
    assert source.count(" mod_by(") == 1 and source.count("(mod_by(") == 1  # what may be four lengths away


def test_an_extent_that_is_added_and_known(target: str) -> None:
    n = 24
    x, y = ti.field(ti.i32, n), ti.field(ti.i32, n)

    @ti.kernel
    def look():
        for i in x:
            for p in range(-9, 10):
                y[i] = 3 * y[i] + x[(i + p + n) % n] + x[(i + n) % n]

    x.from_numpy(np.arange(n, dtype=np.int32))
    look()
    expected = np.zeros(n, np.int32)
    for p in range(-9, 10):
        expected = 3 * expected + np.roll(np.arange(n, dtype=np.int32), -p) + np.arange(n, dtype=np.int32)
    np.testing.assert_array_equal(y.to_numpy(), expected)
    assert "mod_near_i32(i + p, n)" in look.source(arch=ti.cuda)


def test_a_named_power_of_two_is_a_mask(target: str) -> None:
    n = 64
    x = ti.field(ti.i32, n)

    @ti.kernel
    def look(m: ti.i32):
        for i in x:
            x[i] = (3 * i - m) % n

    look(100)
    np.testing.assert_array_equal(x.to_numpy(), (3 * np.arange(n) - 100) % n)
    assert all("& (n - 1)" in look.source(100, arch=arch) for arch in (ti.cpu, ti.cuda, ti.vulkan))
