"""Pass `empty_loops`: parallel loops whose bounds are further apart than an i32 counts have the iterations of Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

f = ti.types.ndarray
FIRST, LAST = -(2**31), 2**31 - 1


@ti.kernel
def add_between(x: f(ti.i32, 1), a: ti.i32, b: ti.i32):
    for i in range(a, b):
        ti.atomic_add(x[i & 3], 1)


@ti.kernel
def count_between(a: ti.i32, b: ti.i32) -> ti.i32:
    total = 0
    for _ in range(a, b):
        total += 1
    return total


@ti.kernel
def count_in_box(x: f(ti.i32, 1), a: ti.i32, b: ti.i32):
    for i, j in ti.ndrange((a, b), (a, b)):
        ti.atomic_add(x[(i + j) & 3], 1)


@ti.kernel
def add_where(x: f(ti.i32, 1), a: ti.i32, b: ti.i32):
    for i in range(1000):
        if i >= a and i < b:
            ti.atomic_add(x[i & 3], 1)


@ti.kernel
def add_from_one(x: f(ti.i32, 1), a: ti.i32, b: ti.i32):
    for i in range(1, b):
        ti.atomic_add(x[i & 3], 1)


@pytest.mark.parametrize("a, b", [(LAST, FIRST), (LAST, FIRST + 5), (100, FIRST), (5, 5), (5, 4)])
def test_empty(target: str, a: int, b: int) -> None:
    x = np.zeros(4, np.int32)
    for kernel in (add_between, count_in_box, add_where):
        kernel(x, a, b)
    add_from_one(x, a, min(b, 1))
    ti.sync()
    assert not x.any()
    assert count_between(a, b) == 0


def test_not_empty(target: str) -> None:
    x = np.zeros(4, np.int32)
    add_between(x, LAST - 6, LAST)
    add_between(x, FIRST, FIRST + 6)
    count_in_box(x, -2, 3)
    add_where(x, -4, 6)
    add_from_one(x, 0, 8)
    ti.sync()
    assert x.sum() == 6 + 6 + 25 + 6 + 7
    assert count_between(-1000, 1000) == 2000


STEP = 50_000_000


@ti.kernel
def add_by_step(x: f(ti.i32, 1), a: ti.i32, b: ti.i32):
    for i in range(a, b, STEP):
        ti.atomic_add(x[(i // STEP) % 4], 1)


@ti.kernel
def add_down(x: f(ti.i32, 1), a: ti.i32, b: ti.i32):
    for i in range(b, a, -STEP):
        ti.atomic_add(x[(i // STEP) % 4], 1)


@ti.kernel
def add_between_numbers(x: f(ti.i32, 1), a: ti.i32, b: ti.i32):
    for i in range(-2_000_000_000, 2_000_000_000, STEP):
        ti.atomic_add(x[(i // STEP) % 4], 1)


@pytest.mark.parametrize(
    "a, b", [(-2_000_000_000, 2_000_000_000), (0, LAST), (FIRST + STEP, LAST), (-7, 9), (LAST, FIRST), (7, -9)]
)
@pytest.mark.parametrize("kernel", [add_by_step, add_down, add_between_numbers])
def test_steps(target: str, kernel: Any, a: int, b: int) -> None:
    indices = {
        add_by_step: range(a, b, STEP),
        add_down: range(b, a, -STEP),
        add_between_numbers: range(-2_000_000_000, 2_000_000_000, STEP),
    }[kernel]
    x = np.zeros(4, np.int32)
    kernel(x, a, b)
    ti.sync()
    assert x.tolist() == np.bincount([i // STEP % 4 for i in indices], minlength=4).tolist()


@ti.kernel
def known(x: f(ti.i32, 1), n: ti.i32):
    for i in range(n):
        x[i] = 1
    for i in range(1, x.shape[0] - 1):
        x[i] = 2
    for i in range(-3, 5):
        x[i + 3] = 3


@pytest.mark.parametrize("arch", [ti.cpu, ti.vulkan, ti.cuda])
def test_sources(arch: Any) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros(8, np.int32)
    assert "max(args.b, args.a) - args.a" in add_between.source(x, 0, 1, arch=arch) or arch == ti.cpu
    assert "int end_i = max_i32(args.b, args.a);" in add_between.source(x, 0, 1, arch=ti.cpu)
    assert "max_i32" not in known.source(x, 1, arch=ti.cpu)
