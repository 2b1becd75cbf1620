"""What compiling says: `ti.static_print`, `ti.static_assert`, warnings; and kernels of which nothing is left to run."""

from __future__ import annotations

import warnings

import pytest

import shadesmith as ti

G = 3


@pytest.fixture(autouse=True)
def session():
    ti.init(arch=ti.cpu, log_level=ti.WARN)


def line_of(text: str) -> int:
    lines = open(__file__, encoding="utf-8").read().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_static_print_shows_values_known_and_types_of_others_once(capsys):
    @ti.kernel
    def run(n: ti.i32):
        ti.static_print(G, "text", f"{G:03d}", [1, 2.5], ti.f32, n, ti.Vector([n, 1]), sep="|")
        ti.static_print()

    run(1)
    run(2)
    place = line_of('ti.static_print(G, "text", f"{G:03d}", [1, 2.5], ti.f32, n, ti.Vector([n, 1]), sep="|")')
    assert capsys.readouterr().out.splitlines() == [
        f"[{__file__}:{place}]|3|text|003|[1, 2.5]|f32|`i32`|`vector(2, i32)`",
        f"[{__file__}:{place + 1}]",
    ]


def test_static_assert_shows_its_message():
    @ti.kernel
    def run():
        ti.static_assert(G < 5, "never")
        ti.static_assert(G > 4, f"G is {G:02d}")

    with pytest.raises(ti.TaichiCompilationError, match="Static assertion failed: G is 03") as caught:
        run()
    assert caught.value.location.line == line_of('ti.static_assert(G > 4, f"G is {G:02d}")')


@pytest.mark.parametrize("condition", [True, False])
def test_static_assert_takes_no_message_of_run_time(condition):
    @ti.kernel
    def run(n: ti.i32):
        ti.static_assert(condition, f"n is {n}")

    with pytest.raises(ti.TaichiTypeError, match="known at run time only"):
        run(1)


def test_a_warning_names_a_line_once():
    @ti.kernel
    def run() -> ti.i32:
        total = 0
        for i in ti.static(range(3)):
            for j, _ in ti.static(list(enumerate("x" * 40))):
                total += i * j
        return total

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
        run()
    (text,) = [str(warning.message) for warning in caught]
    line = line_of('for j, _ in ti.static(list(enumerate("x" * 40))):')
    assert f'File "{__file__}", line {line}, column 13' in text
    assert "unrolling 40 iterations makes long code; the limit is 32" in text


def test_a_kernel_with_nothing_to_run(target):
    @ti.kernel
    def nothing(n: ti.i32):
        pass

    @ti.kernel
    def only_checks(n: ti.i32):
        ti.static_assert(G == 3)
        assert n >= 0

    for kernel in (nothing, only_checks):
        assert kernel(1) is None
        ti.sync()
