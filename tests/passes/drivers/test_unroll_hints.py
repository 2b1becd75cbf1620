"""Pass `unroll_hints`: sources for Vulkan have no hint to unroll where one makes a driver miscount a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

f = ti.types.ndarray


@ti.kernel
def in_static_loops(x: f(ti.i32, 2)):
    for i in range(x.shape[0]):
        p = x[i, 0]
        for k in ti.static(range(6)):
            if p != 0:
                if k != 3:
                    x[i, 1] += p >> 2
        total = 1
        for k in ti.static(range(6)):
            total += k
            if p != 0:
                if k % 2 == 0:
                    total += p * 3
        x[i, 2] = total


@ti.func
def counted(p: ti.i32, n: ti.template()) -> ti.i32:
    total = 1
    for k in range(n):
        if p != 0:
            if k >= 1:
                total += p >> 2
            else:
                total += 3
    return total


@ti.kernel
def beside_static_loops(x: f(ti.i32, 2)):
    for i in range(x.shape[0]):
        for k in ti.static(range(3)):
            x[i, 1] += (x[i, 0] + k) * (k + 1)
        x[i, 2] = counted(x[i, 0], 100)
        x[i, 3] = counted(x[i, 0], 6)


@ti.kernel
def with_other_loops(x: f(ti.i32, 2), n: ti.i32):
    """The addends differ, conditions are one, the bounds are no constants, the sum is of floats: nothing is wrong."""
    for i in range(x.shape[0]):
        p, total, real = x[i, 0], 1, 0.0
        for k in ti.static(range(6)):
            if p != 0 and k != 3:
                total += p >> 2
        for k in range(6):
            if p != 0:
                if k != 3:
                    total += p * k
                    real += p * 0.5
        for k in range(n):
            if p != 0:
                if k != 3:
                    total += p >> 2
        x[i, 1] = total + ti.cast(real, ti.i32)


def given() -> np.ndarray[Any, Any]:
    x = np.zeros((5, 4), np.int32)
    x[:, 0] = [2, 0, 1, -66, 801229416]
    return x


def low(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def test_results_in_static_loops(target: str) -> None:
    x = given()
    in_static_loops(x)
    ti.sync()
    for p, first, second, _ in x.tolist():
        assert first == low(5 * (p >> 2))
        assert second == low(16 + 3 * 3 * p)


def test_results_beside_static_loops(target: str) -> None:
    x = given()
    beside_static_loops(x)
    ti.sync()
    for p, first, second, third in x.tolist():
        assert first == low(p + 2 * (p + 1) + 3 * (p + 2))
        assert second == low(1 + (99 * (p >> 2) + 3 if p else 0))
        assert third == low(1 + (5 * (p >> 2) + 3 if p else 0))


def test_results_of_other_loops(target: str) -> None:
    x = given()[:4]
    with_other_loops(x, 5)
    ti.sync()
    for p, found, *_ in x.tolist():
        assert found == (1 + 5 * (p >> 2) + p * 12 + int(2.5 * p) + 4 * (p >> 2) if p else 1)


@pytest.mark.parametrize(
    ("kernel", "arguments", "hints"),
    [(in_static_loops, (), 0), (beside_static_loops, (), 0), (with_other_loops, (5,), 1)],
)
def test_sources(kernel: Any, arguments: tuple[int, ...], hints: int) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = kernel.source(given(), *arguments, arch=ti.vulkan)
    assert source.count("[[unroll]]") == hints
    assert ("no hint to unroll: with one NVIDIA's driver 580 miscounts the loop of line" in source) == (not hints)
    assert "#pragma unroll" in kernel.source(given(), *arguments, arch=ti.cuda)
    ti.reset()
