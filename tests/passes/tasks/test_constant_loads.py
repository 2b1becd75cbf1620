"""On GPUs each task loads by itself what no task of the kernel writes, in place of a task of one thread (`offload`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

Row = ti.types.ndarray(ti.f32, 1)


def is_one_task(kernel: Any, *arguments: Any) -> bool:
    """Return whether the sources for GPUs have no task of one thread."""
    found = ["serial" not in kernel.source(*arguments, arch=arch) for arch in (ti.cuda, ti.vulkan)]
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("colour", [0, 2, 3])
def test_bounds_from_a_table(target: str, colour: int) -> None:
    start, x = ti.field(ti.i32, 5), ti.field(ti.f32, 20)
    start.from_numpy(np.array([0, 4, 4, 15, 12], np.int32))

    @ti.kernel
    def scale(c: ti.i32):
        for k in range(start[c], start[c + 1]):
            x[k] = 2.0 * k

    scale(colour)
    k = np.arange(20)
    inside = {0: (k < 4), 2: (k >= 4) & (k < 15), 3: k < 0}[colour]
    np.testing.assert_array_equal(x.to_numpy(), 2 * k * inside)
    assert is_one_task(scale, colour)
    if colour == 0:
        assert "max(start(args.c + 1), start(args.c)) - start(args.c)" in scale.source(colour, arch=ti.cuda)


def test_a_value_of_an_element_in_two_loops(target: str) -> None:
    dt, x = ti.field(ti.f32, ()), ti.field(ti.f32, 12)
    dt[None] = 3.0

    @ti.kernel
    def step():
        h = dt[None] * 0.5
        for i in x:
            x[i] += h
        for i in x:
            x[i] *= h

    step()
    np.testing.assert_array_equal(x.to_numpy(), 2.25)
    assert is_one_task(step)


def test_what_a_loop_writes_is_loaded_before_it(target: str) -> None:
    x = ti.field(ti.f32, 12)
    x.fill(2.0)

    @ti.kernel
    def scale():
        first = x[3]
        for i in x:
            x[i] *= first

    scale()
    np.testing.assert_array_equal(x.to_numpy(), 4.0)
    assert not is_one_task(scale)


def test_what_an_earlier_loop_writes(target: str) -> None:
    """The second loop loads what the first one has summed, and the third one has other numbers."""
    x, total = ti.field(ti.f32, 12), ti.field(ti.f32, 2)
    x.fill(2.0)

    @ti.kernel
    def scale():
        for i in x:
            total[i % 2] += x[i]
        mean = total[1] / 6.0
        for i in x:
            x[i] += mean
        first = total[0]
        for i in total:
            total[i] += first + mean

    scale()
    np.testing.assert_array_equal(x.to_numpy(), 4.0)
    np.testing.assert_array_equal(total.to_numpy(), 26.0)
    assert scale.source(arch=ti.cuda).count("serial") == 1


def test_ndarrays_may_be_one(target: str) -> None:
    @ti.kernel
    def scale(x: Row, y: Row):
        first = y[3]
        for i in x:
            x[i] *= first

    x = np.full(12, 2.0, np.float32)
    scale(x, x)
    np.testing.assert_array_equal(x, 4.0)
    assert not is_one_task(scale, x, x)
