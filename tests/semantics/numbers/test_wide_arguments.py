"""Vectors and matrices of 64 bits as arguments, at each offset that other arguments before them give.

An H200 (driver 580.159) read x and y, or nothing, in place of z and w of those at odd multiples of 16.
"""

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

SHAPES = ((3,), (4,), (2, 3), (2, 4), (3, 3), (3, 4), (4, 4), (1, 4))


def type_of(shape: tuple[int, ...], dtype: Any) -> Any:
    return ti.types.vector(*shape, dtype) if len(shape) == 1 else ti.types.matrix(*shape, dtype)


@pytest.mark.sampled(4, each="dtype")
@pytest.mark.parametrize("dtype", [ti.i64, ti.u64, ti.f64], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("before", [1, *(pytest.param(count, marks=pytest.mark.exhaustive) for count in (0, 2, 3))])
def test_all_elements_of_an_argument_arrive(target: str, dtype: Any, shape: tuple[int, ...], before: int) -> None:
    size, columns = int(np.prod(shape)), shape[-1]
    kind, is_vector = type_of(shape, dtype), len(shape) == 1
    found, others = ti.field(dtype, shape=size), [ti.field(ti.i32, shape=()) for _ in range(before)]

    @ti.kernel
    def spread(value: kind):
        for _ in range(1):
            negated = -value
            for other in ti.static(others):
                other[None] = 1
            for k in ti.static(range(size)):
                if ti.static(is_vector):
                    found[k] = negated[k]
                else:
                    found[k] = negated[k // columns, k % columns]

    given = np.arange(1, size + 1).astype(found.to_numpy().dtype)
    spread(kind(given.tolist()))
    assert found.to_numpy().tolist() == (-given).tolist()


@pytest.mark.parametrize("dtype", [ti.i64, ti.f64], ids=str)
def test_vectors_after_each_other_and_in_structs_arrive(target: str, dtype: Any) -> None:
    vec3, vec4 = ti.types.vector(3, dtype), ti.types.vector(4, dtype)
    parts = ti.types.struct(a=ti.i64, v=vec4, w=vec3)
    found = ti.field(dtype, shape=14)

    @ti.kernel
    def spread(n: ti.i64, p: vec3, q: vec3, s: parts, r: vec4):
        for _ in range(1):
            a, b, c, d, e = -p, -q, -s.v, -s.w, -r
            for k in ti.static(range(3)):
                found[k] = a[k]
                found[3 + k] = b[k] + c[k] * 0 + n * 0
                found[10 + k] = d[k] + e[k]
            found[6] = c[0] + c[1] * 10 + c[2] * 100 + c[3] * 1000
            found[13] = e[3]

    spread(1, vec3(1, 2, 3), vec3(4, 5, 6), parts(a=1, v=[7, 8, 9, 10], w=[11, 12, 13]), vec4(14, 15, 16, 17))
    expected = [-1, -2, -3, -4, -5, -6, -10987, 0, 0, 0, -25, -27, -29, -17]
    assert found.to_numpy().tolist() == expected


def test_the_gap_stands_in_the_source_with_its_reason() -> None:
    ti.init(arch=ti.vulkan)
    x = ti.field(ti.i64, shape=4)

    @ti.kernel
    def k(n: ti.i64, v: ti.types.vector(4, ti.i64)):
        for i in x:
            x[i] = v[i] + n

    text = k.source(1, [1, 2, 3, 4])
    assert "layout(offset = 24) i64vec4 v;  // v: i64[4], not at 16: NVIDIA misreads it there" in text
    k(1, [1, 2, 3, 4])
    assert x.to_numpy().tolist() == [2, 3, 4, 5]
