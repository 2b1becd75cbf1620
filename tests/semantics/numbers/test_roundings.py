"""`fast_math=False`: each operation is rounded as it is written, also where a number becomes an integer, a condition, an argument."""

from __future__ import annotations

import shutil
from array import array

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan.glslang import Glslang
from shadesmith.runtime.devices.vulkan.rounding import OPERATIONS
from shadesmith.runtime.devices.vulkan.spirv import HEADER_WORDS
from shadesmith.runtime.devices.vulkan.spirv_words import Decoration, Op

N = 200


@ti.func
def scaled(a, b):
    return a * b - b


@ti.kernel(fast_math=False)
def rounded(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), to: ti.types.ndarray(ti.i32, 2)):
    for i in x:
        a, b = x[i], y[i]
        to[i, 0] = ti.cast(0.1 - (0.1 + i), ti.i32)
        to[i, 1] = ti.bit_cast(a * b + a, ti.i32)
        to[i, 2] = a * b - a < b * a + 1.0 - a - 1.0
        to[i, 3] = ti.bit_cast(scaled(a * b + 1.0, a), ti.i32)
        to[i, 4] = ti.bit_cast(ti.max(a * b + b, a - b * b), ti.i32)
        s = ti.Vector([a, b])
        to[i, 5] = ti.bit_cast((s * b).sum() if a + b - a < b else (s * s).sum(), ti.i32)
        k = 0
        while a * b + k < 3.0:
            k += 1
        to[i, 6] = k


def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    i, one, tenth = np.arange(N).astype(np.float32), np.float32(1), np.float32(0.1)
    inner = x * y + one
    counts = np.zeros(N, np.int32)
    for k in range(40):
        counts += (x * y + np.float32(k) < 3) & (counts == k)
    columns = [
        (tenth - (tenth + i)).astype(np.int32),
        (x * y + x).view(np.int32),
        x * y - x < y * x + one - x - one,
        (inner * x - x).view(np.int32),
        np.maximum(x * y + y, x - y * y).view(np.int32),
        np.where(x + y - x < y, x * y + y * y, x * x + y * y).view(np.int32),
        counts,
    ]
    return np.stack([column.astype(np.int32) for column in columns], 1)


def test_every_bit(target: str) -> None:
    random = np.random.default_rng(1)
    x, y = (random.uniform(-4, 4, N).astype(np.float32) for _ in range(2))
    to = np.zeros((N, 7), np.int32)
    rounded(x, y, to)
    assert np.argwhere(to != expected(x, y)).tolist() == []


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="no glslangValidator")
@pytest.mark.parametrize("optimize", [False, True])
def test_each_operation_is_decorated(optimize: bool) -> None:
    if optimize and shutil.which("spirv-opt") is None:
        pytest.skip("no spirv-opt")
    ti.init(arch=ti.vulkan, enable_fallback=False)
    numbers = np.zeros(N, np.float32)
    module = rounded.inspect(numbers, numbers, np.zeros((N, 7), np.int32)).module
    for file in module.files:
        words = array("I", Glslang(validate=True, optimize=optimize).compile(file, module.kernel))
        decorated, operations, position = set(), set(), HEADER_WORDS
        while position < len(words):
            opcode = words[position] & 0xFFFF
            if opcode == Op.DECORATE and words[position + 2] == Decoration.NO_CONTRACTION:
                decorated.add(words[position + 1])
            if opcode in OPERATIONS:
                operations.add(words[position + 2])
            position += words[position] >> 16
        assert len(operations) > 10 and operations <= decorated


def test_other_sources_are_left_alone() -> None:
    text = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}\n"
    from shadesmith.transpiler.backend.module.interface import SourceFile

    plain = Glslang().compile(SourceFile("k.comp", text), "k")
    marked = SourceFile("k.comp", text.replace("layout", "#pragma shadesmith no_contraction\nlayout"))
    assert Glslang().compile(marked, "k") == plain


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="no glslangValidator")
def test_long_chains_of_values_compile_in_time() -> None:
    """glslang follows what `precise` reaches along every path: 2 ** 40 of them here."""
    from shadesmith.transpiler.backend.module.interface import SourceFile

    steps = "\n".join("    x = x * x + (x - x * y);" for _ in range(40))
    text = f"#version 460\n#pragma shadesmith no_contraction\nlayout(local_size_x = 1) in;\nlayout(binding = 0) buffer B {{ precise float v[]; }};\nvoid main() {{\n    float x = v[0], y = v[1];\n{steps}\n    v[0] = x;\n}}\n"
    assert Glslang(time_limit_seconds=20.0).compile(SourceFile("k.comp", text), "k")
