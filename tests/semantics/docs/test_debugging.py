"""What Taichi's page on debugging teaches: bounds, overflow of types, serial runs, errors that name the line."""

import math

import numpy as np
import pytest

import shadesmith as ti


@pytest.fixture
def debug(target: str) -> str:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)
    return target


@pytest.mark.parametrize(("i", "j"), [(3, 0), (0, 4), (-1, 0), (0, -1)])
def test_an_index_out_of_range_is_told(debug: str, i: int, j: int) -> None:
    x = ti.field(ti.f32, (3, 4))

    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.f32:
        return x[i, j]

    assert read(2, 3) == 0
    with pytest.raises(RuntimeError) as caught:
        read(i, j)
    text = str(caught.value)
    assert str(i) in text and str(j) in text and "x" in text and "(3, 4)" in text


def test_an_index_out_of_range_in_python(target: str) -> None:
    x = ti.field(ti.f32, (3, 4))
    for index in ((3, 0), (0, 4)):
        with pytest.raises((IndexError, RuntimeError, AssertionError)):
            x[index]


def test_serial_runs_for_debugging(target: str) -> None:
    order = ti.field(ti.i32, 4)
    count = ti.field(ti.i32, ())

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(4):
            order[i] = count[None]
            count[None] += 1

    run()
    assert order.to_numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("n", [100, 1_000_000], ids=["too short for threads", "long"])
def test_single_threaded_cpu_option(n: int) -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=1, log_level=ti.ERROR)
    last = ti.field(ti.i32, ())

    @ti.kernel
    def run():
        for i in range(n):
            last[None] = last[None] * 0 + i  # a race, but for one thread

    run()
    assert last[None] == n - 1


def test_a_variable_keeps_its_type_which_may_surprise(target: str) -> None:
    @ti.kernel
    def sum_as_integer() -> ti.f32:
        total = 0
        for i in range(10):
            total += i * 0.5
        return total

    @ti.kernel
    def sum_as_float() -> ti.f32:
        total = 0.0
        for i in range(10):
            total += i * 0.5
        return total

    assert sum_as_integer() == sum(i // 2 for i in range(10)) and sum_as_float() == 22.5


def test_errors_name_line_and_text(target: str) -> None:
    @ti.kernel
    def broken(n: ti.i32) -> ti.i32:
        a = n + 1
        return a + missing  # noqa: F821

    with pytest.raises(ti.TaichiNameError) as caught:
        broken(1)
    text = str(caught.value)
    assert __file__ in text and "return a + missing" in text and "^^^^^^^" in text
    line = broken.definition.function.__code__.co_firstlineno + 3
    assert caught.value.location.line == line and f"line {line}" in text


def test_errors_in_functions_name_the_chain(target: str) -> None:
    @ti.func
    def inner(x):
        return x @ 1

    @ti.func
    def outer(x):
        return inner(x)

    @ti.kernel
    def run(x: ti.i32) -> ti.i32:
        return outer(x)

    with pytest.raises(ti.TaichiCompilationError) as caught:
        run(1)
    text = str(caught.value)
    assert "in inner" in text and "in outer" in text and "in run" in text


def test_sin_of_a_wrong_number_of_arguments(target: str) -> None:
    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        return ti.sin(x, 1)

    with pytest.raises(ti.TaichiCompilationError):
        run(1.0)


def test_nan_and_infinity_of_results(target: str) -> None:
    @ti.kernel
    def root(x: ti.f32) -> ti.f32:
        return ti.sqrt(x)

    @ti.kernel
    def inverse(x: ti.f32) -> ti.f32:
        return 1.0 / x

    assert math.isnan(root(-1.0)) and inverse(0.0) == math.inf


def test_a_race_is_avoided_by_an_atomic(target: str) -> None:
    counts = ti.field(ti.i32, 4)

    @ti.kernel
    def histogram(a: ti.types.ndarray()):
        for i in a:
            ti.atomic_add(counts[a[i]], 1)

    values = np.arange(10_000, dtype=np.int32) ** 2 % 4
    histogram(values)
    assert counts.to_numpy().tolist() == np.bincount(values, minlength=4).tolist()


def test_options_that_help_debugging_change_no_result(target: str) -> None:
    found = []
    for options in ({}, {"debug": True}, {"advanced_optimization": False}, {"fast_math": False}):
        ti.init(arch=getattr(ti, target), log_level=ti.ERROR, **options)

        @ti.kernel
        def run(n: ti.i32) -> ti.i32:
            total = 0
            for i in range(n):
                if i % 3:
                    total += i * i
            return total

        found.append(run(100))
    assert found == [sum(i * i for i in range(100) if i % 3)] * 4
