"""Real functions: parameters, results, ways out, references, recursion. Expected values are Taichi 1.7.4's where it runs."""

# ruff: noqa: RET503

from __future__ import annotations

import typing

import numpy as np
import pytest

import shadesmith as ti
import shadesmith.math as tm


@ti.real_func
def fib(n: ti.i32) -> ti.i32:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@ti.real_func
def is_even(n: ti.i32) -> bool:
    if n == 0:
        return True
    return is_odd(n - 1)


@ti.real_func
def is_odd(n: ti.i32) -> bool:
    if n == 0:
        return False
    return is_even(n - 1)


@ti.real_func
def add_to(x: ti.ref(ti.i32), y: ti.i32):
    x += y


@ti.real_func
def halves(a: ti.i32) -> typing.Tuple[ti.i32, ti.f32]:  # noqa: UP006 - as programs for Taichi write it
    return a, a * 0.5


@ti.real_func
def first_above(limit: ti.i32, n: ti.i32) -> ti.i32:
    total = 0
    for i in range(n):
        for j in range(n):
            if i * j > limit:
                return i * 100 + j
            if j > i:
                break
            total += 1
    while total > 1000:
        total -= 7
        if total % 5 == 0:
            return -total
    return -1


def runs_on(target: str, names: list[str]) -> None:
    if target not in names:
        pytest.skip("has no recursion")


@pytest.mark.all_targets
def test_recursion(target: str) -> None:
    runs_on(target, ["cpu", "python", "cuda"])

    @ti.kernel
    def run(out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in out:
            out[i] = fib(i)

    out = np.zeros(16, np.int32)
    run(out)
    assert out.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610]


@pytest.mark.all_targets
def test_mutual_recursion(target: str) -> None:
    runs_on(target, ["cpu", "python", "cuda"])

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return ti.cast(is_even(n), ti.i32) * 10 + is_odd(n)

    assert [run(n) for n in (0, 1, 2, 31)] == [10, 1, 10, 1]


def test_deep_recursion_runs_in_the_interpreter() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.real_func
    def count(n: ti.i32) -> ti.i32:
        if n == 0:
            return 0
        return 1 + count(n - 1)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return count(n)

    assert run(1000) == 1000
    with pytest.raises(ti.TaichiRuntimeError, match="deeper"):
        run(10**6)


def test_returns_leave_loops(target: str) -> None:
    @ti.kernel
    def run(limit: ti.i32, n: ti.i32) -> ti.i32:
        return first_above(limit, n)

    def expected(limit: int, n: int) -> int:
        total = 0
        for i in range(n):
            for j in range(n):
                if i * j > limit:
                    return i * 100 + j
                if j > i:
                    break
                total += 1
        while total > 1000:
            total -= 7
            if total % 5 == 0:
                return -total
        return -1

    for limit, n in ((0, 0), (0, 1), (0, 5), (20, 9), (99, 9), (10**6, 60)):
        assert run(limit, n) == expected(limit, n)


def test_results_unpack_and_take_indices(target: str) -> None:
    @ti.kernel
    def run(a: ti.i32) -> ti.f32:
        x, y = halves(a)
        pair = halves(a + 1)
        return x * 1000 + y * 100 + pair[0] * 10 + halves(a)[1]

    assert run(7) == pytest.approx(7 * 1000 + 3.5 * 100 + 80 + 3.5)


def test_a_result_of_several_is_passed_on(target: str) -> None:
    @ti.real_func
    def twice(a: ti.i32) -> (ti.i32, ti.f32):
        return halves(2 * a)

    @ti.kernel
    def run(a: ti.i32) -> ti.f32:
        x, y = twice(a)
        return x + y

    assert run(3) == 9.0


def test_the_end_without_return_gives_zeros(target: str) -> None:
    @ti.real_func
    def positive(a: ti.i32) -> tm.vec2:
        if a > 0:
            return tm.vec2(a, 2)

    @ti.kernel
    def run(a: ti.i32) -> ti.f32:
        return positive(a).x + positive(a).y

    with pytest.warns(ti.ShadesmithWarning, match="`positive` may end without `return`"):
        assert run(-1) == 0.0
    assert run(3) == 5.0


def test_arguments_and_results_are_cast(target: str) -> None:
    @ti.real_func
    def truncated(a: ti.f32) -> ti.i32:
        return a

    @ti.real_func
    def scaled(v: tm.vec2, k: ti.f32) -> tm.vec2:
        return v * k

    @ti.kernel
    def run() -> ti.f32:
        return truncated(3.7) * 100 + fib_like(5.7) * 10 + scaled(ti.Vector([1, 2]), 2).y

    assert run() == 300 + 50 + 4


@ti.real_func
def fib_like(n: ti.i32) -> ti.i32:
    return n


def test_defaults_and_keywords(target: str) -> None:
    @ti.real_func
    def digits(a: ti.i32, b: ti.i32 = 4, c: ti.i32 = 5) -> ti.i32:
        return a * 100 + b * 10 + c

    @ti.kernel
    def run() -> ti.i32:
        return digits(1) * 1000 + digits(c=1, a=2)

    assert run() == 145241


def test_a_parameter_may_change_without_its_argument(target: str) -> None:
    @ti.real_func
    def countdown(n: ti.i32) -> ti.i32:
        steps = 0
        while n > 0:
            n //= 2
            steps += 1
        return steps

    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        return countdown(a) * 100 + a

    assert [run(a) for a in (0, 1, 37)] == [0, 101, 637]


def test_inlined_functions_recur_at_compile_time(target: str) -> None:
    @ti.func
    def total(n: ti.template()):
        result = 0
        if ti.static(n > 0):
            result = n + total(n - 1)
        return result

    @ti.kernel
    def run() -> ti.i32:
        return total(10)

    assert run() == 55


def test_a_function_cannot_be_called_from_python() -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="cannot be called from Python-scope"):
        fib(3)


def test_the_old_place_of_the_decorator_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"Use ti\.real_func instead"):
        found = ti.experimental.real_func(fib.function)
    assert repr(found) == "<real_func fib>"


# --- references -----------------------------------------------------------------------------------------------------


def test_references_change_variables_and_elements(target: str) -> None:
    x = ti.field(ti.i32, 4)
    v = ti.Vector.field(3, ti.i32, 2)

    @ti.kernel
    def run(k: ti.i32) -> ti.i32:
        a = 3
        add_to(a, 4)
        w = ti.Vector([1, 2, 3])
        add_to(w[1], 5)
        add_to(w[k], 6)
        add_to(x[k], 7)
        add_to(v[1][k], 8)
        return a * 1000 + w[0] * 100 + w[1] * 10 + w[2]

    assert run(2) == 7000 + 100 + 70 + 9
    assert x.to_numpy().tolist() == [0, 0, 7, 0]
    assert v.to_numpy().tolist() == [[0, 0, 0], [0, 0, 8]]


def test_a_reference_to_a_vector(target: str) -> None:
    @ti.real_func
    def step(position: ti.ref(tm.vec3), velocity: ti.ref(tm.vec3), k: ti.i32) -> ti.f32:
        velocity[k] = -velocity[k]
        position += velocity * 0.5
        position.y *= 2.0
        return position.norm()

    @ti.kernel
    def run(out: ti.types.ndarray(dtype=tm.vec3, ndim=1)) -> ti.f32:
        p = tm.vec3(0)
        v = tm.vec3(1, 2, 3)
        n = step(p, v, 1)
        out[0] = p
        out[1] = v
        return n

    out = np.zeros((2, 3), np.float32)
    assert run(out) == pytest.approx(np.linalg.norm([0.5, -2.0, 1.5]))
    np.testing.assert_array_equal(out, [[0.5, -2.0, 1.5], [1, -2, 3]])


def test_references_are_passed_on(target: str) -> None:
    @ti.real_func
    def twice(x: ti.ref(ti.i32), v: ti.ref(tm.ivec2), k: ti.i32):
        add_to(x, k)
        add_to(x, k)
        add_to(v.y, k)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        v = tm.ivec2(0)
        a = 0
        for i in range(n):
            twice(a, v, i)
        return a * 100 + v.y

    @ti.kernel
    def serial(n: ti.i32) -> ti.i32:
        v = tm.ivec2(0)
        a = 0
        ti.loop_config(serialize=True)
        for i in range(n):
            twice(a, v, i)
        return a * 100 + v.y

    assert serial(5) == 2010
    with pytest.raises(ti.TaichiTypeError, match="share"):
        run(5)


def test_a_reference_to_what_another_task_reads(target: str) -> None:
    @ti.kernel
    def run(out: ti.types.ndarray(dtype=ti.i32, ndim=1)) -> ti.i32:
        a = 1
        flag = False
        add_to(a, 4)
        raise_flag(flag)
        for i in out:
            out[i] = a + i if flag else -1
        add_to(a, out[2])
        return a

    out = np.zeros(3, np.int32)
    assert run(out) == 12
    assert out.tolist() == [5, 6, 7]


@ti.real_func
def raise_flag(flag: ti.ref(ti.u1)):
    flag = True  # noqa: F841 - the caller's


def test_two_elements_swap(target: str) -> None:
    @ti.real_func
    def swap(a: ti.ref(ti.f32), b: ti.ref(ti.f32)):
        a, b = b, a

    @ti.kernel
    def reverse(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in range(x.shape[0] // 2):
            swap(x[i], x[x.shape[0] - 1 - i])

    x = np.arange(5, dtype=np.float32)
    reverse(x)
    assert x.tolist() == [4, 3, 2, 1, 0]


# --- calls in expressions -------------------------------------------------------------------------------------------


def test_calls_in_branches_not_taken_are_not_made(target: str) -> None:
    calls = ti.field(ti.i32, ())

    @ti.real_func
    def counted(a: ti.i32) -> ti.i32:
        calls[None] += 1
        return a

    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        return (counted(10) if a > 0 else 3) + ti.cast(a > 1 and counted(1) == 1, ti.i32)

    assert [(run(a), calls[None]) for a in (0, 1, 2)] == [(3, 0), (10, 1), (11, 3)]


def test_a_call_in_a_condition_of_while(target: str) -> None:
    @ti.real_func
    def goes_on(i: ti.ref(ti.i32), n: ti.i32) -> ti.u1:
        i += 1
        return i < n

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        i, turns = 0, 0
        while goes_on(i, n):
            turns += i
        return turns

    assert [run(n) for n in (0, 1, 2, 6)] == [0, 0, 1, 15]


def test_reads_stay_before_calls_that_write(target: str) -> None:
    x = ti.field(ti.i32, 2)

    @ti.real_func
    def increase(k: ti.i32) -> ti.i32:
        x[k] = x[k] + 1
        return x[k]

    @ti.real_func
    def peek(k: ti.i32) -> ti.i32:
        return x[k]

    @ti.kernel
    def run() -> ti.i32:
        before = x[0]
        seen = peek(0)
        after = increase(0)
        increase(0)
        return before * 1000 + seen * 100 + after * 10 + x[0]

    assert run() == 12
    assert run() == 2234


def test_a_function_that_only_a_dead_value_needs_is_not_emitted() -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.real_func
    def square(a: ti.i32) -> ti.i32:
        return a * a

    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        unused = square(a)  # noqa: F841 - that is the point
        return a

    assert "square" not in run.source(1).replace("square(a)", "")
    assert run(3) == 3


def test_equal_calls_of_pure_functions_are_made_once() -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        return smooth(a) * smooth(a)

    assert run.source(1.0).count("= smooth(") == 1
    assert run(0.5) == 0.25


@ti.real_func
def smooth(t: ti.f32) -> ti.f32:
    return t * t * (3 - 2 * t)


Pair = ti.types.vector(2, ti.u32)


def test_several_results_in_a_list(target: str) -> None:
    """As the package taichi-big-float returns them."""

    @ti.real_func
    def order(a: Pair, b: Pair) -> (Pair, Pair):
        first, second = a, b
        if a[0] > b[0]:
            first, second = b, a
        return [first, second]

    @ti.kernel
    def sort() -> ti.u32:
        a, b = order(ti.Vector([ti.u32(7), ti.u32(1)]), ti.Vector([ti.u32(3), ti.u32(2)]))
        return a[0] * ti.u32(1000) + a[1] * ti.u32(100) + b[0] * ti.u32(10) + b[1]

    assert sort() == 3271
