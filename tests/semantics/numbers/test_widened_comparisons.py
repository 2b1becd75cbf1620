"""Comparisons of widened numbers with constants, in values, selections and branches: lavapipe took i32 for u32 there."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.ir.types import SCALARS

NAMES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64")
PAIRS = [
    (old, new)
    for old in NAMES
    for new in NAMES
    if SCALARS[old].bits < SCALARS[new].bits and (old[0] != "f" or new[0] == "f")
]
SYMBOLS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def numbers_of(name: str) -> np.ndarray:
    kind = SCALARS[name].numpy.type
    if name[0] == "f":
        return np.array([-np.inf, -1.5, -1, -0.0, 0.0, 0.5, 1, 3, 2048, 65504, np.inf, np.nan], kind)
    least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    return np.array(sorted({n for n in (least, least + 1, -7, -1, 0, 1, 3, 100, most) if least <= n <= most}), kind)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_a_widened_number_compares_as_it_is(target: str, old: str, new: str, define_kernel: Callable[..., Any]) -> None:
    ti.init(
        arch=getattr(ti, target), default_fp=ti.f64, default_ip=ti.i64, fast_math=False, enable_fallback=False,
        log_level=ti.ERROR,
    )  # fmt: skip
    x, kind = numbers_of(old), SCALARS[new].numpy.type
    if new[0] == "f":
        constants = [-1.5, -1.0, 0.0, 0.5, 3.0]
    else:
        least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        constants = sorted({n for n in (least + 1, -3, -1, 0, 1, 3, most) if least <= n <= min(most, 2**63 - 1)})
    with np.errstate(over="ignore", invalid="ignore"):
        wide = x.astype(kind)
    lines, expected = [], []
    for constant in constants:
        for symbol, meaning in SYMBOLS.items():
            truth = meaning(wide, kind(constant))
            c = f"ti.cast({constant!r}, ti.{new})"
            column = len(expected)
            lines.append(f"        o[i, {column}] = ti.cast(w {symbol} {c}, ti.i32)\n")
            lines.append(f"        o[i, {column + 1}] = ti.select(w {symbol} {c}, 5, 6)\n")
            expected += [truth.astype(int), np.where(truth, 5, 6)]
        lines.append(f"        if {c} > w:\n            o[i, {len(expected)}] = 1\n")
        expected.append(np.greater(kind(constant), wide).astype(int))
        lines.append(f"        o[i, {len(expected)}] = ti.cast(ti.min(w, {c}) == w, ti.i32)\n")
        lines.append(f"        o[i, {len(expected) + 1}] = ti.cast(ti.max({c}, w) == w, ti.i32)\n")
        is_nan = wide != wide
        expected += [((wide <= kind(constant)) & ~is_nan).astype(int), ((wide >= kind(constant)) & ~is_nan).astype(int)]
    compare = define_kernel(
        f"def compare(x: ti.types.ndarray(ti.{old}, 1), o: ti.types.ndarray(ti.i32, 2)):\n"
        f"    for i in x:\n        w = ti.cast(x[i], ti.{new})\n{''.join(lines)}"
    )
    given, o = ti.ndarray(getattr(ti, old), len(x)), ti.ndarray(ti.i32, (len(x), len(expected)))
    given.from_numpy(x)
    compare(given, o)
    found = o.to_numpy()
    assert [(column, found[:, column].tolist()) for column in range(len(expected))] == [
        (column, values.tolist()) for column, values in enumerate(expected)
    ]


def test_widened_in_other_places(target: str) -> None:
    """The driver sees through variables, vectors, functions and loops, which our passes keep apart."""

    @ti.real_func
    def is_negative(x: ti.i64) -> ti.i32:
        return 1 if x < 0 else 0

    @ti.kernel
    def signs(x: ti.types.ndarray(ti.i32, 1), o: ti.types.ndarray(ti.i32, 2), z: ti.i32):
        for i in x:
            w = ti.cast(x[i] ^ z, ti.i64)
            o[i, 0] = is_negative(w)
            v = ti.Vector([w, w + 1])
            o[i, 1] = ti.cast(v[0] < 0, ti.i32)
            o[i, 2] = (v < 0).sum()
            y = w
            steps = 0
            while y < 0 and steps < 100:
                y += 3
                steps += 1
            o[i, 3] = steps
            o[i, 4] = ti.cast(-1 > w, ti.i32)
            o[i, 5] = ti.cast(ti.cast(i - 3, ti.i64) <= -1, ti.i32)

    numbers = np.array([-(2**31), -7, -1, 0, 1, 7, 2**31 - 1], np.int32)
    x, o = ti.ndarray(ti.i32, 7), ti.ndarray(ti.i32, (7, 6))
    x.from_numpy(numbers)
    signs(x, o, 0)
    found = o.to_numpy().T.tolist()
    assert found[0] == found[1] == [1, 1, 1, 0, 0, 0, 0]
    assert found[2] == [2, 2, 1, 0, 0, 0, 0]
    assert found[3] == [100, 3, 1, 0, 0, 0, 0]
    assert found[4] == [1, 1, 0, 0, 0, 0, 0]
    assert found[5] == [1, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("fast_math", [True, False])
def test_a_number_that_becomes_a_narrower_float_and_back_is_rounded(target: str, fast_math: bool) -> None:
    """lavapipe gave back the integer itself."""
    ti.init(arch=getattr(ti, target), fast_math=fast_math, enable_fallback=False, log_level=ti.ERROR)

    @ti.kernel
    def there_and_back(
        x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i64, 1), z: ti.types.ndarray(ti.f64, 1),
        o: ti.types.ndarray(ti.f64, 2), n: ti.types.ndarray(ti.i64, 2),
    ):  # fmt: skip
        for i in x:
            single = ti.cast(x[i], ti.f32)
            n[i, 0] = ti.cast(ti.cast(single, ti.i32), ti.i64)
            n[i, 1] = ti.cast(ti.cast(ti.cast(ti.cast(x[i], ti.u32), ti.f32), ti.u32), ti.i64)
            n[i, 2] = ti.cast(ti.cast(y[i], ti.f64), ti.i64)
            n[i, 3] = ti.cast(ti.cast(y[i], ti.f32), ti.i64)
            n[i, 4] = ti.cast(ti.cast(x[i] % 4096, ti.f16), ti.i64)
            n[i, 5] = 1 if ti.cast(single, ti.i32) == x[i] else 0
            o[i, 0] = ti.cast(ti.cast(z[i], ti.f32), ti.f64)
            o[i, 1] = ti.cast(ti.cast(z[i], ti.f16), ti.f64)
            o[i, 2] = ti.cast(ti.cast(ti.cast(z[i], ti.f32), ti.f16), ti.f32)

    x = np.array([16777217, 2049, 0, 33554435], np.int32)
    y = np.array([2**53 + 1, -(2**60) - 1, -7, 2**24 + 1], np.int64)
    z = np.array([0.1, 1 / 3, -2049.0, 1.0 + 2.0**-30])
    arrays = [ti.ndarray(ti.i32, 4), ti.ndarray(ti.i64, 4), ti.ndarray(ti.f64, 4)]
    for array, values in zip(arrays, (x, y, z), strict=True):
        array.from_numpy(values)
    o, n = ti.ndarray(ti.f64, (4, 3)), ti.ndarray(ti.i64, (4, 6))
    there_and_back(*arrays, o, n)
    single = x.astype(np.float32).astype(np.int32)
    expected = [
        single, single, y.astype(float).astype(np.int64), y.astype(np.float32).astype(np.int64),
        (x % 4096).astype(np.float16).astype(np.int64), (single == x).astype(int),
    ]  # fmt: skip
    assert n.to_numpy().T.tolist() == [values.tolist() for values in expected]
    halves = z.astype(np.float16).astype(float), z.astype(np.float32).astype(np.float16).astype(float)
    found = o.to_numpy().T
    assert found[0].tolist() == z.astype(np.float32).astype(float).tolist()
    assert found[2].tolist() == halves[1].tolist()
    assert all(
        value in pair for value, *pair in zip(found[1], *halves, strict=True)
    )  # some devices round by way of f32


@pytest.mark.parametrize("name", ["i8", "u8", "i16", "u16"])
@pytest.mark.all_targets
def test_results_of_narrow_operations_wrap_before_they_are_widened(target: str, name: str) -> None:
    """NVIDIA's Vulkan driver has 128 for `int(abs(int8_t(-128)))` and `int(-int8_t(-128))`, ptxas 32768 for i16."""
    ti.init(arch=getattr(ti, {"c": "cpu"}.get(target, target)), log_level=ti.ERROR)
    type, values = getattr(ti, name), numbers_of(name)
    n = len(values)
    x = ti.field(type, n)
    x.from_numpy(values)
    wide, is_above, vectors = ti.field(ti.i32, (n, 6)), ti.field(ti.i32, (n, 8)), ti.field(ti.i32, (n, 2))

    @ti.kernel
    def widen():
        for i in x:
            found = ti.Vector([abs(x[i]), -x[i], x[i] + x[i], x[i] * x[i], ~x[i], -abs(x[i])])
            for k in ti.static(range(6)):
                wide[i, k] = found[k]
            is_above[i, 0] = 31 < abs(x[i])
            is_above[i, 1] = 31 < -x[i]
            is_above[i, 2] = 31 < x[i] + x[i]
            is_above[i, 3] = 31 < x[i] * x[i]
            is_above[i, 4] = 31 < ~x[i]
            is_above[i, 5] = 31 < -abs(x[i])
            vectors[i, 0] = ti.cast(abs(ti.Vector([x[i], x[i]])), ti.i32).sum()
            is_above[i, 6] = 31 < ti.cast(0, type) - x[i]
            is_above[i, 7] = 31 < x[i] * ti.cast(-1, type)
            vectors[i, 1] = ti.cast(-ti.Vector([x[i], x[i], x[i]]), ti.i32).sum()

    @ti.kernel
    def count(a: type, b: type) -> ti.i32:
        rounds = 0
        while rounds < 3 and -a > b:
            rounds += 1
        return rounds

    widen()
    with np.errstate(over="ignore"):
        expected = np.stack([abs(values), -values, values + values, values * values, ~values, -abs(values)], 1)
    expected = expected.astype(np.int32)
    assert np.array_equal(wide.to_numpy(), expected)
    assert np.array_equal(is_above.to_numpy(), (expected[:, [0, 1, 2, 3, 4, 5, 1, 1]] > 31).astype(np.int32))
    assert np.array_equal(vectors.to_numpy(), np.stack([2 * expected[:, 0], 3 * expected[:, 1]], 1))
    for a, negative in zip(values.tolist(), expected[:, 1].tolist(), strict=True):
        for b in values.tolist():
            assert count(a, b) == (3 if negative > b else 0), (a, b)
