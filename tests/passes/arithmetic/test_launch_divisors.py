"""Pass `launch_divisors`: divisions by multipliers and shifts that a launch packs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.backend.module.divisors import LARGEST, packed_divisor

Cube = ti.types.ndarray(ti.i32, 3)
Square = ti.types.ndarray(ti.i32, 2)


def quotient(number: int, packed: int) -> int:
    """Return what a source computes."""
    return ((number * (packed & 0xFFFFFFFF) >> 32) + number) >> (packed >> 32)


def test_quotients_are_exact() -> None:
    draw = random.Random(1)
    powers = [2**k + more for k in range(31) for more in (-1, 0, 1)]
    for divisor in [*range(1, 99), *powers[1:-1], LARGEST, *(draw.randint(1, LARGEST) for _ in range(500))]:
        most, packed = LARGEST // divisor * divisor, packed_divisor(divisor)
        assert packed < 1 << 38
        for number in (0, divisor - 1, divisor, most - 1, most, LARGEST, draw.randint(0, LARGEST)):
            assert quotient(number, packed) == number // divisor, (number, divisor)
    assert quotient(LARGEST - 1, packed_divisor(0)) == 0
    assert packed_divisor(-7) == packed_divisor(2**32 + 7) == packed_divisor(7)


@ti.kernel
def number_inner(x: Cube):
    n, m = x.shape[0], x.shape[1]
    for i, j, k in ti.ndrange((1, n - 1), m, (2, x.shape[2])):
        x[i, j, k] = (i * 100 + j) * 100 + k


def test_extents_of_arrays(target: str) -> None:
    for shape in ((3, 1, 3), (4, 5, 6), (9, 7, 33), (2, 2, 2), (3, 4, 2)):
        x = ti.ndarray(ti.i32, shape)
        number_inner(x)
        i, j, k = np.indices(shape)
        is_inner = (i > 0) & (i < shape[0] - 1) & (k >= 2)
        np.testing.assert_array_equal(x.to_numpy(), np.where(is_inner, (i * 100 + j) * 100 + k, 0))


@ti.kernel
def number_part(x: Square, n: ti.i32, m: ti.i32):
    for i, j in ti.ndrange(n, m):
        x[i, j] = i * 100 + j + 1


@pytest.mark.targets("vulkan", "cuda")
@pytest.mark.filterwarnings("ignore:argument 2")
def test_extents_of_arguments(target: str) -> None:
    x = ti.ndarray(ti.i32, (9, 50))
    i, j = np.indices((9, 50))
    sizes: list[tuple[Any, Any]] = [(3, 4), (3, 5), (0, 5), (5, 0), (-3, 7), (7, -3), (np.uint8(9), np.int64(50))]
    for n, m in [*sizes, (5, 2**32 + 4)]:  # which wraps, with a warning
        x.fill(0)
        number_part(x, n, m)
        is_part = (i < n) & (j < (4 if m > 2**31 else m))
        np.testing.assert_array_equal(x.to_numpy(), np.where(is_part, i * 100 + j + 1, 0))


@pytest.mark.targets("vulkan", "cuda")
def test_graphs_and_archives_pack_them(target: str) -> None:
    from shadesmith.runtime.aot.container import write_container

    if target == "python":
        pytest.skip("the interpreter has nothing to archive")
    module = ti.aot.Module()
    module.add_kernel(number_part)
    loaded = ti.aot.load(write_container(module.members()))
    builder = ti.graph.GraphBuilder()
    arguments = [ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.i32, ndim=2)]
    arguments += [ti.graph.Arg(ti.graph.ArgKind.SCALAR, name, ti.i32) for name in "nm"]
    builder.dispatch(number_part, *arguments)
    graph = builder.compile()
    i, j = np.indices((9, 50))
    for n, m in ((3, 4), (9, 50), (4, 3)):
        for launch in (loaded.number_part, lambda x, n, m: graph.run({"x": x, "n": n, "m": m})):
            x = ti.ndarray(ti.i32, (9, 50))
            launch(x, n, m)
            np.testing.assert_array_equal(x.to_numpy(), np.where((i < n) & (j < m), i * 100 + j + 1, 0))


@ti.kernel
def divide_all(x: ti.types.ndarray(ti.i32, 1), y: Square, n: ti.i32):
    for i in x:
        y[i, 0], y[i, 1] = x[i] // n, x[i] % n
        y[i, 2], y[i, 3] = x[i] // (2 * n), i % (n - 3)
        y[i, 4], y[i, 5] = i // x.shape[0], x[i] % x.shape[0]


def divided(number: int, divisor: int) -> tuple[int, int]:
    """Return quotient and remainder by Python's rules, 0 for a divisor of 0, as 32 bits."""
    divisor = (divisor + 2**31) % 2**32 - 2**31
    quotient, rest = divmod(number, divisor) if divisor else (0, 0)
    return (quotient + 2**31) % 2**32 - 2**31, rest


def test_quotients_and_remainders_of_all_signs(target: str) -> None:
    edges = [0, 1, 2, 3, 5, 7, 1000, 2**30, 2**31 - 2, 2**31 - 1]
    numbers = [*edges, *(-number for number in edges[1:]), -(2**31)]
    x, y = ti.ndarray(ti.i32, len(numbers)), ti.ndarray(ti.i32, (len(numbers), 6))
    x.from_numpy(np.array(numbers, np.int32))
    for n in numbers:
        divide_all(x, y, n)
        length, rows = len(numbers), []
        for i, number in enumerate(numbers):
            shape = i // length, number % length
            rows.append([*divided(number, n), divided(number, 2 * n)[0], divided(i, n - 3)[1], *shape])
        np.testing.assert_array_equal(y.to_numpy(), rows, err_msg=str(n))


def test_sources_of_divisions() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = ti.ndarray(ti.i32, 9), ti.ndarray(ti.i32, (9, 6))
    cuda, glsl = (divide_all.source(x, y, 1, arch=arch) for arch in (ti.cuda, ti.vulkan))
    for text in (cuda, glsl):
        assert "y(i, 1) = mod_by(x_i, args.n, args.by_n);" in text
        assert "y(i, 3) = mod_by(i, args.n - 3, args.by_n_minus_3);" in text
    assert "Divisor by_2_n;  " in cuda and "// to divide by 2 * n (launch_divisors)" in cuda
    assert "_by(" not in divide_all.source(x, y, 1, arch=ti.cpu)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.ndarray(ti.i32, (4, 5, 6))
    cuda, glsl = (number_inner.source(x, arch=arch) for arch in (ti.cuda, ti.vulkan))
    assert "Divisor by_m;  " in cuda and "Divisor by_extent_k;" in cuda
    assert "unsigned ij = divide(index, args.by_extent_k);" in cuda
    assert "unsigned number_i = divide(ij, args.by_m);" in cuda
    assert "int i = 1 + number_i, j = ij - number_i * args.m, k = (index - ij * extent_k) * 4;" in cuda
    assert "umulExtended(n, by.multiplier, high, low);" in glsl and "uint ij = divide(index, args.by_extent_k);" in glsl
    assert "divide" not in number_inner.source(x, arch=ti.cpu)


def test_a_nest_of_one_loop_divides_by_a_product() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def means(x: ti.types.ndarray(ti.f32, 4), m: ti.types.ndarray(ti.f32, 1)):
        for c in m:
            s = 0.0
            for n in range(x.shape[0]):
                for i in range(x.shape[2]):
                    for j in range(x.shape[3]):
                        s += x[n, c, i, j]
            m[c] = s

    text = means.source(ti.ndarray(ti.f32, (2, 3, 64, 64)), ti.ndarray(ti.f32, 3), arch=ti.cuda)
    assert "int n = int(divide(n_i_j, args.by_x_n2_x_n3));" in text


def test_arguments_that_fit_push_constants_stay_there() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def add(a: Cube, b: Cube, c: Cube, d: Cube, e: Cube, f: Cube, g: Cube):
        for i, j, k in a:
            a[i, j, k] = b[i, j, k] + c[j, i, k] + d[k, i, j] + e[k, j, i] + f[j, k, i] + g[i, k, j] % a.shape[2]

    arrays = [ti.ndarray(ti.i32, (4, 4, 4)) for _ in range(7)]
    glsl = add.source(*arrays, arch=ti.vulkan)
    assert "push_constant, scalar) uniform Args {" in glsl and "Divisor" not in glsl
    assert "Divisor by_a_n2;" in add.source(*arrays, arch=ti.cuda)


def test_names_of_the_program_stay() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def divide(x: Square, by_x_n1: ti.i32):
        for i, j in x:
            i_ = x[i, j] // 3
            x[i, j] = i_ + by_x_n1

    text = divide.source(ti.ndarray(ti.i32, (4, 5)), 1, arch=ti.cuda)
    assert "int by_x_n1;" in text and text.count(" divide(unsigned n") == 1
