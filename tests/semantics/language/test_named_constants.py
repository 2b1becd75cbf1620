"""Constants keep the names that Python gives them, in every language, and are the same numbers bit by bit."""

from __future__ import annotations

import enum
import math

import numpy as np
import pytest
from emitted import diagnostics_of, missing_tool

import shadesmith as ti

TARGETS = {"c": "cpu", "cu": "cuda", "comp": "vulkan"}


class Kind(enum.IntEnum):
    FLUID = 1
    SOLID = 2


class Solver:
    dt = 1e-4

    def __init__(self, dx: float) -> None:
        self.dx = dx


dx, n, E, weights, flag = 1 / 24, 7, 400.0, [0.1, 0.7], True
one, other = Solver(0.25), Solver(0.3)
λ, vec3, x_n0, index, task, args, a__b = 0.1, 2, 3, 5, 1.25, 2.5, 4
half_away, infinite, none, zero = np.float32(0.3), math.inf, math.nan, -0.0
bits, wide, small = np.int8(5), 2**40, 1e-45


def sources(kernel, *given) -> dict[str, str]:
    """Return the sources of a kernel, which no compiler warns of."""
    found = {suffix: kernel.source(*given, arch=getattr(ti, arch)) for suffix, arch in TARGETS.items()}
    for suffix, text in found.items():
        if not missing_tool(f".{suffix}") and "// =====" not in text:
            assert diagnostics_of(f"k.{suffix}", text) == ""
    return found


def test_names_and_numbers(target: str) -> None:
    x = ti.field(ti.f32, (n, 3))

    @ti.kernel
    def run(s: ti.f32):
        for p in range(n):
            x[p, 0] = s * dx + weights[1] + half_away + math.pi + Kind.SOLID
            x[p, 1] = (0.5 * one.dx * p) + other.dx / E + p * (n - 1) + x.shape[1] - bits
            x[p, 2] = -Solver.dt * 4 * E * s / one.dx**2 + 1 / dx

    run(2.0)
    f = np.float32
    expected = f(2) * f(1 / 24) + f(0.7) + f(0.3) + f(math.pi) + f(2)
    assert x[3, 0] == pytest.approx(expected, rel=1e-6)
    assert x[3, 1] == pytest.approx(0.375 + 0.3 / 400 + 18 + 3 - 5, rel=1e-6)
    assert x[3, 2] == pytest.approx(-0.32 / 0.0625 + 24, rel=1e-6)
    for text in sources(run, 2.0).values():
        for words in ("dx = 0.041666668", "// weights[1]", "// math.pi", "SOLID", "// one.dx", "(n - 1)", "x_n1"):
            assert words in text
        body = text[text.index("for p in range(n)") :]
        assert not any(number in body for number in ("0.041666668", "0.7", "0.3", "3.14", "400", "1e-4", " 6"))


def test_a_constant_has_the_bits_that_python_computes(target: str) -> None:
    """Of what a compiler may round otherwise the result has a name."""
    y = ti.field(ti.f64, 6)
    third, big, tenth = 1 / 3, 2**24 + 1, 0.1

    @ti.kernel
    def run():
        for _ in range(1):
            y[0] = third * third * 7
            y[1] = big * tenth
            y[2] = 1 / tenth
            y[3] = ti.f64(tenth) + ti.f64(big)
            y[4] = tenth
            y[5] = ti.sqrt(third) - big

    run()
    f = np.float32
    numbers = [f(1 / 3 * (1 / 3) * 7), f((2**24 + 1) * 0.1), f(10.0), 0.1 + (2**24 + 1), f(0.1)]
    assert y.to_numpy()[:5].tolist() == [float(number) for number in numbers]
    assert y[5] == float(f(np.sqrt(f(1 / 3))) - f(2**24 + 1))
    for text in sources(run).values():
        assert "// third * third * 7" in text and ("inv_tenth" in text or "1.0 / tenth" in text.replace("f", ""))


def test_names_that_others_have(target: str) -> None:
    x = ti.field(ti.f32, 4)

    def scaled(dx: float):
        @ti.func
        def by(value):
            n = value * dx
            return n * λ

        return by

    first, second = scaled(2.0), scaled(3.0)

    @ti.kernel
    def run(vec3_: ti.f32):
        for i in x:
            s = ti.Vector([vec3, 1.0, x_n0])
            x[i] = s.x + s.z + index + task + args + a__b + first(vec3_) + second(vec3_) + dx

    run(1.0)
    assert x[2] == pytest.approx(2 + 3 + 5 + 1.25 + 2.5 + 4 + 0.2 + 0.3 + 1 / 24, rel=1e-6)
    sources(run, 1.0)


def test_numbers_at_the_edges(target: str) -> None:
    x, z = ti.field(ti.f32, 5), ti.field(ti.i64, 2)

    @ti.kernel
    def run():
        for _ in range(1):
            x[0], x[1], x[2], x[3] = infinite, none, zero, zero * -1.0
            x[4] = small * 1.0
            z[0] = ti.cast(wide, ti.i64) + flag if ti.static(False) else ti.i64(wide) + ti.i64(n)
            z[1] = -n // 2 + (-n) % 4

    run()
    found = x.to_numpy()
    assert found[0] == np.inf and np.isnan(found[1])
    assert np.signbit(found[2]) and not np.signbit(found[3]) and found[2] == 0
    assert z.to_numpy().tolist() == [2**40 + 7, -4 + 1]
    sources(run)


def test_a_constant_is_read_when_the_kernel_is_compiled(target: str) -> None:
    x = ti.field(ti.f32, 1)
    holder = Solver(2.0)

    @ti.kernel
    def run():
        x[0] = holder.dx

    run()
    holder.dx = 3.0
    run()
    assert x[0] == 2.0, "as in Taichi"


def test_other_numbers_are_other_sources(target: str) -> None:
    x = ti.field(ti.f32, 3)

    def make(factor: float):
        @ti.kernel
        def run():
            for i in x:
                x[i] = factor * 3

        return run

    for factor in (0.1, 0.2, 0.1, -0.0):
        make(factor)()
        assert np.all(x.to_numpy() == np.float32(factor * 3)) and np.signbit(x[0]) == np.signbit(factor)


def test_static_loops_and_thread_blocks_take_named_numbers(target: str) -> None:
    m, size = 3, 32
    x, y = ti.field(ti.f32, 64), ti.field(ti.i32, 2)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=size)
        for i in x:
            total = 0.0
            for k in ti.static(range(m)):
                total += k * dx
            for a, b in ti.static(ti.ndrange(m, 2)):
                total += a * m + b
            x[i] = total
        for _ in range(1):
            y[0] = ti.static(max(m, 2)) + len(range(m)) + min(size, 5)
            if ti.static(m is m and Kind.FLUID == 1):
                y[1] = int(E) + ti.Vector.zero(ti.i32, m)[1]

    run()
    assert x[5] == pytest.approx(3 / 24 + 18 + 3, rel=1e-6) and y.to_numpy().tolist() == [3 + 3 + 5, 400]


def test_elements_of_vectors_have_their_names(target: str) -> None:
    x = ti.Vector.field(2, ti.f32, 3)
    gravity, stiff = ti.Vector([0.25, -9.8]), ti.Matrix([[1.5, 2.5], [3.5, 4.5]])
    one.wind = ti.Vector([3, 4])

    @ti.kernel
    def run(s: ti.f32):
        for i in x:
            x[i] = s * gravity + (one.wind * s) * gravity.y + stiff @ ti.Vector([s, gravity[0]])

    run(2.0)
    assert x[1].to_list() == pytest.approx([0.5 - 58.8 + 3.625, -19.6 - 78.4 + 8.125], rel=1e-6)
    for text in sources(run, 2.0).values():
        assert "-9.8" not in text[text.index("for i in x") :] and "// gravity.y" in text and "// one.wind.x" in text


def test_user_functions_get_plain_numbers(target: str) -> None:
    seen = []

    def helper(value, name=None):
        seen.append((type(value), type(name)))
        return value

    x = ti.field(ti.f32, 1)

    @ti.kernel
    def run():
        x[0] = helper(n) + helper(dx, name=half_away)

    run()
    assert x[0] == pytest.approx(7 + 1 / 24, rel=1e-6)
    assert seen[:2] == [(int, type(None)), (float, np.float32)]


def test_a_type_that_only_a_constant_passes_through(target: str) -> None:
    narrow = ti.field(ti.i16, 4)

    @ti.kernel
    def run(k: ti.i32):
        for i in narrow:
            narrow[i] = ti.cast(k, ti.i16) + ti.cast(ti.cast(n, ti.i8), ti.i16)

    run(4)
    assert narrow.to_numpy().tolist() == [11] * 4
