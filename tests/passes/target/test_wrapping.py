"""Pass `wrapping`: sums that may wrap are marked where signed overflow is undefined, and only those."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.capabilities import portable
from shadesmith.transpiler.backend.languages.registry import LANGUAGES

Array = ti.types.ndarray(ti.i32, 1)


@pytest.fixture(autouse=True)
def session():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    yield
    ti.reset()


def body(kernel, *arguments) -> str:
    text = kernel.source(*arguments, arch=ti.cuda)
    (task,) = re.findall(r"^__device__ inline void task.*?^}", text, re.DOTALL | re.MULTILINE)
    return re.sub(r" *//.*", "", task)


def test_what_may_wrap_is_unsigned() -> None:
    @ti.kernel
    def k(x: Array, l: ti.types.ndarray(ti.i64, 1), h: ti.types.ndarray(ti.u16, 1), n: ti.i32):
        for i in x:
            a = x[i]
            x[i] = a * 31 + n
            if a + 1 > n:
                a += 5
            x[i] ^= a
            l[i] = -l[i] - 7
            h[i] = h[i] * h[i]

    text = body(k, np.zeros(4, np.int32), np.zeros(4, np.int64), np.zeros(4, np.uint16), 3)
    assert "x(i) = unsigned(a) * 31 + args.n;" in text
    assert "if (int(unsigned(a) + 1) > args.n)" in text
    assert "a += 5u;" in text
    assert "l(i) = -uint64_t(l(i)) - 7ll;" in text
    assert "h(i) *= unsigned(h(i));" in text


def test_what_cannot_wrap_stays() -> None:
    @ti.kernel
    def k(x: Array, u: ti.types.ndarray(ti.u32, 1), h: ti.types.ndarray(ti.i16, 1), n: ti.i32):
        for i in x:
            x[i + 2] = x[i * n - 1] // 3
            x[i] = i + 1
            u[i] = u[i] * 3 + 1
            h[i] = h[i] * h[i]
            for j in range(10):
                x[j] = j * 100 - (x[i] & 15)

    text = body(k, np.zeros(4, np.int32), np.zeros(4, np.uint32), np.zeros(4, np.int16), 3)
    assert "unsigned(" not in text and "x(i + 2) = " in text and "x(i * args.n - 1)" in text


def test_an_index_that_is_tested_is_marked() -> None:
    @ti.kernel
    def k(x: Array, n: ti.i32):
        for i in x:
            j = i + n
            if j >= 0:
                x[j] = 1

    assert "int j = unsigned(i) + args.n;" in body(k, np.zeros(4, np.int32), 3)


def test_languages_and_capabilities_agree() -> None:
    for target in ("c", "vulkan", "cuda"):
        assert portable(target).undefined_overflow == LANGUAGES[target].undefined_overflow
