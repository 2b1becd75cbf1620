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
        for k in range(9):
            y[i, 4] += (n >> (n % 31)) + (n << (k * 3 + 7)) - (n >> (31 - k)) + (n << (k * 4)) + (n >> (k - 1))
        y[i, 3] = (1 << (y[i, 0] & 63)) + ti.i32(ti.u8(n) << (i & 7))


def expected(n: int) -> list[list[int]]:
    rows = []
    for i in range(5):
        first, second = n << i, 0
        for k in range(21):
            second ^= (n >> k) + (n << (first & 31))
        fifth = 9 * (n >> n % 31)
        for k in range(9):
            fifth += (n << k * 3 + 7) - (n >> 31 - k) + (n << k * 4 % 32) + (n >> (k - 1) % 32)
        third = sum(n << (k & 31) for k in range(-2, 3))
        rows.append([first, second, third, (1 << (first & 31)) + (n << i) % 256, fifth])
    return np.array(rows, np.int64).astype(np.int32).tolist()


def test_results(target: str) -> None:
    y = np.zeros((5, 5), np.int32)
    shifts(y, 77)
    assert y.tolist() == expected(77)


@pytest.mark.parametrize("arch", [ti.cpu, ti.cuda, ti.vulkan])
def test_sources(arch) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = shifts.source(np.zeros((5, 5), np.int32), 3, arch=arch)
    for found in (
        "args.n << i;",
        "args.n >> k)",
        "args.n << (y(i, 0) & 31)",
        "args.n << (k & 31)",
        "(y(i, 0) & 63) & 31",
        ">> mod_positive_i32(args.n, 31))",
        "args.n << (k * 3 + 7))",
        "args.n >> (31 - k))",
        "args.n << (k * 4 & 31))",
        "args.n >> ((k - 1) & 31))",
    ):
        assert found in source, source
