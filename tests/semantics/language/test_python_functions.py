"""Python functions without a decorator that get run-time values: Taichi runs them with its expressions, we compile them."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

import shadesmith as ti

pytestmark = pytest.mark.filterwarnings("ignore:.*compiled as a `@ti.func`")


def horner(x, coefficients):
    if len(coefficients) == 1:
        return coefficients[0]
    return coefficients[0] + x * horner(x, coefficients[1:])


def doubled(x):
    return ti.Vector([x, 2 * x])


def sign_of(x):
    if x > 0:
        return 1.0
    return -1.0


def add(f, i):
    f[i] += 1.0


square, cube = lambda v: v * v, lambda v: v * v * v
lengths = {
    "less": lambda p, r: p.norm() - r,
    "more": lambda p, r: p.norm() + r,
}


class Scale:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def scaled(self, x):
        return self.factor * x

    @staticmethod
    def below(x):
        return x - 1

    def __call__(self, x):
        return self.factor + x


def shifted(x, by=1.0, *more, **named):
    return x + by + sum(more) + named.get("last", 0)


def test_functions_methods_and_lambdas(target: str) -> None:
    f, scale = ti.field(ti.f32, 3), Scale(3.0)

    @ti.kernel
    def run(x: ti.f32) -> ti.types.vector(7, ti.f32):
        for i in range(3):
            add(f, i)
        return ti.Vector([
            horner(x, (1.0, 2.0, 3.0)), doubled(x).sum() + doubled(x)[1], sign_of(-x), square(x) + 10 * cube(x),
            lengths["less"](ti.Vector([3.0, 4.0]), x), scale.scaled(x) + scale.below(x), x,
        ])  # fmt: skip

    assert run(2.0).to_list() == [17.0, 10.0, -1.0, 84.0, 3.0, 7.0, 2.0]
    assert f.to_numpy().tolist() == [1.0, 1.0, 1.0]


def test_callable_objects_partial_functions_and_defaults(target: str) -> None:
    scale, part = Scale(3.0), functools.partial(shifted, by=5.0)

    @ti.kernel
    def run(x: ti.f32) -> ti.types.vector(4, ti.f32):
        return ti.Vector([scale(x), part(x), shifted(x), shifted(x, 1.0, 3.0, last=4.0)])

    assert run(2.0).to_list() == [5.0, 7.0, 3.0, 10.0]


def test_what_a_function_captures(target: str) -> None:
    def make(c):
        f = lambda v: v * c  # noqa: E731

        @ti.kernel
        def run(x: ti.f32) -> ti.f32:
            return f(x)

        return run

    assert [make(c)(2.0) for c in (3, 4)] == [6.0, 8.0]


def test_a_warning_names_the_function_and_the_call() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        return sign_of(x)

    with pytest.warns(UserWarning, match="`sign_of` gets run-time values, so it is compiled as a `@ti.func`"):
        assert run(-3.0) == -1.0


@pytest.mark.exhaustive
def test_an_edited_function_is_compiled_again(tmp_path: Path) -> None:
    text = """import warnings; warnings.simplefilter("ignore")
import shadesmith as ti
ti.init(arch=ti.cpu, log_level=ti.ERROR, offline_cache_file_path=CACHE)
def change(x):
    return x + 1
@ti.kernel
def run(x: ti.i32) -> ti.i32:
    return change(x)
print(run(3))
""".replace("CACHE", repr(str(tmp_path / "cache")))
    program, found = tmp_path / "program.py", []
    for source in (text, text, text.replace("x + 1", "x * 9")):
        program.write_text(source)
        found.append(subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout)
    assert found == ["4\n", "4\n", "27\n"]
