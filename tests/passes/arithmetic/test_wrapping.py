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
    (task, *_) = re.findall(r"^(?:__device__ inline void task|extern).*?^}", text, re.DOTALL | re.MULTILINE)
    return re.sub(r" *//.*|.*\bindex\b.*", "", task)


def test_what_may_wrap_is_unsigned() -> None:
    @ti.kernel
    def k(x: Array, l: ti.types.ndarray(ti.i64, 1), h: ti.types.ndarray(ti.u16, 1), n: ti.i32):
        for i in x:
            a = x[i]
            x[i] = (a * 31 + n) // 3
            if a + 1 > n:
                a += 5
            x[i] ^= a
            l[i] = (-l[i] * 3) >> 1
            h[i] = h[i] * h[i]

    text = body(k, np.zeros(4, np.int32), np.zeros(4, np.int64), np.zeros(4, np.uint16), 3)
    assert "x(i) = floor_div_positive_i32(int(unsigned(a) * 31 + args.n), 3);" in text
    assert "if (int(unsigned(a) + 1) > args.n)" in text
    assert "a += 5u;" in text
    assert "l(i) = int64_t(-uint64_t(l(i)) * 3ll) >> 1ll;" in text
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


def test_what_nobody_observes_stays() -> None:
    """Sums that are stored, added atomically, passed to functions that store them, and counters of iterations."""

    @ti.func
    def put(y: ti.template(), i: ti.i32, value: ti.i32):
        y[i] = value
        if i > 5:
            y[i] = value * 2

    @ti.kernel
    def k(x: Array, y: ti.types.ndarray(ti.i64, 1), z: Array, n: ti.i32):
        for i in x:
            total = n
            for j in range(n):
                total += x[j] * n
            z[i] = total - 1
            z[0] += -n
            y[i] = y[i] * 3 + 1
            put(z, i, total + 5)
            steps = 0
            while steps < n:
                steps += 1

    @ti.kernel
    def counts(x: Array, y: Array):
        for i in x:
            near, pairs = 0, 0
            for j in x:
                if x[j] > x[i]:
                    near += 1
                for _ in range(3):
                    pairs += 1
            y[i] = near // 2 + pairs // 3

    a, b = np.zeros(4, np.int32), np.zeros(4, np.int64)
    text = k.source(a, b, a, 3, arch=ti.cuda)
    statements = "".join(line for line in text.splitlines() if "count" not in line and "index" not in line)
    assert "unsigned(" not in statements and "total + 5" in text and "steps += 1;" in text
    text = body(counts, a, a)
    assert "near += 1;" in text and "pairs += 1u;" in text


def test_what_a_function_stores_by_reference_is_seen_by_its_caller() -> None:
    @ti.real_func
    def change(value: ti.ref(ti.i32), by: ti.i32):
        value *= by

    @ti.kernel
    def k(x: Array, n: ti.i32):
        for i in x:
            value = x[i]
            change(value, n)
            if value > 10:
                x[i] = value

    assert "value *= unsigned(by);" in k.source(np.zeros(4, np.int32), 3, arch=ti.cuda)


def test_seen_sums_are_marked() -> None:
    """What is seen over a variable, an element, a function or a choice is seen; so are large constants."""

    @ti.func
    def is_positive(value: ti.i32) -> ti.i32:
        return ti.select(value > 0, 1, 2)

    @ti.kernel
    def k(x: Array, y: Array, z: Array, n: ti.i32):
        for i in x:
            total = 0
            for j in range(n):
                total += x[j] - 3
            if total > 7:
                y[i] = 1
            z[i] = z[i] - n
            if z[i] > 5:
                y[i] = is_positive(x[i] - n)
            y[i + 1] = n + (-2147483647 - 1)
            chosen = x[i] - 3 if n > 2 else x[i] - 4
            y[i + 2] = abs(chosen)

    text = k.source(*(np.zeros(4, np.int32),) * 3, 3, arch=ti.cuda)
    assert "total += unsigned(x_tile[j]) - 3;" in text and "z(i) -= unsigned(args.n);" in text
    assert "y(i + 1) = unsigned(args.n) + (-2147483647 - 1);" in text
    assert "unsigned(x(i)) - args.n" in text
    assert "int(unsigned(x(i)) - 4)" in text


def test_an_index_that_is_tested_is_marked() -> None:
    @ti.kernel
    def k(x: Array, n: ti.i32):
        for i in x:
            j = i + n
            if j >= 0:
                x[j] = 1
            for m in range(n - 1, n + 1):
                x[m] += 1

    text = body(k, np.zeros(4, np.int32), 3)
    assert "int j = unsigned(i) + args.n;" in text and "unsigned(args.n) - 1" in text


def test_sums_of_indices_stay() -> None:
    """An index of an array, or a small number more, does not wrap, nor a multiple by another index."""

    @ti.kernel
    def k(x: Array):
        for i in x:
            stack = ti.Vector([0] * 8)
            top = 1
            while top > 0:
                top -= 1
                q = stack[top]
                if x[q] > 0 and q + i * 2 < 9:
                    stack[top + 1] = 2 * q + 1
                    top += 2

    text = body(k, np.zeros(4, np.int32))
    assert "unsigned(" not in text and "top -= 1;" in text and "stack[top + 1]" in text
    ti.init(arch=ti.python, debug=True, log_level=ti.ERROR)
    assert "unsigned(" in k.source(np.zeros(4, np.int32), arch=ti.cuda)


def test_a_hash_may_wrap_although_indices_are_multiplied() -> None:
    @ti.kernel
    def k(x: Array, y: Array, n: ti.i32):
        for i, j in ti.ndrange(n, n):
            h = i * 9781 + j * 6271
            if h > 0:
                x[h & 7] = 1

    assert "int h = unsigned(i) * 9781 + unsigned(j) * 6271;" in body(k, *(np.zeros(8, np.int32),) * 2, 3)


def test_sums_of_numbers_that_are_loaded_stay() -> None:
    """No compiler knows the sign of what is loaded; masks and narrow types leave it out."""

    @ti.kernel
    def k(x: Array, y: Array, z: ti.types.ndarray(ti.f32, 1), b: ti.types.ndarray(ti.u8, 1)):
        for i in x:
            z[i] = ti.cast(x[i] + y[i], ti.f32)
            if x[i] + y[i + 1] <= x[0] // (x[i] - y[i]):
                b[i] = ti.cast(x[i] * 31, ti.u8)
            y[i] = min(max(x[i] - 1, 0), 7) + ((x[i] * 5 + 1) & 255)

    x, z, b = np.zeros(4, np.int32), np.zeros(4, np.float32), np.zeros(4, np.uint8)
    text = body(k, x, x, z, b)
    assert "(float)(x(i) + y(i))" in text and "min(max(x(i) - 1, 0), 7) + ((x(i) * 5 + 1) & 255)" in text
    assert "unsigned" not in text.replace("x(i)) + y(i + 1)", "")


def test_languages_and_capabilities_agree() -> None:
    for target in ("c", "vulkan", "cuda"):
        assert portable(target).undefined_overflow == LANGUAGES[target].undefined_overflow
