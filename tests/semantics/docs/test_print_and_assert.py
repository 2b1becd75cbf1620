"""What Taichi's pages say of `print` and `assert` in kernels."""

import pytest

import shadesmith as ti


@pytest.fixture
def shown(capfd: pytest.CaptureFixture):
    """A function that runs a kernel and returns what it printed."""

    def show(kernel, *arguments) -> str:
        ti.sync()
        capfd.readouterr()
        kernel(*arguments)
        ti.sync()
        return capfd.readouterr().out

    return show


def test_print_takes_numbers_texts_and_vectors(target: str, shown) -> None:
    @ti.kernel
    def show(n: ti.i32, x: ti.f32):
        v = ti.Vector([n, n + 1])
        m = ti.Matrix([[x, 2.0], [3.0, 4.0]])
        print("hello", n, x, True, v, m)

    assert shown(show, 3, 0.5) == "hello 3 0.500000 1 [3, 4] [[0.500000, 2.000000], [3.000000, 4.000000]]\n"


def test_separator_and_end(target: str, shown) -> None:
    @ti.kernel
    def show(n: ti.i32):
        print(n, n, sep="-", end="!")
        print()
        print("a", n, sep="")

    assert shown(show, 1) == "1-1!\na1\n"


def test_print_in_a_loop_on_one_thread(target: str, shown) -> None:
    @ti.kernel
    def show():
        ti.loop_config(serialize=True)
        for i in range(3):
            print("turn", i)

    assert shown(show) == "turn 0\nturn 1\nturn 2\n"


def test_f_strings(target: str, shown) -> None:
    name = "mass"

    @ti.kernel
    def show(n: ti.i32, x: ti.f32):
        print(f"{name}: {n} of {n * 2}, {x:.2f} {{x}}", f"{x:e}")

    assert shown(show, 4, 1.25) == "mass: 4 of 8, 1.25 {x} 1.250000e+00\n"


def test_format_specifications(target: str, shown) -> None:
    @ti.kernel
    def show(n: ti.i32, x: ti.f32):
        print(f"{n:d} {n:5d}| {n:x} {x:.1f} {x:8.3f}")
        print("{} {:.1f} {name:04d}".format(n, x, name=n))

    assert shown(show, 42, 2.55) == "42    42| 2a 2.5 " + f"{2.55:8.3f}\n42 2.5 0042\n"


def test_a_specification_for_another_type_is_refused(target: str) -> None:
    @ti.kernel
    def show(x: ti.f32):
        print(f"{x:d}")

    with pytest.raises(ti.TaichiTypeError, match="doesn't match"):
        show(1.0)


def test_print_in_functions_and_branches(target: str, shown) -> None:
    @ti.func
    def tell(x):
        if x > 1:
            print("large", x)
        else:
            print("small", x)

    @ti.kernel
    def show(n: ti.i32):
        tell(n)
        tell(n + 1)

    assert shown(show, 1) == "small 1\nlarge 2\n"


def test_static_print_is_for_compile_time(target: str, capsys: pytest.CaptureFixture) -> None:
    @ti.kernel
    def show(n: ti.i32):
        ti.static_print("compiled for", n)

    show(1)
    first = capsys.readouterr().out
    show(2)
    assert "compiled for" in first and capsys.readouterr().out == ""


# --- assert -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def debug(target: str) -> str:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)
    return target


def test_assert_needs_debug(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=False, log_level=ti.ERROR)

    @ti.kernel
    def check(n: ti.i32):
        assert n > 0, "n is positive"

    check(-1)


def test_assert_with_a_message(debug: str) -> None:
    @ti.kernel
    def check(n: ti.i32):
        assert n > 0, "n is positive"

    check(1)
    with pytest.raises(ti.TaichiAssertionError, match="n is positive"):
        check(-1)


def test_assert_with_values(debug: str) -> None:
    @ti.kernel
    def check(n: ti.i32, x: ti.f32):
        assert n < 0, f"n is {n}, x is {x:.1f}"

    with pytest.raises(ti.TaichiAssertionError, match=r"n is 3, x is 0\.5"):
        check(3, 0.5)


def test_assert_without_a_message(debug: str) -> None:
    @ti.kernel
    def check(n: ti.i32):
        assert n == 0

    with pytest.raises(AssertionError, match="n == 0"):
        check(3)


def test_assert_in_a_parallel_loop(debug: str) -> None:
    x = ti.field(ti.f32, 10)

    @ti.kernel
    def roots():
        for i in x:
            assert x[i] >= 0, "The square root of a negative number"
            x[i] = ti.sqrt(x[i])

    roots()
    x[3] = -1
    with pytest.raises(ti.TaichiAssertionError, match="square root of a negative"):
        roots()


def test_static_assert_needs_no_debug(target: str) -> None:
    @ti.kernel
    def check(n: ti.template()):
        ti.static_assert(n > 0, "n is positive")

    check(1)
    with pytest.raises(ti.TaichiCompilationError, match="n is positive"):
        check(-1)
