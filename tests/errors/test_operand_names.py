"""A mismatch of types names both operands as the user wrote them, each with its type."""

from __future__ import annotations

import pytest

import shadesmith as ti


@ti.kernel
def unequal(n: ti.f32) -> ti.f32:
    v, w = ti.Vector([n, 2.0]), ti.Vector([n, 2.0, 3.0])
    return ((v * 2.0) + (w - 1.0))[0]


@ti.kernel
def chained(n: ti.f32) -> ti.i32:
    return 1 + (n * 2.0 & ti.cast(n, ti.i32) + 1)


@ti.kernel
def compared(n: ti.f32) -> ti.i32:
    v, w = ti.Vector([n, 2.0]), ti.Vector([n, 2.0, 3.0])
    return 1 if ti.Vector([n, n]) < v < w else 0


@ti.func
def inner(a, b):
    return a % b


@ti.kernel
def inlined(n: ti.f32) -> ti.f32:
    return (1.0 + inner(ti.Vector([n, n]), ti.Vector([n, n, n])))[0]


@ti.kernel
def long(n: ti.f32) -> ti.i32:
    return (n + 1.0 + n + 2.0 + n + 3.0 + n + 4.0 + n + 5.0 + n) << 1


@ti.kernel
def of_branches(n: ti.f32) -> ti.f32:
    v = ti.Vector([n, 2.0])
    return (v if n > 0 else ti.Vector([n, n, n]))[0]


@ti.kernel
def augmented(n: ti.f32) -> ti.f32:
    v = ti.Vector([n, 2.0])
    v *= ti.Vector([n, n, n])
    return v[0]


@ti.kernel
def called(n: ti.f32) -> ti.f32:
    return ti.max(ti.Vector([n, 2.0]), ti.Vector([n, n, n]))[0]


@pytest.mark.parametrize(
    ("kernel", "operands"),
    [
        (unequal, "found `vector(2, f32)` for `v * 2.0` and `vector(3, f32)` for `w - 1.0`"),
        (chained, "found `f32` for `n * 2.0` and `i32` for `ti.cast(n, ti.i32) + 1`"),
        (compared, "found `vector(2, f32)` for `v` and `vector(3, f32)` for `w`"),
        (inlined, "found `vector(2, f32)` for `a` and `vector(3, f32)` for `b`"),
        (of_branches, "found `vector(2, f32)` for `v` and `vector(3, f32)` for `ti.Vector([n, n, n])`"),
        (augmented, "found `vector(2, f32)` for `v` and `vector(3, f32)` for `ti.Vector([n, n, n])`"),
        (called, "found `vector(2, f32)` for `ti.Vector([n, 2.0])` and `vector(3, f32)` for `ti.Vector([n, n, n])`"),
        (long, "found `f32` for `n + 1.0 + n + 2.0 + n + 3.0 + n + 4. ...` and `i32` for `1`"),
    ],
)
def test_both_operands_are_named(kernel: ti.lang.kernel_impl.Kernel, operands: str) -> None:
    ti.init(arch=ti.python)
    with pytest.raises(ti.TaichiTypeError) as raised:
        kernel(1.0)
    assert operands in str(raised.value)
