"""`assert` and checks of indices under `debug=True`: every target raises after the launch, and says where and why."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


@pytest.fixture
def debug(target):
    ti.init(arch=getattr(ti, target), debug=True, enable_fallback=False, log_level=ti.WARN)
    return target


def failure_of(call) -> str:
    with pytest.raises(ti.TaichiAssertionError) as caught:
        call()
        ti.sync()
    assert isinstance(caught.value, (AssertionError, RuntimeError))
    return str(caught.value)


def line_of(text: str) -> int:
    lines = open(__file__, encoding="utf-8").read().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_a_true_assert_does_nothing(debug):
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        assert n == 3, "never"
        assert True
        return n + 1

    assert run(3) == 4


def test_a_false_assert_names_its_place_and_values(debug):
    @ti.kernel
    def run(n: ti.i32, x: ti.f32):
        assert n > 5, f"n is {n}, x is {x} and {x:.3f} and {ti.Vector([n, 2])} {{}}"

    text = failure_of(lambda: run(2, 0.1))
    assert text.splitlines()[-1] == "n is 2, x is 0.1 and 0.100 and [2, 2] {}"
    assert f'{__file__}", line {line_of(text.splitlines()[1].strip())}, column 9, in run:' in text
    assert "assert n > 5" in text and "^^^^" in text


def test_without_a_message_the_condition_is_shown(debug):
    @ti.kernel
    def run(n: ti.i32):
        assert n > 5 and n != 7

    assert failure_of(lambda: run(1)).splitlines()[-1] == "n > 5 and n != 7"


@pytest.mark.parametrize("condition", [False, 0])
def test_an_assert_known_to_be_false(debug, condition):
    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1)):
        x[0] = 1
        assert condition, "always"
        x[1] = 1

    x = ti.ndarray(ti.i32, 2)
    assert "always" in failure_of(lambda: run(x))
    assert x.to_numpy().tolist() == [1, 0]


def test_a_parallel_loop_names_the_first_turn_and_counts(debug):
    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1)):
        for i in range(x.shape[0]):
            assert i % 5 != 3, f"at {i}"
            x[i] = i

    x = ti.ndarray(ti.i32, 1000)
    text = failure_of(lambda: run(x))
    assert "\nat 3\n(200 checks failed in this launch" in text
    assert x.to_numpy().tolist() == [0 if i % 5 == 3 else i for i in range(1000)]


def test_the_chain_of_calls_is_shown(debug):
    @ti.func
    def inner(i):
        assert i < 2, f"{i} is too large"

    @ti.func
    def outer(i):
        inner(i + 1)

    @ti.kernel
    def run():
        for i in range(2):
            outer(i)

    text = failure_of(run)
    assert [part in text for part in ("in run:", "in outer:", "in inner:")] == [True] * 3
    assert text.index("in run:") < text.index("in outer:") < text.index("in inner:")
    place = line_of("for i in range(2):")
    assert text.splitlines()[-2:] == ["2 is too large", f"(in the parallel loop of line {place}: i = 1)"]


def test_a_kernel_can_be_used_again(debug):
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        assert n > 0
        return n

    for _ in range(2):
        failure_of(lambda: run(0))
        assert run(7) == 7
    ti.sync()


def test_prints_come_before_the_failure(debug, capfd):
    @ti.kernel
    def run():
        for i in range(4):
            print("turn", i)
            assert i != 2

    capfd.readouterr()
    failure_of(run)
    assert capfd.readouterr().out == "turn 0\nturn 1\nturn 2\nturn 3\n"


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_prints_do_not_displace_failures(target):
    ti.init(arch=getattr(ti, target), debug=True, report_bytes=64, log_level=ti.WARN)

    @ti.kernel
    def run():
        for i in range(1000):
            print(i)
            assert i != 999, "last"

    if target == "python":
        assert "last" in failure_of(run)
    else:
        with pytest.warns(UserWarning, match="are lost"):
            assert "last" in failure_of(run)


def test_without_debug_asserts_cost_nothing(target):
    ti.init(arch=getattr(ti, target), debug=False, log_level=ti.WARN)

    @ti.kernel
    def run(a: ti.types.ndarray(ti.f32, 1), i: ti.i32):
        assert i < 0, "not checked"
        a[i] = 1.0

    a = ti.ndarray(ti.f32, 4)
    run(a, 2)
    assert a[2] == 1.0
    assert "report" not in run.source(a, 2) and run.compile(a, 2).interface.reports == ()


def test_bounds_of_a_field(debug):
    f = ti.field(ti.f32, (4, 5))

    @ti.kernel
    def write(i: ti.i32, j: ti.i32):
        f[i, j] = 1.0

    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.f32:
        return f[i, j]

    @ti.kernel
    def add(i: ti.i32, j: ti.i32):
        f[i, j] += 2.0

    for kernel in (write, read, add):
        for i, j in ((4, 0), (0, 5), (-1, 0), (0, -1), (10**6, 0)):
            text = failure_of(lambda kernel=kernel, i=i, j=j: kernel(i, j))
            expected = f"(kernel={kernel.__name__}) Accessing field (f) of size (4, 5) with indices ({i}, {j})"
            assert text.splitlines()[-1] == expected
            assert f"in {kernel.__name__}:" in text and "f[i, j]" in text
    assert not f.to_numpy().any()
    write(3, 4)
    add(3, 4)
    assert read(3, 4) == 3.0


@pytest.mark.parametrize("make", [lambda: ti.ndarray(ti.i32, 4), lambda: np.zeros(4, np.int32)])
def test_bounds_of_an_array_argument(debug, make):
    @ti.kernel
    def run(i: ti.i32, a: ti.types.ndarray(ti.i32, 1)):
        a[i] = 7

    a = make()
    for i in (4, -1):
        text = failure_of(lambda i=i: run(i, a))
        expected = f"[kernel=run] Out of bound access to ndarray at arg 1 with indices [{i}]: `a` has shape (4)"
        assert text.splitlines()[-1] == expected
    run(3, a)
    assert list(a if isinstance(a, np.ndarray) else a.to_numpy()) == [0, 0, 0, 7]


def test_bounds_in_a_parallel_loop_and_a_func(debug):
    @ti.func
    def shift(a: ti.template(), i):
        return a[i + 1]

    @ti.kernel
    def run(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)):
        for i in a:
            b[i] = shift(a, i)

    a, b = ti.ndarray(ti.i32, 8), ti.ndarray(ti.i32, 8)
    a.from_numpy(np.arange(8, dtype=np.int32))
    text = failure_of(lambda: run(a, b))
    assert "with indices [8]: `a` has shape (8)" in text
    assert text.index("in run:") < text.index("in shift:")
    assert b.to_numpy().tolist() == [1, 2, 3, 4, 5, 6, 7, 0]


def test_bounds_of_a_vector(debug):
    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        v = ti.Vector([1, 2, 3])
        v[i] += 1
        return v[i]

    assert run(2) == 4
    assert "access to a vector of shape (3) with indices [3]: `v`" in failure_of(lambda: run(3))


def test_a_guarded_access_is_not_reported(debug):
    @ti.kernel
    def run(a: ti.types.ndarray(ti.i32, 1), i: ti.i32) -> ti.i32:
        found = 0
        if i < a.shape[0] and a[i] == 0:
            found = 1
        return found + (a[i] if i < a.shape[0] else 5)

    a = ti.ndarray(ti.i32, 4)
    assert (run(a, 3), run(a, 4)) == (1, 5)


def test_check_out_of_bound_alone_checks_indices_only(target):
    ti.init(arch=getattr(ti, target), debug=False, check_out_of_bound=True, log_level=ti.WARN)
    f = ti.field(ti.i32, 3)

    @ti.kernel
    def run(i: ti.i32):
        assert i > 100
        f[i] = 1

    run(0)
    assert "with indices (3)" in failure_of(lambda: run(3))
