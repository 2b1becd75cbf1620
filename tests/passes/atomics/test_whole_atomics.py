"""Pass `whole_atomics`: atomic operations on all elements of a vector are one call in C and CUDA C; sums are right everywhere."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti

N, M = 500, 7
CALL = re.compile(r"^ +(atomic\w+)\(&(\w+)", re.MULTILINE)


def kernel_of(arch, **options):
    """Return a kernel that adds vectors in several ways, and its fields."""
    ti.init(arch=arch, log_level=ti.ERROR, **options)
    a, b = ti.Vector.field(3, ti.f32, M), ti.Vector.field(2, ti.i64, M)
    c, d = ti.Vector.field(2, ti.f32, M), ti.Vector.field(5, ti.f32, M)
    e, f = ti.Vector.field(2, ti.f32, M), ti.Vector.field(2, ti.f32, M)

    @ti.kernel
    def add(x: ti.types.ndarray(ti.math.vec3, 1)):
        for p in x:
            i = p * p % M
            a[i] += x[p] * 2.0
            b[i] -= ti.cast(x[p].xy, ti.i64)
            old = ti.atomic_add(c[i], x[p].yz)  # its result is used
            d[i] += ti.Vector([1.0, 2.0, 3.0, 4.0, 5.0]) * x[p][0]  # too long
            e[i][0] += x[p][1]  # of several vectors
            e[i][1] += x[p][1]
            f[(i + 1) % M] += x[p].zx + f[i] * 0.0 + old * 0.0

    return add, (a, b, c, d, e, f)


def test_sums(target: str) -> None:
    add, fields = kernel_of(getattr(ti, target))
    x = np.random.default_rng(3).integers(-9, 10, (N, 3)).astype(np.float32)
    add(x)
    sums = [np.zeros((M, n)) for n in (3, 2, 2, 5, 2, 2)]
    for p in range(N):
        i = p * p % M
        sums[0][i] += x[p] * 2
        sums[1][i] -= x[p, :2]
        sums[2][i] += x[p, 1:]
        sums[3][i] += np.arange(1, 6) * x[p, 0]
        sums[4][i] += x[p, 1]
        sums[5][(i + 1) % M] += x[p, [2, 0]]
    for number, (field, expected) in enumerate(zip(fields, sums, strict=True)):
        assert np.array_equal(field.to_numpy(), expected), number


def test_calls() -> None:
    add, _ = kernel_of(ti.cpu, passes="-private_sums")
    x = np.zeros((3, 3), np.float32)
    calls = CALL.findall(add.source(x).partition("task(")[2])
    assert ("atomic_add_vec3", "a") in calls and ("atomic_sub_i64vec2", "b") in calls
    assert ("atomic_add_vec2", "f") in calls
    assert {name for name, array in calls if array in "cde"} == {"atomic_add_f32"}
    without, _ = kernel_of(ti.cpu, passes="-private_sums, -whole_atomics")
    assert "vec3(&a" not in without.source(x)


def test_calls_of_cuda() -> None:
    """A vector that one or two instructions add is a float2, float3 or float4."""
    add, _ = kernel_of(ti.python)
    calls = CALL.findall(add.source(np.zeros((3, 3), np.float32), arch=ti.cuda).partition("__launch_bounds__")[2])
    assert ("atomic_add_float3", "a") in calls and ("atomic_sub_i64vec2", "b") in calls
    assert ("atomic_add_float2", "f") in calls and ("atomic_add_float2", "e") in calls
    assert {name for name, array in calls if array == "d"} == {"atomicAdd"}


@pytest.mark.parametrize("together", [True, False])
def test_what_comes_between_is_not_moved(target: str, together: bool) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    v, w = ti.Vector.field(2, ti.f32, 4), ti.field(ti.f32, 4)

    @ti.kernel
    def add():
        for i in range(4):
            step = ti.Vector([w[i], 2.0 * w[i]])
            v[i % 2][0] += step[0]
            if ti.static(not together):
                w[i] = 5.0
            v[i % 2][1] += step[1]

    w.from_numpy(np.arange(4, dtype=np.float32))
    add()
    assert v.to_numpy().tolist() == [[2.0, 4.0], [4.0, 8.0], [0.0, 0.0], [0.0, 0.0]]
