"""Pass `added_shifts`: what loops add is no right shift in sources for Vulkan; the numbers are right everywhere."""

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
def in_other_forms(x: f(ti.i32, 2), n: ti.i32):
    """Choices, differences, floor divisions, unsigned numbers and vectors."""
    for i in range(x.shape[0]):
        p, total, bits, pair = x[i, 0], 1, ti.u32(1), ti.Vector([1, 2])
        for k in range(9):
            if p != 0:
                total += p >> 3 if k > 0 else 3
                if k != 4:
                    total -= p // 4
                    bits += ti.cast(p, ti.u32) >> 7
                    pair += ti.Vector([p, p + 1]) >> 2
                if k % 2 == 0:
                    x[i, 1] += ti.bit_shr(p, 5)
        x[i, 2] = total + ti.cast(bits, ti.i32)
        x[i, 3] = pair[0] - pair[1]


@ti.kernel
def that_change(x: f(ti.i32, 2)):
    """What is added differs from iteration to iteration, or is added outside of loops: it stays a shift."""
    for i in range(x.shape[0]):
        p, total = x[i, 0], 1
        for k in range(1, 6):
            if p != 0:
                total += (p + k) >> 2
                p = total >> 3
        x[i, 1] = total + (p >> 2)


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


def test_results_in_other_forms(target: str) -> None:
    x = given()
    in_other_forms(x, 5)
    ti.sync()
    for p, shifted, total, pair in x.tolist():
        bits, low_bits = p % 2**32, 0 if p == 0 else 5 * (p % 2**32 >> 5)
        assert shifted == low(low_bits)
        assert total == low(1 + 1 + (8 * (p >> 3) + 3 - 8 * (p // 4) + 8 * (bits >> 7) if p else 0))
        assert pair == (8 * (p >> 2) - 8 * (p + 1 >> 2) if p else 0) - 1


def test_results_of_changing_numbers(target: str) -> None:
    x = given()
    that_change(x)
    ti.sync()
    for first, found, *_ in x.tolist():
        p, total = first, 1
        for k in range(1, 6):
            if p != 0:
                total += (p + k) >> 2
                p = total >> 3
        assert found == low(total + (p >> 2))


@pytest.mark.parametrize(
    ("kernel", "arguments", "count"),
    [(in_static_loops, (), 1), (beside_static_loops, (), 2), (in_other_forms, (5,), 5), (that_change, (), 0)],
)
def test_sources(kernel: Any, arguments: tuple[int, ...], count: int) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = kernel.source(given(), *arguments, arch=ti.vulkan)
    body = source[source.index("// task") :] if "// task" in source else source[source.index("#define x(") :]
    assert body.count("shifted_") == count, body
    assert "shifted_" not in kernel.source(given(), *arguments, arch=ti.cuda)
    ti.reset()
