"""A constant in a source has the bits that it has in Python, whatever rounds it on its way to the device."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.backend.languages.common.literals import literal
from shadesmith.transpiler.backend.languages.glsl.language import GLSL
from shadesmith.transpiler.ir.types import f16

EDGES = {
    "f16": (np.uint16, np.float16, [0, 1, 2, 0x3FF, 0x400, 0x2E66, 0x7BFF, 0x8000, 0x8001, 0xFBFF]),
    "f32": (np.uint32, np.float32, [0, 1, 2, 0x7FFFFF, 0x800000, 0x3DCCCCCD, 0x7F7FFFFF, 0x80000001, 0xFF7FFFFF]),
    "f64": (np.uint64, np.float64, [0, 1, 2, (1 << 52) - 1, 1 << 52, 0x7FEFFFFFFFFFFFFF, (1 << 63) + 1]),
}


@pytest.mark.parametrize("name", list(EDGES))
def test_a_float_constant_keeps_its_bits(target: str, name: str, define_kernel: Callable[..., Any]) -> None:
    """On Vulkan 4 of 10 constants of f16 were the next number toward zero."""
    bits, kind, edges = EDGES[name]
    random = np.random.default_rng(4).integers(0, np.iinfo(bits).max, 60, bits)
    numbers = np.concatenate([np.array(edges, bits), random]).view(kind)
    numbers = numbers[np.isfinite(numbers)]
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, fast_math=False, enable_fallback=False, log_level=ti.ERROR)
    lines = [f"    x[{i}] = ti.cast({float(number)!r}, ti.{name})\n" for i, number in enumerate(numbers)]
    store = define_kernel(f"def store(x: ti.types.ndarray(ti.{name}, 1)):\n{''.join(lines)}")
    x = ti.ndarray(getattr(ti, name), len(numbers))
    store(x)
    found = x.to_numpy()
    wrong = [(float(a), float(b)) for a, b in zip(numbers, found) if a.tobytes() != b.tobytes()]
    assert wrong == []


def test_every_half_is_right_rounded_to_nearest_or_toward_zero() -> None:
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16)
    with np.errstate(over="ignore"):
        for half, above in zip(halves.tolist(), [*halves[1:].tolist(), 65536.0], strict=True):
            text = literal(GLSL, f16, half).template
            assert text.endswith("hf") and len(text) <= 12
            value = Fraction(text[:-2])
            assert Fraction(half) <= value and (half == value or 2 * value < Fraction(half) + Fraction(above)), text
            assert literal(GLSL, f16, -half).template == f"-{text}" or (half == 0 and math.copysign(1, half) > 0)


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64"])
def test_adding_the_lowest_number_wraps(target: str, name: str) -> None:
    """`x + -128` of i8 became `x - 128`, and no i8 is 128."""
    T = getattr(ti, name)
    lowest = int(np.iinfo(np.dtype(f"int{name[1:]}")).min)
    ti.init(arch=getattr(ti, target), default_ip=ti.i64, enable_fallback=False, log_level=ti.ERROR)

    @ti.kernel
    def add(x: ti.template(), o: ti.template()):
        for i in x:
            o[i] = x[i] + ti.cast(lowest, T)

    x, o = ti.field(T, 4), ti.field(T, 4)
    x.from_numpy(np.array([lowest, -1, 0, 5], f"int{name[1:]}"))
    add(x, o)
    assert o.to_numpy().tolist() == [0, -lowest - 1, lowest, lowest + 5]
