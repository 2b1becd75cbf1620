"""Effects of functions include those of callees, also with recursion; calls without effects are values."""

from __future__ import annotations

import pytest

import shadesmith as ti


@pytest.fixture(autouse=True)
def session():
    ti.init(arch=ti.python, debug=False, log_level=ti.ERROR)  # checks are effects too
    yield
    ti.reset()


def functions_of(
    kernel: ti.lang.kernel_impl.Kernel, *arguments: object
) -> dict[str, tuple[list[str], list[str], bool]]:
    program = kernel.inspect(*arguments, arch=ti.python).module.program
    return {
        f.name: (sorted(a.name for a in f.reads), sorted(a.name for a in f.writes), f.is_ordered)
        for f in program.functions
    }


def test_effects_of_callees_count_as_the_callers():
    x, y = ti.field(ti.i32, 3), ti.field(ti.i32, 3)

    @ti.real_func
    def pure(a: ti.i32) -> ti.i32:
        return a * 2

    @ti.real_func
    def reads(a: ti.i32) -> ti.i32:
        return x[pure(a)]

    @ti.real_func
    def writes(a: ti.i32):
        y[a] = reads(a)

    @ti.real_func
    def draws(n: ti.i32) -> ti.i32:
        if n > 0:
            return answers(n - 1)
        return ti.random(ti.i32)

    @ti.real_func
    def answers(n: ti.i32) -> ti.i32:
        return draws(n)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        writes(n)
        return answers(n) + pure(n)

    assert functions_of(run, 1) == {
        "pure": ([], [], False),
        "reads": (["x"], [], False),
        "writes": (["x"], ["y"], False),
        "draws": ([], [], True),
        "answers": ([], [], True),
    }


def test_loads_are_shared_across_calls_that_write_elsewhere():
    x, y = ti.field(ti.i32, 3), ti.field(ti.i32, 3)

    @ti.real_func
    def store(a: ti.template(), value: ti.i32):
        a[0] = value

    @ti.kernel
    def run() -> ti.i32:
        first = x[0]
        store(y, 1)
        second = x[0]
        store(x, 2)
        return first + second + x[0]

    assert run.ir("final", arch=ti.cpu).count("global load") == 2
    assert run() == 2


def test_a_circle_is_named_where_a_target_has_no_recursion():
    @ti.real_func
    def even(n: ti.i32) -> ti.i32:
        return 1 if n == 0 else odd(n - 1)

    @ti.real_func
    def odd(n: ti.i32) -> ti.i32:
        return 0 if n == 0 else even(n - 1)

    @ti.real_func
    def start(n: ti.i32) -> ti.i32:
        return even(n)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return start(n)

    with pytest.raises(ti.UnsupportedError, match="even -> odd -> even") as caught:
        run.source(1, arch=ti.vulkan)
    assert caught.value.location.function == "odd" and caught.value.hint
    assert "vulkan" in str(caught.value)
    assert run(7) == 0
