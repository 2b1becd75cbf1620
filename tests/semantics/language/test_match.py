"""`match` in kernels: patterns decided at run time and at compile time, guards, names, and what is refused."""

import enum
from collections import namedtuple

import numpy as np
import pytest

import shadesmith as ti


class Shape(enum.IntEnum):
    DISK = 1
    SQUARE = 2


def test_literals_alternatives_and_the_rest(target: str) -> None:
    @ti.kernel
    def classify(n: ti.i32) -> ti.i32:
        found = 0
        match n:
            case 0:
                found = 100
            case 1 | 2 | -3:
                found = 200
            case Shape.SQUARE:
                found = 1  # never: the case before has it
            case _:
                found = n
        return found

    assert [classify(n) for n in (0, 1, 2, -3, 7)] == [100, 200, 200, 200, 7]


def test_no_case_matches(target: str) -> None:
    @ti.kernel
    def classify(n: ti.i32) -> ti.i32:
        found = 5
        match n:
            case 1:
                found = 10
            case 2:
                found = 20
        return found

    assert [classify(n) for n in (0, 1, 2)] == [5, 10, 20]


def test_dotted_names_are_values(target: str) -> None:
    @ti.kernel
    def area(shape: ti.i32, size: ti.f32) -> ti.f32:
        match shape:
            case Shape.DISK:
                return 3.0 * size * size
            case Shape.SQUARE:
                return size * size
        return -1.0

    assert [area(shape, 2.0) for shape in (1, 2, 3)] == [12.0, 4.0, -1.0]


def test_names_and_guards(target: str) -> None:
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def classify(n: ti.i32) -> ti.i32:
        found = 0
        match n * 2:
            case 4:
                found = -4
            case double if double > 10:
                double += 1
                found = double
            case 2 | 6 if x[n] == 0:  # out of range where the pattern does not match
                found = 26
            case other:
                found = other * 100
        return found

    assert [classify(n) for n in (2, 6, 1, 3, 4, -5)] == [-4, 13, 26, 26, 800, -1000]


def test_the_subject_is_computed_once(target: str) -> None:
    count = ti.field(ti.i32, ())

    @ti.kernel
    def classify() -> ti.i32:
        found = 0
        match ti.atomic_add(count[None], 1):
            case 0:
                found = 10
            case 1:
                found = 11
            case _:
                found = 12
        return found

    assert [classify(), classify(), classify()] == [10, 11, 12] and count[None] == 3


def test_the_subject_may_change_in_a_case(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        match n:
            case 1:
                n = 2
            case 2:
                n = 3
        return n

    assert [run(1), run(2), run(5)] == [2, 3, 5]


def test_an_outer_name_is_assigned(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        last = -1
        match n:
            case 0:
                pass
            case last:
                pass
        return last

    assert [run(0), run(8)] == [-1, 8]


def test_tuples(target: str) -> None:
    @ti.kernel
    def quadrant(x: ti.f32, y: ti.f32) -> ti.i32:
        found = 0
        match x > 0, y > 0:
            case True, True:
                found = 1
            case False, True:
                found = 2
            case (False, False):
                found = 3
            case [True, False]:
                found = 4
        return found

    assert [quadrant(x, y) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))] == [1, 2, 3, 4]


def test_items_of_vectors_and_lists(target: str) -> None:
    @ti.kernel
    def run(a: ti.i32, b: ti.i32, c: ti.i32) -> ti.i32:
        found = 0
        match ti.Vector([a, b, c]):
            case [_, _]:
                found = -1  # never: there are three
            case [0, middle, 0]:
                found = middle
            case [1, *rest]:
                found = rest[0] * 10 + rest[1]
            case [*_, last] as all_of_them if last < 0:
                found = all_of_them.sum()
            case first, 5 | 6, last:
                found = first * 100 + last
        return found

    cases = [((0, 7, 0), 7), ((1, 2, 3), 23), ((2, 9, -3), 8), ((3, 6, 4), 304), ((3, 7, 4), 0)]
    assert [run(*given) for given, _ in cases] == [expected for _, expected in cases]


def test_cases_known_at_compile_time_leave_no_trace(target: str) -> None:
    Point = namedtuple("Point", "x y")  # noqa: PYI024

    @ti.kernel
    def run(what: ti.template(), n: ti.i32) -> ti.i32:
        found = 0
        match what:
            case "first" | "second":
                found = n
            case None:
                found = not_defined  # noqa: F821
            case True:
                found = 2 * n
            case [x, y] if x > y:
                found = n * 10 + x
            case (x, y):
                found = n * 100 + y
            case Shape.DISK:
                found = -n
            case other:
                found = other
        return found

    cases = [("second", 3), (True, 6), ([5, 1], 35), (Point(1, 5), 305), (Shape.DISK, -3), (40, 40)]
    assert [run(what, 3) for what, _ in cases] == [expected for _, expected in cases]
    assert "if" not in run.ir("final", "second", 1)


def test_loops_of_a_static_match_are_parallel(target: str) -> None:
    x = ti.field(ti.i32, 10)

    @ti.kernel
    def fill(mode: ti.template()):
        match ti.static(mode):
            case "up":
                for i in x:
                    x[i] = i
            case "down":
                for i in x:
                    x[i] = -i

    for mode, sign in (("up", 1), ("down", -1)):
        fill(mode)
        assert x.to_numpy().tolist() == [sign * i for i in range(10)]
    assert "task fill range_for" in fill.ir("tasks", "up")


def test_break_continue_and_return_in_cases(target: str) -> None:
    x = ti.field(ti.i32, 10)

    @ti.func
    def find(start):
        for k in range(start, 100):
            match k % 7:
                case 0:
                    continue
                case 6:
                    return k
        return -1

    @ti.kernel
    def run():
        for i in x:
            for k in range(20):
                match k:
                    case 3:
                        continue
                    case 5 | 6:
                        break
                x[i] += k
            match i:
                case 9:
                    x[i] = find(i)

    run()
    assert x.to_numpy().tolist() == [7] * 9 + [13]


def test_match_in_a_parallel_loop(target: str) -> None:
    x = ti.field(ti.f32, 1000)

    @ti.kernel
    def fill():
        for i in x:
            match i % 4:
                case 0:
                    x[i] = 1.5
                case 1 | 2:
                    x[i] = ti.sqrt(i)
                case k:
                    x[i] = k

    fill()
    i = np.arange(1000)
    expected = np.where(i % 4 == 0, 1.5, np.where(i % 4 == 3, 3, np.sqrt(i)))
    assert np.allclose(x.to_numpy(), expected)


REFUSED = {
    "class": ("case int():", "the pattern of a class"),
    "class with members": ("case ti.Vector(x=0):", "the pattern of a class"),
    "mapping": ('case {"a": 1}:', "the pattern of a mapping"),
    "names in alternatives": ("case (1 as k) | k:", "bound by one of several alternatives"),
    "truth of a number": ("case True:", "matches truth values"),
    "text": ('case "a":', "takes numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_patterns_that_are_refused(define_kernel, name: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    case, message = REFUSED[name]
    kernel = define_kernel(f"def run(n: ti.i32):\n    match n:\n        {case}\n            pass\n")
    with pytest.raises(ti.TaichiCompilationError, match=message) as caught:
        kernel(1)
    assert caught.value.location.line == 4


def test_emitted_text_reads_like_the_match() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def classify(n: ti.i32) -> ti.i32:
        match n:
            case 0:
                return 10
            case 1 | 2:
                return 20
        return 30

    for arch in (ti.vulkan, ti.cuda, ti.cpu):
        text = classify.source(1, arch=arch)
        assert "if (args.n == 0)" in text and "else if (args.n == 1 || args.n == 2)" in text
