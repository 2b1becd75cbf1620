"""Integers that Python has in base 16 or 2 keep their literal in every language; results are decimal."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


@ti.func
def spread(v):
    return (v | (v << 1)) & 0x5555_5555


@ti.kernel
def words(x: ti.types.ndarray(ti.u32, 1), y: ti.types.ndarray(ti.u64, 1), z: ti.types.ndarray(ti.i32, 1)):
    for i in x:
        x[i] = spread(x[i]) ^ ti.u32(0xFFFF0000)
        y[i] = y[i] * ti.u64(0x9E3779B97F4A7C15) ^ 0x00FF
        z[i] = (z[i] & 0b1100) * 255 + (z[i] & 0xFF) + (0x10 << 3)


@ti.kernel
def twice(z: ti.types.ndarray(ti.i32, 1)):
    for i in z:
        if i & 0xFF == 7:
            z[i] = (i & 255) * 3


def arguments() -> tuple[np.ndarray, ...]:
    numbers = np.arange(1000, 1300)
    return numbers.astype(np.uint32), numbers.astype(np.uint64), numbers.astype(np.int32)


@pytest.mark.parametrize(
    ("arch", "last", "binary"), [("cpu", "ull", "0b1100"), ("cuda", "ull", "0b1100"), ("vulkan", "ul", "0xc")]
)
def test_a_literal_has_the_base_of_the_programmer(arch: str, last: str, binary: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    code = [line.partition("//")[0] for line in words.source(*arguments(), arch=getattr(ti, arch)).split("\n")]
    for literal in ("0x55555555u", "0xffff0000u", f"0x9e3779b97f4a7c15{last}", f"0x00ff{last}", f" & {binary})"):
        assert any(literal in line for line in code), literal
    assert any("* 255" in line and "& 0xff" in line and "+ 128" in line for line in code)


def test_the_text_of_the_ir_has_the_literal() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "0x55555555" in words.ir("frontend", *arguments(), arch=ti.cpu)
    assert "const 0x55555555" in words.ir("final", *arguments(), arch=ti.cpu)


def test_equal_operations_in_two_notations_are_one() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    lines = twice.ir("final", arguments()[2], arch=ti.cpu).split("\n")
    assert sum("bit_and" in line for line in lines) == 1


def test_results(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y, z = arguments()
    given = [array.copy() for array in (x, y, z)]
    words(*given)
    assert given[0].tolist() == (((x | (x << 1)) & 0x55555555) ^ 0xFFFF0000).tolist()
    assert given[1].tolist() == (y * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(0xFF)).tolist()
    assert given[2].tolist() == ((z & 12) * 255 + (z & 255) + 128).tolist()
