"""`computed_choices`: floats are computed before one is selected in C, with the results of branches."""

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once
NOTE = "(computed_choices)"


@ti.func
def weight(t):
    r = 0.0
    if t < 1:
        r = 1 - t * t * (2.5 - 1.5 * t)
    elif t < 2:
        r = 2 - t * (4 - t * (2.5 - 0.5 * t))
    return r


@ti.func
def odd_or_even(t):
    r = t
    if t > 0.5:
        r = 3 * r - 1
    elif t > -0.5 and t * t > 0.01:
        r = r * r - r
    else:
        r = -2 * r + 1
    return r


@ti.func
def carried(t):
    r = 0.0
    for k in range(5):
        if t > k:
            r = r * t + k
    return r


@ti.func
def of_a_root(t):
    r = 0.0
    if t > 0:
        r = ti.sqrt(t) * 2 + 1
    return r


@ti.func
def by_number(t):
    r = t
    if ti.floor(t, ti.i32) == 1:
        r = 2 * t * t - 1
    return r


def kernel_of(function: Any) -> Any:
    @ti.kernel
    def sums(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            s = 0.0
            for k in range(4):
                s += function(x[i] - 0.75 * k)
            y[i] = s

    return sums


def model(t: np.ndarray) -> np.ndarray:
    parts = [t < 1, t < 2]
    return np.select(parts, [1 - t * t * (2.5 - 1.5 * t), 2 - t * (4 - t * (2.5 - 0.5 * t))], 0.0)


def other_model(t: np.ndarray) -> np.ndarray:
    parts = [t > 0.5, (t > -0.5) & (t * t > 0.01)]
    return np.select(parts, [3 * t - 1, t * t - t], -2 * t + 1)


@pytest.mark.parametrize(("function", "expected"), [(weight, model), (odd_or_even, other_model)])
def test_values(function: Any, expected: Any) -> None:
    ti.init(arch=ti.cpu)
    x, y = np.linspace(-1, 4, 1001).astype(np.float32), np.zeros(1001, np.float32)
    kernel = kernel_of(function)
    assert NOTE in kernel.source(x, y)
    kernel(x, y)
    numbers = [expected((x - np.float32(0.75 * k)).astype(np.float32)) for k in range(4)]
    np.testing.assert_allclose(y, sum(numbers), rtol=1e-4, atol=1e-5)


def test_a_number_that_is_not_chosen_leaves_no_trace() -> None:
    ti.init(arch=ti.cpu)
    x, y = np.array([1e30, np.inf, np.nan, 0], np.float32), np.ones(4, np.float32)
    kernel_of(weight)(x, y)
    np.testing.assert_array_equal(y[:3], [0, 0, 0])


@pytest.mark.parametrize("function", [carried, of_a_root, by_number])
def test_other_branches_stay(function: Any) -> None:
    ti.init(arch=ti.cpu)
    x = np.zeros(16, np.float32)
    assert NOTE not in kernel_of(function).source(x, x.copy())


def test_the_last_selection_is_the_first_branch() -> None:
    ti.init(arch=ti.cpu)
    x = np.zeros(16, np.float32)
    source = kernel_of(weight).source(x, x.copy())
    assert "r = t < 2.0f ? r_2 : r;" in source
    assert source.index("r = t < 2.0f ? r_2 : r;") < source.index("r = t < 1.0f ? r_1 : r;")
