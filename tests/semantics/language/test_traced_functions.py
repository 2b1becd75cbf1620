"""Python executes what kernels lack: functions of `operator` and `functools`, functions with lists and lambdas."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti


def multiples(x, n):
    return list(map(lambda k: x * k, range(n)))  # noqa: C417 - a lambda is what is tested


def growing(x, n):
    out = []
    for k in range(n):
        out.append(x + k)
    return out


def total(values):
    result = values[0]
    for value in values[1:]:
        result = result + value
    return result


def horner(factors, x):
    return functools.reduce(lambda sum, factor: sum * x + factor, factors)


def polynomial(x):
    return sum(factor * x**power for power, factor in enumerate((1.0, -2.0, 0.5)))


def largest(values):
    return functools.reduce(ti.max, values)


def waves(x):
    return [f(x) for f in (lambda y: ti.sin(y), lambda y: ti.sqrt(abs(y)) - np.exp(-y), lambda y: -y // 2 + 7 % y)]


def length(v):
    return sum(x * x for x in v) ** 0.5


def trace(m):
    return sum((lambda k: m[k, k])(k) for k in range(2)) + m[0, 1]


class Blend:
    def __init__(self, weights):
        self.weights = weights

    def mix(self, values):
        return sum(w * v for w, v in zip(self.weights, values, strict=True))


BLEND = Blend([0.25, 0.5, 2.0])
OPERATORS = {"+": operator.add, "*": operator.mul, "-": operator.sub, "/": operator.truediv, "**": operator.pow}

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "reduce": lambda x, y: functools.reduce(operator.mul, [x, y, 3.0]),
    "table": lambda x, y: OPERATORS["/"](OPERATORS["+"](x, y), OPERATORS["**"](y, 2)),
    "partial": lambda x, y: functools.partial(operator.sub, 10.0)(x) + y,
    "itemgetter": lambda x, y: operator.itemgetter(1)([x, y]),
    "accumulate": lambda x, y: total(list(itertools.accumulate([x, y, x]))),
    "lambdas": lambda x, y: total(multiples(x, 4)) + y,
    "lists": lambda x, y: total(growing(x, 3)) * total(growing(y, 2)),
    "horner": lambda x, y: horner([1.0, 2.0, 3.0], x) - horner([y, x, y], 0.5),
    "generator": lambda x, y: polynomial(x) + polynomial(y),
    "largest": lambda x, y: largest([x, y, 1.0]),
    "functions": lambda x, y: total(waves(x)) + total(waves(y)),
    "vector": lambda x, y: length(ti.Vector([x, y, 2.0])),
    "matrix": lambda x, y: trace(ti.Matrix([[x, y], [2.0, y]])),
    "method": lambda x, y: BLEND.mix([x, y, 1.0]),
    "comparison": lambda x, y: ti.select(operator.lt(x, y), x, y),
}


@pytest.mark.parametrize("name", CASES)
def test_python_functions_give_what_python_gives(target: str, name: str) -> None:
    compute = ti.func(CASES[name])
    out = ti.field(ti.f32, 4)

    @ti.kernel
    def run(y: ti.f32):
        for i in out:
            out[i] = compute(i + 0.5, y)

    run(1.25)
    expected = [CASES[name](i + 0.5, 1.25) for i in range(4)]
    assert np.allclose(out.to_numpy(), np.array(expected, np.float32), rtol=1e-5)


@pytest.mark.parametrize(("body", "message"), [
    (lambda x: [1.0] if x > 0 else [-k for k in (2.0,)], "has no truth value"),
    (lambda x: [None for _ in range(x)], "is no index"),
    (lambda x: [float(x) for _ in (1,)], "is no number"),
    (lambda x: [np.cbrt(x) for _ in (1,)], "is no operand of `numpy.cbrt`"),
    (lambda x: [len(x) for _ in (1,)], "has no elements"),
])  # fmt: skip
def test_what_decides_by_a_run_time_value_is_an_error(body, message):
    ti.init(arch=ti.python, log_level=ti.ERROR)

    def pick(x):
        return (lambda: body(x))()

    @ti.kernel
    def run(x: ti.i32) -> ti.f32:
        return pick(x)[0]

    with pytest.raises(ti.TaichiTypeError, match=message):
        run(1)


def test_what_an_executed_function_reads_is_part_of_the_kernels_key(tmp_path, monkeypatch):
    """An object and a table that such a function reads may differ in the next process."""
    import subprocess
    import sys

    program = tmp_path / "program.py"
    text = """
import sys
import shadesmith as ti
ti.init(arch=ti.cpu, offline_cache=True, offline_cache_file_path=sys.argv[1], log_level=ti.ERROR)
SCALE, TABLE = float(sys.argv[2]), {"a": float(sys.argv[3])}
class Blend:
    def __init__(self, weights):
        self.weights = weights
    def mix(self, values):
        return sum(w * v for w, v in zip(self.weights, values))
blend = Blend([float(sys.argv[4])])
def scaled(x):
    return [(lambda y: y * SCALE)(x), x * TABLE["a"]]
@ti.kernel
def run(x: ti.f32) -> ti.f32:
    return scaled(x)[0] + scaled(x)[1] + blend.mix([x])
print(run(1.0))
"""
    program.write_text(text)
    for values in (("1", "2", "4"), ("8", "2", "4"), ("8", "16", "4"), ("8", "16", "32"), ("8", "16", "32")):
        words = [sys.executable, str(program), str(tmp_path / "cache"), *values]
        monkeypatch.setenv("SHADESMITH_OFFLINE_CACHE", "1")
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert float(done.stdout) == sum(map(float, values))
