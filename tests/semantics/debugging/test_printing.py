"""`print` in kernels: what it shows is the same on every target, and what Taichi shows on its CPU (measured, 1.7.4)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions


def shown(capfd: pytest.CaptureFixture[str]) -> str:
    ti.sync()
    return capfd.readouterr().out


@pytest.fixture(autouse=True)
def fresh(target, capfd):
    capfd.readouterr()


def test_numbers_of_every_type(target, capfd):
    @ti.kernel
    def run(x: ti.f32, n: ti.i32):
        print(x, n, ti.cast(-n, ti.u32), ti.cast(-n, ti.i8), ti.cast(n, ti.u8), ti.cast(n, ti.i16), ti.cast(n, ti.u16))
        print(ti.cast(n, ti.i64) - ti.i64(2**40), ti.cast(-n, ti.u64), ti.cast(x, ti.f64), ti.cast(x, ti.f16))
        print(n == 3, n == 4, ti.cast(n, ti.u1))

    run(1.5, 3)
    assert shown(capfd) == (
        "1.500000 3 4294967293 -3 3 3 3\n"
        "-1099511627773 18446744073709551613 1.500000000000 1.500000\n"
        "1 0 1\n"
    )  # fmt: skip


def test_constants_read_as_values_do(capfd):
    @ti.kernel
    def run():
        print(3, 2.5, -1, 1e20, True, "text %d {} \\", ti.Vector([1.0, 2.0]))

    run()
    assert shown(capfd) == "3 2.500000 -1 100000002004087734272.000000 1 text %d {} \\ [1.000000, 2.000000]\n"


def test_constants_of_f16_are_rounded(target, capfd):
    """glslang folds `float(0.1hf)` to .1, which is no number of f16."""

    @ti.kernel
    def run(x: ti.f32):
        half = ti.f16(0.1)
        print(half, ti.Vector([0.1, 0.7], ti.f16), ti.Vector([0.1, x], ti.f16), half if x < 9 else ti.cast(x, ti.f16))

    run(1.5)
    assert shown(capfd) == "0.099976 [0.099976, 0.700195] [0.099976, 1.500000] 0.099976\n"


def test_infinity_and_nan(capfd):
    @ti.kernel
    def run(a: ti.types.ndarray(ti.f32, 1)):
        print(a[0], a[1], a[2], a[3])

    a = ti.ndarray(ti.f32, 4)
    for k, value in enumerate((float("inf"), -float("inf"), float("nan"), -0.0)):
        a[k] = value
    run(a)
    assert shown(capfd) == "inf -inf nan -0.000000\n"


def test_vectors_matrices_and_lists(capfd):
    @ti.kernel
    def run(x: ti.f32, n: ti.i32):
        print(ti.Vector([x, 2]), ti.Vector([n, 2]), ti.Matrix([[n, 2], [3, 4]]), ti.Matrix([[x, 2.0]]))
        print([x, n], (n, x), [1, 2.0], ti.Vector([n, 2]) == 3)

    run(1.5, 3)
    assert shown(capfd) == (
        "[1.500000, 2.000000] [3, 2] [[3, 2], [3, 4]] [[1.500000, 2.000000]]\n"
        "[1.500000, 3] [3, 1.500000] [1, 2.000000] [1, 0]\n"
    )


def test_separator_end_and_nothing(capfd):
    @ti.kernel
    def run(x: ti.f32):
        print("a", x, "b", sep="|", end="!\n")
        print()
        print("x", end="")
        print("y", "z", sep="")

    run(1.5)
    assert shown(capfd) == "a|1.500000|b!\n\nxyz\n"


@pytest.mark.parametrize(
    ("specification", "text"),
    [
        ("", "1.500000"), (".2f", "1.50"), (".0f", "2"), ("8.3f", "   1.500"), ("e", "1.500000e+00"), ("g", "1.5"),
        ("+.1e", "+1.5e+00"), (".3", "1.500"), ("5", "1.500000"), ("-9.2f", "1.50     "), (">8", "     1.5"),
    ],
)  # fmt: skip
def test_format_of_a_float(capfd, specification, text):
    @ti.kernel
    def run(x: ti.f32, specification: ti.template()):
        print("{:{}}".format(1, "") + "|", end="")
        print(f"{x:{specification}}", end="|")

    run(1.5, specification)
    assert shown(capfd) == f"1|{text}|"


@pytest.mark.parametrize(
    ("specification", "text"),
    [
        ("", "3"),
        ("d", "3"),
        ("+d", "+3"),
        ("5", "    3"),
        ("05d", "00003"),
        ("-5d", "3    "),
        ("x", "3"),
        ("<3", "3  "),
    ],
)
def test_format_of_an_integer(capfd, specification, text):
    @ti.kernel
    def run(n: ti.i32, specification: ti.template()):
        print(f"[{n:{specification}}]")

    run(3, specification)
    assert shown(capfd) == f"[{text}]\n"


def test_formatted_text(capfd):
    @ti.kernel
    def run(x: ti.f32, n: ti.i32):
        print(f"{n=} {ti.Vector([x, 2.0]):.2f} {2.5} {{}}")
        print("x={:.3f} n={:d} {} {name}".format(x, n, 2.5, name=n + 1))
        print("{1} {0}".format(x, n))

    run(1.5, 3)
    assert shown(capfd) == "n=3 [1.50, 2.00] 2.5 {}\nx=1.500 n=3 2.5 4\n3 1.500000\n"


def test_a_specification_that_does_not_fit_is_an_error_at_compile_time():
    @ti.kernel
    def run(x: ti.f32):
        print(f"{x:d}")

    with pytest.raises(ti.TaichiTypeError, match="'d' doesn't match 'f32'"):
        run(1.0)


def test_threads_print_in_the_order_of_the_loop(capfd):
    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            print("first", i)
            for j in range(2):
                print(i, j)
        for i, j in ti.ndrange(2, 3):
            print("pair", i, j)

    run(300)
    lines = [line for i in range(300) for line in (f"first {i}", f"{i} 0", f"{i} 1")]
    pairs = [f"pair {i} {j}" for i in range(2) for j in range(3)]
    assert shown(capfd).splitlines() == lines + pairs


def test_in_a_func_and_under_a_condition(capfd):
    @ti.func
    def show(i):
        if i % 2 == 1:
            print("odd", i)

    @ti.kernel
    def run():
        for i in range(6):
            show(i)

    run()
    run()
    assert shown(capfd) == "odd 1\nodd 3\nodd 5\n" * 2


def test_text_is_there_when_the_launch_returns_and_results_are_right(capfd):
    @ti.kernel
    def run(a: ti.types.ndarray(), n: ti.i32) -> ti.i32:
        for i in range(n):
            a[i] = i
        print("wrote", n)
        return n * 2

    a = ti.ndarray(ti.i32, 5)
    assert run(a, 5) == 10
    assert capfd.readouterr().out == "wrote 5\n"
    assert a.to_numpy().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_more_than_fits_is_counted(target, capfd):
    if target == "python":
        pytest.skip("the interpreter prints at once and loses nothing")
    ti.init(arch=getattr(ti, target), report_bytes=4000, log_level=ti.WARN)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            print(i)

    with pytest.warns(UserWarning, match="750 prints of this launch are lost"):
        run(1000)
    lines = [int(line) for line in shown(capfd).splitlines()]
    assert len(lines) == 250 and lines == sorted(set(lines)) and max(lines) < 1000
    run(2)
    assert shown(capfd) == "0\n1\n"


def test_kernels_without_print_have_no_buffer(target):
    ti.init(arch=getattr(ti, target), debug=False, log_level=ti.WARN)

    @ti.kernel
    def run(a: ti.types.ndarray(ti.f32, 1), n: ti.i32):
        assert n > 0
        for i in range(n):
            a[i + 1] = 1.0

    a = ti.ndarray(ti.f32, 4)
    interface = run.compile(a, 3).interface
    assert interface.reports == () and ("report",) not in [member.source for member in interface.members]
    run(a, 0)
    assert run.instances()[0].session.reports is None


@pytest.mark.parametrize("words", [[999, 0, 2, 5, 6], [0, 0, 1, 5], [0, 0, 2**31], [0xFFFFFFFF, 0, 0], [0, 0, 9]])
def test_a_damaged_buffer_harms_nobody(target, capfd, words):
    @ti.kernel
    def run(x: ti.f64):
        print(x)

    run(1.0)
    buffer = sessions.CURRENT.reports
    if buffer is None:  # the interpreter prints at once
        return
    header = buffer._header.copy()
    header[0] += len(words)
    damaged = np.concatenate([header, np.array(words, np.uint32)])
    sessions.CURRENT.device.write(buffer.allocation, memoryview(damaged.tobytes()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(2.0)
    assert ["records of prints and checks cannot be read" in str(warning.message) for warning in caught] == [True] * (
        words[2] < 3 and words[0] < 1000
    )
    run(3.0)
    assert shown(capfd).endswith("3.000000000000\n")
