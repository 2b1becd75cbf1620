"""Pass `ordered_loops`: iterations that share a variable of the kernel give the numbers that Python gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import shadesmith as ti

N = 70
VALUES = np.random.default_rng(14).integers(-99, 100, N).astype(np.int32)
f = ti.types.ndarray


@ti.func
def best(x: ti.template()):
    most = -1000
    at = -1
    for i in range(N):
        if x[i] > most:
            most = x[i]
            at = i
    return at


@ti.func
def step(total: ti.template(), value):
    total = total // 2 + value


@ti.kernel
def greatest(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    return best(x)


@ti.kernel
def sums_before(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    total = 0
    for i in range(N):
        total += x[i]
        y[i] = total
    return total


@ti.kernel
def never_negative(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    total = 0
    for i in range(N):
        total += x[i]
        total = max(total, 0)
    return total


@ti.kernel
def last(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    found = -1
    for i in range(N):
        if x[i] > 50:
            found = i
    return found


@ti.kernel
def of_a_function(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    total = 0
    for i in range(N):
        step(total, x[i])
    return total


@ti.kernel
def of_a_vector(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    v = ti.Vector([0, 1])
    for i in range(N):
        v[0] += x[i]
        v[1] = v[0] - v[1]
    return v[1]


def never_negative_in_python() -> int:
    total = 0
    for value in VALUES.tolist():
        total = max(total + value, 0)
    return total


def folded(start: int, function) -> int:
    for value in VALUES.tolist():
        start = function(start, value)
    return start


EXPECTED = {
    greatest: lambda: int(VALUES.argmax()),
    sums_before: lambda: int(VALUES.sum()),
    never_negative: never_negative_in_python,
    last: lambda: int(np.nonzero(VALUES > 50)[0][-1]),
    of_a_function: lambda: folded(0, lambda t, v: t // 2 + v),
    of_a_vector: lambda: folded((0, 1), lambda v, x: (v[0] + x, v[0] + x - v[1]))[1],
}


@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda kernel: kernel.__name__)
def test_a_loop_whose_order_matters_is_serial_and_says_so(target: str, kernel) -> None:
    y = np.zeros(N, np.int32)
    with pytest.warns(ti.ShadesmithWarning, match="runs on one thread: its iterations share"):
        assert kernel(VALUES.copy(), y) == EXPECTED[kernel]()
    ti.sync()
    if kernel is sums_before:
        assert y.tolist() == np.cumsum(VALUES).tolist()


@ti.kernel
def scratch(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    value = 0
    part = ti.Vector([0, 0])
    for i in range(N):
        value = x[i] * 2
        part = ti.Vector([value, i])
        if x[i] > 0:
            value += 1
            part[1] = 7
        y[i] = value + part[1]
    for i in range(N):
        if x[i] > 0:
            value = 1
        else:
            value = 2
        y[i] += value
    return 0


@ti.kernel
def flags(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    found = 0
    for i in range(N):
        if x[i] > 50:
            found = 1
    return found


@ti.kernel
def atomics(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    total, most, count = 0, -1000, 0
    for i in range(N):
        total += x[i]
        total -= 1
        most = max(most, x[i])
        if x[i] > 0:
            y[ti.atomic_add(count, 1)] = 1
    return total + most + count


@ti.kernel
def elements(x: f(ti.i32, 1), y: f(ti.i32, 1)) -> ti.i32:
    v = ti.Vector([0] * 8)
    for i in range(8):
        v[i] = x[i]
    return v.sum()


@pytest.mark.parametrize("kernel", [scratch, flags, atomics, elements], ids=lambda kernel: kernel.__name__)
def test_a_loop_whose_order_makes_no_difference_stays_parallel(target: str, kernel) -> None:
    y = np.zeros(N, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = kernel(VALUES.copy(), y)
    ti.sync()
    positive = VALUES > 0
    assert (
        result
        == {
            scratch: 0,
            flags: 1,
            atomics: int(VALUES.sum()) - N + int(VALUES.max()) + int(positive.sum()),
            elements: int(VALUES[:8].sum()),
        }[kernel]
    )
    if kernel is scratch:
        expected = VALUES * 2 + positive + np.where(positive, 7, np.arange(N)) + np.where(positive, 1, 2)
        assert y.tolist() == expected.tolist()
    assert "__global__" in (source := kernel.source(VALUES, y, arch=ti.cuda)) and "blockIdx" in source


def test_a_variable_of_iterations_is_declared_in_them() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = scratch.source(VALUES, VALUES, arch=ti.cpu)
    assert "int value = x(i) * 2;" in source and "temporaries" not in source
    ti.reset()


@pytest.mark.parametrize("parallel", [False, True])
def test_no_language_has_atomic_operations_on_variables(parallel: bool) -> None:
    """A serial loop changes them by plain ones, also where `demote_atomics` leaves the others."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR, passes="-demote_atomics")
    x = ti.field(ti.i32, 40)

    @ti.kernel
    def total(n: ti.i32) -> ti.i32:
        s = 5
        ti.loop_config(serialize=not parallel)
        for i in x:
            x[i] = i
        for i in range(n):  # in order, since it reads what it has added up
            s += x[i]
            if s > 100:
                s -= x[n - i]
        return s

    expected = 5
    for i in range(30):
        expected += i
        expected -= 30 - i if expected > 100 else 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert total(30) == expected
