"""Counts of shifts are taken modulo the width of the type, by a mask unless they are certainly in range."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


@ti.kernel
def shifts(y: ti.types.ndarray(ti.i32, 2), n: ti.i32):
    for i in range(5):
        y[i, 0] = n << i
        for k in range(21):
            y[i, 1] ^= (n >> k) + (n << (y[i, 0] & 31))
        for k in range(-2, 3):
            y[i, 2] += n << k
        y[i, 3] = (1 << (y[i, 0] & 63)) + ti.i32(ti.u8(n) << (i & 7))


def expected(n: int) -> list[list[int]]:
    rows = []
    for i in range(5):
        first, second = n << i, 0
        for k in range(21):
            second ^= (n >> k) + (n << (first & 31))
        rows.append([first, second, sum(n << (k & 31) for k in range(-2, 3)), (1 << (first & 31)) + (n << i) % 256])
    return np.array(rows, np.int64).astype(np.int32).tolist()


def test_results(target: str) -> None:
    y = np.zeros((5, 4), np.int32)
    shifts(y, 77)
    assert y.tolist() == expected(77)


@pytest.mark.parametrize("arch", [ti.cpu, ti.cuda, ti.vulkan])
def test_sources(arch) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = shifts.source(np.zeros((5, 4), np.int32), 3, arch=arch)
    for found in (
        "args.n << i;",
        "args.n >> k)",
        "args.n << (y(i, 0) & 31)",
        "args.n << (k & 31)",
        "(y(i, 0) & 63) & 31",
    ):
        assert found in source, source
