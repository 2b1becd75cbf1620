"""`//`, `%` and `raw_div` by constants are Python's for negative numbers and at the ends of the types, whatever is emitted."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

DIVISORS = (1, 2, 3, 8, 10, 1 << 30)
TYPES = {"i32": (ti.i32, np.int32), "i64": (ti.i64, np.int64), "i8": (ti.i8, np.int8), "u32": (ti.u32, np.uint32)}


def dividends(kind: type) -> np.ndarray:
    limits = np.iinfo(kind)
    near = [k for k in range(-17, 18) if limits.min <= k]
    return np.array([*near, limits.min, limits.min + 1, limits.max - 1, limits.max], kind)


@pytest.mark.parametrize("name", TYPES)
def test_divisions_by_constants_round_as_in_python(target: str, name: str) -> None:
    kind, numpy_kind = TYPES[name]
    values = dividends(numpy_kind)
    divisors = tuple(d for d in DIVISORS if d <= np.iinfo(numpy_kind).max)
    x, out = ti.field(kind, values.size), ti.field(kind, (3, len(divisors), values.size))
    x.from_numpy(values)

    @ti.kernel
    def divide():
        for i in x:
            for k in ti.static(range(len(divisors))):
                d = ti.static(divisors[k])
                out[0, k, i] = ti.cast(x[i] // ti.cast(d, kind), kind)
                out[1, k, i] = ti.cast(x[i] % ti.cast(d, kind), kind)
                out[2, k, i] = ti.cast(ti.raw_div(x[i], ti.cast(d, kind)), kind)

    divide()
    found = out.to_numpy()
    for k, divisor in enumerate(divisors):
        numbers = [int(value) for value in values]
        assert found[0, k].tolist() == [n // divisor for n in numbers]
        assert found[1, k].tolist() == [n % divisor for n in numbers]
        assert found[2, k].tolist() == [abs(n) // divisor * (1 if n >= 0 else -1) for n in numbers]


def test_elements_of_divided_vectors_are_divided_alone(target: str) -> None:
    v = ti.Vector.field(3, ti.i32, 9)

    @ti.kernel
    def divide():
        for i in v:
            a = ti.Vector([i - 4, i * 3 - 9, -i])
            w = (a + 1) // 4
            v[i] = a // 2 * 100 + a % 4 + a // 3 - a % 7
            v[i][0] += w[0] * 100 + w[1]

    divide()
    for i, found in enumerate(v.to_numpy()):
        a = np.array([i - 4, i * 3 - 9, -i])
        w = (a + 1) // 4
        expected = a // 2 * 100 + a % 4 + a // 3 - a % 7
        expected[0] += w[0] * 100 + w[1]
        assert found.tolist() == expected.tolist()
