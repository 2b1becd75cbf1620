"""Pass `fuse_result`: start values of elements to which a loop adds a sum in the end."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

ARRAY = ti.types.ndarray(ti.f32, 1)


@pytest.mark.parametrize("n", [0, 1, 5000])
def test_start_values_in_elements(target: str, n: int) -> None:
    """What a loop adds to elements is stored with their start values, without a launch for these."""
    x, s, m, c = ti.field(ti.f32, 5000), ti.field(ti.f32, ()), ti.field(ti.f32, ()), ti.field(ti.i32, 3)
    between = ti.field(ti.i32, 3)
    numbers = np.arange(5000, dtype=np.float32) - 2000
    x.from_numpy(numbers)
    s[None], m[None] = 7.0, 8.0
    c.fill(9)

    @ti.kernel
    def add(n: ti.i32):
        s[None] = 0
        m[None] = -1e9
        c[1] = 5
        for i in range(3):
            between[i] = i
        for i in range(n):
            s[None] += x[i]
            ti.atomic_max(m[None], x[i])
            c[1] += 1

    add(n)
    assert s[None] == numbers[:n].sum() and m[None] == (numbers[:n].max() if n else -1e9)
    assert c.to_numpy().tolist() == [9, 5 + n, 9]
    for arch in (ti.cuda, ti.vulkan, ti.cpu):
        source = add.source(n, arch=arch)
        assert "s() = 0.0" not in source and "m() = -1e9" not in source and "c(1) = 5 + c_sum;" in source


@pytest.mark.parametrize("n", [0, 5])
def test_start_values_in_elements_with_an_offset(n: int) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, s = ti.field(ti.i32, 5), ti.field(ti.i32, 3, offset=-1)
    x.fill(2)

    @ti.kernel
    def add(n: ti.i32):
        s[-1] = 4
        for i in range(n):
            s[-1] += x[i]

    add(n)
    assert s.to_numpy().tolist() == [4 + 2 * n, 0, 0]
    assert "s(-1) = 4 + s_sum;" in add.source(n, arch=ti.cpu)


def test_start_values_that_stay(target: str) -> None:
    """Of elements that the loop or the task reads, of others, and those that are computed."""
    x, s = ti.field(ti.f32, 100), ti.field(ti.f32, 3)
    x.fill(2.0)

    @ti.kernel
    def read_in_loop():
        s[0] = 1
        for i in x:
            s[0] += x[i] * (1.0 + s[1] * 0)

    @ti.kernel
    def read_before():
        s[1] = 3
        s[2] = s[1] + 1
        for i in x:
            s[1] += x[i]

    @ti.kernel
    def another():
        s[1] = 3
        for i in x:
            s[0] += x[i]

    @ti.kernel
    def in_a_branch(k: ti.i32):
        if k > 0:
            s[0] = 3
        for i in x:
            s[0] += x[i]

    read_in_loop()
    assert s.to_numpy().tolist() == [201, 0, 0]
    read_before()
    assert s.to_numpy().tolist() == [201, 203, 4]
    another()
    assert s.to_numpy().tolist() == [401, 3, 4]
    in_a_branch(0)
    assert s.to_numpy().tolist() == [601, 3, 4]
    in_a_branch(1)
    assert s.to_numpy().tolist() == [203, 3, 4]


def test_loops_of_which_a_launch_chooses_one(target: str) -> None:
    """What follows, and start values, stay tasks of their own, since another task may run in place of the loop."""
    total = ti.field(ti.f32, ())

    @ti.kernel
    def returned(x: ARRAY, y: ARRAY) -> ti.f32:
        s = 0.0
        for i in x:
            for j in range(3):
                x[i] += y[j]
            s += x[i]
        return s * 2

    @ti.kernel
    def stored(x: ARRAY, y: ARRAY, z: ARRAY):
        total[None] = 1
        for i in x:
            for j in range(3):
                x[i] += y[j]
            total[None] += x[i]
        z[0] = total[None] * 2

    for n, is_same in ((1, False), (1, True), (5, False), (3000, False)):
        for kernel in (returned, stored):
            y, z = np.ones(3, np.float32), np.zeros(1, np.float32)
            x = y[:1] if is_same else np.zeros(n, np.float32)
            found = kernel(x, y) if kernel is returned else kernel(x, y, z)
            expected = 2 * (4 if is_same else 3 * n)
            assert (found if kernel is returned else z[0] - 2) == expected, (n, is_same, kernel.__name__)


@pytest.mark.parametrize("start", [(0, 0, 0), (1, -2, 3)])
def test_start_values_of_vectors(target: str, start: tuple[int, int, int]) -> None:
    """They take no launch either, in a variable that is returned and in an element."""
    x, s = ti.Vector.field(3, ti.f32, 3000), ti.Vector.field(3, ti.f32, ())
    numbers = (np.arange(9000) % 17).astype(np.float32).reshape(3000, 3)
    x.from_numpy(numbers)

    @ti.kernel
    def total() -> ti.math.vec3:
        t = ti.math.vec3(*start)
        for i in x:
            t += x[i]
        return t * 2

    @ti.kernel
    def add():
        s[None] = ti.math.vec3(*start)
        for i in x:
            s[None] += x[i]

    add()
    assert np.array(total()).tolist() == (2 * (numbers.sum(axis=0) + start)).tolist()
    assert s.to_numpy().tolist() == (numbers.sum(axis=0) + start).tolist()
    for kernel in (total, add):
        for arch in (ti.cuda, ti.vulkan, ti.cpu):
            assert len(kernel.inspect(arch=arch).module.tasks) == 1
