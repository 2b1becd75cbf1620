"""`unswitch_loops`, with `peel_borders`: sums over neighbours that are inside become lanes of vectors in C."""

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the passes return at once
Grid = ti.types.ndarray(ti.f32, 2)
SHAPE = (9, 2000)


@ti.kernel
def in_one_branch(x: Grid, w: Grid, y: Grid):
    for i, j in y:
        s = 0.0
        for a in range(3):
            for b in range(5):
                p = i + a - 1
                q = j + b - 2
                if 0 <= p < x.shape[0] and 0 <= q < x.shape[1]:
                    s += x[p, q] * w[a, b]
        y[i, j] = s


@ti.kernel
def in_two_branches(x: Grid, w: Grid, y: Grid):
    for i, j in y:
        s = 0.0
        for a, b in ti.ndrange(3, 5):
            if 0 <= i + a - 1 and i + a - 1 < x.shape[0]:
                if j + b >= 2 and j + b - 2 < x.shape[1]:
                    s += x[i + a - 1, j + b - 2] * w[a, b]
        y[i, j] = s


@ti.kernel
def of_what_it_stores(x: Grid, w: Grid, y: Grid):
    for i, j in y:
        s = 0.0
        for b in range(5):
            if 0 <= j + b - 2 < y.shape[1]:
                s += y[i, j + b - 2] * w[0, b]
        y[i, j] = s


def inputs() -> tuple[np.ndarray, ...]:
    random = np.random.RandomState(1)
    return random.rand(*SHAPE).astype(np.float32), random.rand(3, 5).astype(np.float32), np.zeros(SHAPE, np.float32)


@pytest.mark.sampled(2, each="kernel")
@pytest.mark.parametrize("kernel", [in_one_branch, in_two_branches])
@pytest.mark.parametrize("passes", ["", "-unswitch_loops", "-peel_borders"])
def test_values(kernel: Any, passes: str) -> None:
    ti.init(arch=ti.cpu, passes=passes)
    x, w, y = inputs()
    kernel(x, w, y)
    padded = np.pad(x.astype(np.float64), ((1, 1), (2, 2)))
    parts = [w[a, b] * padded[a : a + SHAPE[0], b : b + SHAPE[1]] for a in range(3) for b in range(5)]
    np.testing.assert_allclose(y, sum(parts), rtol=1e-5)


def test_the_branch_is_around_the_loop_and_borders_are_another_task() -> None:
    ti.init(arch=ti.cpu)
    source = in_one_branch.source(*inputs())
    branch = source.index("if (0 <= p && p < args.x_n0) {\n")
    assert "for (int b = 0; b < 5; b++) {" in source[branch : branch + 100] and "[j - first_j] += x(p, q)" in source
    assert "iterations at the ends of rows" in source and "&& 0 <= q && q < args.x_n1" in source


def test_elements_that_the_loop_stores_keep_their_branch() -> None:
    ti.init(arch=ti.cpu)
    assert "(peel_borders)" not in of_what_it_stores.source(*inputs())


@ti.kernel
def of_a_quotient(x: Grid, y: ti.types.ndarray(ti.f32, 1)):
    for i in y:
        s = 0.0
        for j in range(x.shape[1]):
            if i // x.shape[1] > 1:
                s += x[0, j]
        y[i] = s


def test_without_an_iteration_nothing_divides_by_zero() -> None:
    ti.init(arch=ti.cpu)
    y = np.ones(20, np.float32)
    of_a_quotient(np.ones((1, 0), np.float32), y)
    assert not y.any()
    of_a_quotient(np.ones((1, 5), np.float32), y)
    assert y.tolist() == [0] * 10 + [5] * 10
