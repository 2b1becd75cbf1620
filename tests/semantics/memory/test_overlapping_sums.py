"""Sums in place of several ndarrays, which are no atomic operations: also of one array with two names."""

import numpy as np
import pytest

import shadesmith as ti

N1 = ti.types.ndarray(ti.i32, 1)


@ti.kernel
def move(x: N1, v: N1, a: N1):
    for i in x:
        v[i] += a[i]
        x[i] += 2 * v[i]


@ti.kernel
def add(x: N1, v: N1):
    for i in range(v.shape[0]):
        x[i] += 3
        v[i] += 5


def test_each_array_once_and_one_twice(target):
    for n in (1, 5, 64, 131):
        numbers = [(np.arange(n, dtype=np.int32) * k) % 7 for k in (1, 2, 3)]
        x, v, a = (ti.ndarray(ti.i32, n) for _ in range(3))
        for array, values in zip((x, v, a), numbers, strict=True):
            array.from_numpy(values)
        move(x, v, a)
        assert np.array_equal(v.to_numpy(), numbers[1] + numbers[2])
        assert np.array_equal(x.to_numpy(), numbers[0] + 2 * (numbers[1] + numbers[2]))
        x.from_numpy(numbers[0])
        move(x, x, a)
        assert np.array_equal(x.to_numpy(), 3 * (numbers[0] + numbers[2]))
        a.from_numpy(numbers[2])
        move(a, a, a)
        assert np.array_equal(a.to_numpy(), 6 * numbers[2])
    assert "atomicAdd" not in move.source(x, v, a, arch=ti.cuda)


@pytest.mark.all_targets
def test_parts_of_one_array_that_only_sums_change(target):
    """Two iterations add to most elements, and none reads them: the sums are atomic operations."""
    memory = np.zeros(20001, np.int32)
    x, v = memory[1:], memory[:-1]
    add(x, v)
    if target in ("cpu", "python"):  # GPUs get a copy of each
        assert memory[0] == 5 and memory[-1] == 3 and set(memory[1:-1]) == {8}
    assert "atomicAdd" in add.source(x, v, arch=ti.cuda)
