"""Conversions that C makes by itself are not printed: narrow integers are computed as int, and braces know their type."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

U16 = ti.types.vector(3, ti.u16)


@ti.kernel
def widened(
    v: ti.types.ndarray(ti.i8, 1),
    u: ti.types.ndarray(ti.u8, 1),
    w: ti.types.ndarray(ti.i16, 1),
    x: ti.types.ndarray(ti.i32, 2),
    y: ti.types.ndarray(U16, 1),
):
    for i in v:
        total = ti.cast(v[i] + v[i], ti.i16) - ti.cast(u[i], ti.i16)
        x[i, 0] = total
        x[i, 1] = (ti.i32(u[i]) << 3) + ti.i32(w[i]) * ti.i32(v[i])
        if ti.i32(v[i]) < ti.i32(u[i]):
            x[i, 2] = ti.i32(v[i]) // 3 - ti.i32(u[i]) % 7
        x[i, 3] = ti.cast(ti.u32(u[i]) * ti.u32(u[i]) * ti.u32(65537) * ti.u32(255), ti.i32)
        y[i] = ti.Vector([ti.cast(i % 7, ti.u16), ti.cast(w[i], ti.u16), ti.u16(3)])
        y[i] = y[i] + ti.cast(ti.Vector([u[i], u[i] + ti.u8(255), ti.u8(i)]), ti.u16)


def arrays() -> tuple[np.ndarray, ...]:
    v = np.array([-128, -1, 0, 127], np.int8)
    u = np.array([0, 1, 128, 255], np.uint8)
    w = np.array([-32768, -1, 300, 32767], np.int16)
    return v, u, w, np.zeros((4, 4), np.int32), np.zeros((4, 3), np.uint16)


def test_results(target: str) -> None:
    v, u, w, x, y = arrays()
    widened(v, u, w, x, y)
    a, b, c = v.astype(np.int32), u.astype(np.int32), w.astype(np.int32)
    expected = np.zeros((4, 4), np.int64)
    expected[:, 0] = (v + v).astype(np.int16) - b
    expected[:, 1] = (b << 3) + c * a
    expected[:, 2] = np.where(a < b, a // 3 - b % 7, 0)
    expected[:, 3] = b.astype(np.int64) * b * 65537 * 255
    assert x.tolist() == expected.astype(np.int32).tolist()
    index = np.arange(4)
    vectors = np.stack([index % 7 + b, c + (b + 255) % 256, 3 + index], 1)
    assert y.tolist() == vectors.astype(np.uint16).tolist()


@pytest.mark.parametrize("arch", [ti.cpu, ti.cuda])
def test_sources(arch) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = widened.source(*arrays(), arch=arch)
    for found in ("(int16_t)((int8_t)(v(i) + v(i)) - u(i))", "(u(i) << 3)", "w(i) * v(i)", "if (v(i) < u(i)) {"):
        assert found in source, source
    for name in ("int", "int8_t", "uint8_t", "int16_t", "uint16_t"):
        assert f"({name})({name})" not in source, source


N, vec2 = 7, ti.math.vec2


@ti.kernel
def floats(n: ti.i32, x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(vec2, 1)):
    for i in y:
        k = n // 2 - i
        x[i, 0] = k / n
        x[i, 1] = N * x[i, 0] + N / 2 - ti.f32(k)
        x[i, 2] = ti.f32(k) * ti.f32(n) * N
        y[i] = vec2(k, N)


def test_numbers_converted_to_floats(target: str) -> None:
    n, k = 1000, 500 - np.arange(3, dtype=np.float32)
    x, y = np.zeros((3, 3), np.float32), np.zeros((3, 2), np.float32)
    floats(n, x, y)
    assert np.allclose(x, np.stack([k / n, N * (k / n) + N / 2 - k, k * n * N], 1), rtol=1e-6)
    assert y.tolist() == [[number, N] for number in k]


@pytest.mark.parametrize("arch, suffix", [(ti.cpu, "f"), (ti.cuda, "f"), (ti.vulkan, "")])
def test_one_operand_stays_a_float(arch, suffix: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = floats.source(3, np.zeros((3, 3), np.float32), np.zeros((3, 2), np.float32), arch=arch)
    k = "float(k)" if arch == ti.vulkan else "(float)k"
    for found in (f"x(i, 0) = {k} / args.n;", "N * x(i, 0)", f"{k} * args.n * N;"):
        assert found in source, source
    assert ("vec2(k, N)" if arch == ti.vulkan else "{(float)k, (float)N}") in source, source
