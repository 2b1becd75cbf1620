"""What kernels return, where devices store it in the host's memory."""

from __future__ import annotations

import gc

import shadesmith as ti
from shadesmith.runtime.session import session

Pair = ti.types.struct(v=ti.types.vector(3, ti.i16), n=ti.f64)


def test_results_of_several_kernels_are_each_its_own(target: str) -> None:
    x = ti.field(ti.i32, ())

    def kernel_of(k):
        @ti.kernel
        def add() -> ti.i32:
            x[None] += k
            return x[None]

        return add

    kernels = [kernel_of(k) for k in range(1, 40)]
    total = 0
    for _ in range(2):
        for k, add in enumerate(kernels, 1):
            total += k
            assert add() == total


def test_types_of_results(target: str) -> None:
    @ti.kernel
    def numbers(a: ti.i8, b: ti.u64, c: ti.f64) -> (ti.i8, ti.u64, ti.f64, ti.u1):
        return a, b, c, a > 0

    @ti.kernel
    def pair(n: ti.f64) -> Pair:
        return Pair(v=[1, -2, 3], n=n)

    @ti.kernel
    def square() -> ti.types.matrix(2, 2, ti.f32):
        return ti.Matrix([[1.5, 2.0], [3.0, 4.0]])

    found = numbers(-5, 2**64 - 3, 0.1)
    assert found == (-5, 2**64 - 3, 0.1, 0) and [type(value) for value in found] == [int, int, float, bool]
    assert numbers(5, 1, -0.5) == (5, 1, -0.5, True)
    assert pair(0.3).n == 0.3 and pair(0.4).v.to_list() == [1, -2, 3]
    assert square().to_list() == [[1.5, 2.0], [3.0, 4.0]]


def test_the_memory_of_results_is_freed_with_the_kernel(target: str) -> None:
    device = session.CURRENT.device

    def use():
        @ti.kernel
        def large(k: ti.f32) -> ti.types.vector(32, ti.f32):
            return ti.Vector([k] * 32)

        assert large(2.0)[31] == 2.0

    use()
    gc.collect()
    device.synchronize()
    used = device.used_bytes
    for _ in range(3):
        use()
    gc.collect()
    device.synchronize()
    assert device.used_bytes == used


def test_a_result_stays_after_the_next_launch(target: str) -> None:
    """C's results are read where the kernel stores them."""
    pair = ti.types.struct(number=ti.i32, place=ti.math.vec2)

    @ti.kernel
    def numbers(k: ti.i32) -> ti.math.vec3:
        return ti.math.vec3(k, k + 1, k + 2)

    @ti.kernel
    def several(k: ti.i32) -> (ti.i32, ti.f32, pair):
        return k, k * 0.5, pair(k + 1, ti.math.vec2(k, k))

    first, others = numbers(1), several(1)
    numbers(7), several(7)
    assert list(first) == [1, 2, 3]
    assert others[:2] == (1, 0.5) and others[2].number == 2 and list(others[2].place) == [1, 1]
