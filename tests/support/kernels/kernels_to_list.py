"""Kernels whose lines are followed down to the machine: by number, so leave them where they are."""

import shadesmith as ti


@ti.func
def blur(a: ti.template(), i: int):
    left = a[i - 1] * 0.25
    return left + a[i + 1] * 0.75


@ti.kernel
def smooth(a: ti.types.ndarray(ti.f32, 1), b: ti.types.ndarray(ti.f32, 1)):
    for i in range(1, a.shape[0] - 1):
        x = blur(a, i)
        b[i] = ti.sqrt(x)


@ti.kernel
def two(a: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
    total = 0
    for i in a:
        total += a[i] * 3
    return total


@ti.real_func
def cube(x: ti.f32) -> ti.f32:
    y = x * x
    return y * x


@ti.kernel
def cubes(a: ti.types.ndarray(ti.f32, 1)):
    for i in a:
        a[i] = cube(a[i])
