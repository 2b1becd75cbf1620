"""Pass `lowest_bits`: sources for Vulkan extract a lowest bit that is a number; the numbers are right on every target."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

f = ti.types.ndarray


@ti.kernel
def chosen(
    j: f(ti.i32, 3),
    e: f(ti.f64, 3),
    wide: f(ti.i64, 1),
    low: f(ti.u8, 1),
    out: f(ti.i32, 1),
    real: f(ti.f64, 1),
    n: ti.u32,
):
    ti.loop_config(serialize=True)
    for k in range(3):
        x = e[1, k, k]
        if j[ti.cast(wide[k], ti.i32) % 2, ti.cast(n, ti.i32) % 3, k] & 2 != 0:
            x = 1.0
        real[k] = x
        out[k] = j[wide[k] & 1, 0, k]
        out[k + 3] = j[1, low[k] & 1, k] + (out[k] & 1)
        v = ti.Vector([k, k + 1], dt=ti.i32) & 1
        out[k + 6] = j[v[0], v[1], 0]


@ti.kernel
def parity(x: f(ti.i32, 1)):
    for i in x:
        if x[i] & 1 == 1:
            x[i] = 7


def arguments() -> tuple:
    j = np.arange(18, dtype=np.int32).reshape(2, 3, 3) * 5 + 1
    return j, np.zeros((2, 3, 3)), np.array([0, -7, 2**40 + 6]), np.array([3, 0, 254], np.uint8)


def test_results(target: str) -> None:
    j, e, wide, low = arguments()
    out, real = np.zeros(9, np.int32), np.zeros(3)
    chosen(j, e, wide, low, out, real, 353691393)
    ti.sync()
    bits = wide % 2
    assert real.tolist() == [1.0 if j[bits[k], 0, k] & 2 else 0.0 for k in range(3)]
    first = [j[bits[k], 0, k] for k in range(3)]
    assert out[:3].tolist() == first
    assert out[3:6].tolist() == [j[1, low[k] % 2, k] + first[k] % 2 for k in range(3)]
    assert out[6:].tolist() == [j[0, 1, 0], j[1, 0, 0], j[0, 1, 0]]


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    given = (*arguments(), np.zeros(9, np.int32), np.zeros(3), 353691393)
    code = [line.split("//")[0] for line in chosen.source(*given, arch=ti.vulkan).split("void main()")[1].splitlines()]
    assert sum(line.count("lowest_bit_i") for line in code) == 4 and not any("& 1" in line for line in code)
    assert "lowest_bit_" not in chosen.source(*given, arch=ti.cuda)
    assert "(x(i) & 1) == 1" in parity.source(np.zeros(4, np.int32), arch=ti.vulkan)
