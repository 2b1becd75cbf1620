"""What real functions reach besides their parameters: arrays, templates, objects, atomics, reports, random numbers."""

from __future__ import annotations

import typing

import numpy as np
import pytest

import shadesmith as ti
import shadesmith.math as tm


@ti.real_func
def blend(grid: ti.types.ndarray(ndim=2), p: tm.vec2) -> ti.f32:
    i, j = int(p.x), int(p.y)
    if i + 1 >= grid.shape[0] or j + 1 >= grid.shape[1]:
        return -1.0
    f = p - ti.floor(p)
    return tm.mix(tm.mix(grid[i, j], grid[i + 1, j], f.x), tm.mix(grid[i, j + 1], grid[i + 1, j + 1], f.x), f.y)


def test_a_function_for_each_array_it_is_called_with(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.f32, ndim=2), b: ti.types.ndarray(dtype=ti.f32, ndim=2)) -> ti.f32:
        return blend(a, tm.vec2(0.5, 0.25)) * 1000 + blend(b, tm.vec2(0.5, 0.25)) + blend(b, tm.vec2(5, 5))

    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.eye(4, dtype=np.float32)
    assert run(a, b) == pytest.approx(1750 + 0.5 - 1)
    names = [line for line in run.source(a, b, arch=ti.cuda).splitlines() if "float blend" in line]
    assert len(names) == 2 and "blend_a(" in names[0] and "blend_b(" in names[1]


def test_a_function_writes_arrays_and_loops_over_them(target: str) -> None:
    x = ti.field(ti.f32, (3, 4))

    @ti.real_func
    def total(a: ti.template(), scale: ti.f32) -> ti.f32:
        s = 0.0
        for i, j in a:
            a[i, j] *= scale
            s += a[i, j]
        for I in ti.grouped(a):
            s += a[I]
        return s

    @ti.kernel
    def run(b: ti.types.ndarray(dtype=ti.f32, ndim=2)) -> ti.f32:
        return total(x, 2.0) * 100 + total(b, 3.0)

    x.from_numpy(np.ones((3, 4), np.float32))
    b = np.ones((2, 1), np.float32)
    assert run(b) == 2 * 24 * 100 + 2 * 6
    assert b.tolist() == [[3.0], [3.0]] and x[1, 1] == 2.0


def test_a_function_for_each_compile_time_argument(target: str) -> None:
    @ti.real_func
    def repeated(n: ti.template(), a: ti.i32) -> ti.i32:
        s = 0
        for _ in ti.static(range(n)):
            s += a
        return s

    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        return repeated(3, a) * 100 + repeated(4, a) + repeated(3, a + 1)

    assert run(5) == 1500 + 20 + 18
    text = run.source(1, arch=ti.cpu)
    assert (
        text.count("static inline int repeated_3(int a)") == 1
        and text.count("static inline int repeated_4(int a)") == 1
    )


def test_functions_and_types_as_arguments(target: str) -> None:
    @ti.func
    def double(x):
        return 2 * x

    @ti.real_func
    def apply(f: ti.template(), dtype: ti.template(), x: ti.f32) -> ti.f32:
        return f(ti.cast(x, dtype))

    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        return apply(double, ti.i32, x) * 100 + apply(double, ti.f32, x)

    assert run(1.5) == 203


def test_methods(target: str) -> None:
    @ti.data_oriented
    class Counter:
        step = 5

        def __init__(self, n: int) -> None:
            self.n = n
            self.x = ti.field(ti.i32, 4)

        @ti.real_func
        def add(self, a: ti.i32) -> ti.i32:
            self.x[0] += a
            return a + self.n

        @classmethod
        @ti.real_func
        def of_class(cls, a: ti.i32) -> ti.i32:
            return a + cls.step

        @staticmethod
        @ti.real_func
        def alone(a: ti.i32) -> ti.i32:
            return a - 1

        @ti.kernel
        def run(self) -> ti.i32:
            return self.add(4) * 10000 + self.of_class(4) * 100 + self.alone(9) + self.add(0)

    first, second = Counter(3), Counter(7)
    assert first.run() == 7 * 10000 + 908 + 3
    assert second.run() == 11 * 10000 + 908 + 7
    assert first.x[0] == 4


def test_two_objects_in_one_kernel(target: str) -> None:
    @ti.data_oriented
    class Ball:
        def __init__(self, radius: float) -> None:
            self.radius = radius

        @ti.real_func
        def distance(self, p: tm.vec2) -> ti.f32:
            return p.norm() - self.radius

    balls = Ball(1.0), Ball(2.0)

    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        return balls[0].distance(tm.vec2(x, 0)) * 10 + balls[1].distance(tm.vec2(x, 0))

    assert run(5.0) == 43.0


def test_atomics_inside_add_up(target: str) -> None:
    histogram = ti.field(ti.i32, 4)
    total = ti.field(ti.f32, ())

    @ti.real_func
    def count(k: ti.i32) -> ti.i32:
        total[None] += 0.5
        own = 0
        own += 2
        ti.atomic_max(own, 1)
        ti.atomic_add(histogram[k % 4], own)
        return own

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in x:
            x[i] = count(i)

    x = np.zeros(1001, np.int32)
    run(x)
    assert histogram.to_numpy().tolist() == [502, 500, 500, 500]
    assert total[None] == 500.5 and (x == 2).all()


def test_writes_of_a_function_stay_atomic_in_its_caller(target: str) -> None:
    @ti.real_func
    def spread(x: ti.template(), i: ti.i32):
        x[(i + 1) % x.shape[0]] += 1.0

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            x[i] += 1.0
            spread(x, i)

    x = np.zeros(257, np.float32)
    run(x)
    assert (x == 2).all()
    assert "atomicAdd(&x(i)" in run.source(x, arch=ti.cuda)


def test_prints_come_in_the_order_of_the_loop(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    @ti.real_func
    def show(i: ti.i32, x: ti.f32) -> ti.i32:
        print("turn", i, x)
        if i > 1:
            return i
        print("small")
        return 0

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        s = 0
        for i in range(n):
            s += show(i, i * 0.5)
        return s

    assert run(3) == 2
    ti.sync()
    assert capfd.readouterr().out.split("\n") == [
        "turn 0 0.000000", "small", "turn 1 0.500000", "small", "turn 2 1.000000", ""
    ]  # fmt: skip


def test_random_numbers_go_on_through_calls(target: str) -> None:
    @ti.real_func
    def pair() -> typing.Tuple[ti.f32, ti.f32]:  # noqa: UP006
        return ti.random(), ti.random()

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=tm.vec4, ndim=1)):
        for i in x:
            a, b = pair()
            x[i] = tm.vec4(a, b, ti.random(), pair()[0])

    @ti.kernel
    def inlined(x: ti.types.ndarray(dtype=tm.vec4, ndim=1)):
        for i in x:
            x[i] = tm.vec4(ti.random(), ti.random(), ti.random(), ti.random())

    x, y = np.zeros((50, 4), np.float32), np.zeros((50, 4), np.float32)
    run(x)
    assert len(np.unique(x)) == x.size and x.min() >= 0 and x.max() < 1
    ti.init(arch=ti.cfg.arch, log_level=ti.ERROR)
    inlined(y)
    np.testing.assert_array_equal(x, y)


# --- checks ---------------------------------------------------------------------------------------------------------


@ti.real_func
def root(x: ti.f32) -> ti.f32:
    assert x >= 0, f"root of {x}"
    return ti.sqrt(x)


@ti.real_func
def sum_of_roots(x: ti.f32, y: ti.f32) -> typing.Tuple[ti.f32, ti.i32]:  # noqa: UP006
    return root(x) + root(y), 2


@pytest.fixture
def debug(target: str) -> str:
    ti.init(arch=ti.cfg.arch, debug=True, log_level=ti.ERROR)
    return target


def test_a_failed_assert_ends_the_turn_through_all_calls(debug: str) -> None:
    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            s, n = sum_of_roots(x[i], 4.0)
            x[i] = s * n

    x = np.array([9, -1, 16, -4], np.float32)
    with pytest.raises(ti.TaichiAssertionError, match=r"root of -1(.|\n)*2 checks failed") as caught:
        run(x)
    text = str(caught.value)
    places = [text.index(part) for part in ("in run:", "sum_of_roots(x[i]", "in sum_of_roots:", "in root:", "root of")]
    assert places == sorted(places)
    assert x.tolist() == [10, -1, 12, -4]


def test_an_index_out_of_bounds_in_a_function(debug: str) -> None:
    x = ti.field(ti.i32, 4)

    @ti.real_func
    def read(i: ti.i32) -> ti.i32:
        return x[i]

    @ti.real_func
    def write(i: ti.i32):
        x[i] = 3

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        write(2)
        return read(i)

    assert run(2) == 3
    with pytest.raises(ti.TaichiAssertionError, match=r"in read:(.|\n)*\(4\) with indices \(4\)"):
        run(4)


def test_a_function_of_two_tasks_fails_in_the_second(debug: str) -> None:
    x = ti.field(ti.i32, 4)
    done = ti.field(ti.i32, 3)

    @ti.real_func
    def read(i: ti.i32) -> ti.i32:
        return x[i]

    @ti.kernel
    def run(shift: ti.i32):
        for i in x:
            x[i] = read(i) + i
        for j in range(1, 4):
            done[j - 1] = read(j + shift) + 1
        for k in done:
            done[k] += 100

    run(0)
    assert done.to_numpy().tolist() == [102, 103, 104]
    done.fill(0)
    with pytest.raises(ti.TaichiAssertionError, match="in read:") as caught:
        run(2)
    error = caught.value
    assert (error.array, error.index, error.iteration) == ("x", (4,), {"j": 2})
    assert error.location.function == "read" and error.location.call_site.function == "run"
    assert done.to_numpy().tolist() == [7, 0, 0]


def test_without_debug_nothing_is_checked(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=False, log_level=ti.WARN)

    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        return root(x)

    assert run(4.0) == 2.0
    assert "failed" not in run.source(1.0, arch=ti.cuda)


# --- names ----------------------------------------------------------------------------------------------------------


def test_names_that_mean_something_else_in_the_text(target: str) -> None:
    noise = ti.field(ti.f32, 3)

    @ti.real_func
    def float32(x: ti.f32) -> ti.f32:
        return x + noise[1]

    @ti.real_func
    def length(index: ti.f32, args: ti.f32) -> ti.f32:
        float32_ = float32(index)
        return float32_ * args

    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        length_ = length(x, 2.0)
        return length_ + tm.length(tm.vec2(3, 4))

    noise[1] = 1.0
    assert run(2.0) == 11.0


def test_a_field_and_a_function_of_one_name(target: str) -> None:
    fields = {"f": ti.field(ti.f32, 3)}

    @ti.real_func
    def f(x: ti.f32) -> ti.f32:
        return x + 1

    def make(f_field: ti.template(), function: object) -> object:
        f = f_field

        @ti.kernel
        def run(x: ti.f32) -> ti.f32:
            f[0] = function(x)
            return f[0]

        return run

    assert make(fields["f"], f)(2.0) == 3.0
