"""`ti.init(check_overflow=True)`: integer arithmetic that leaves its type raises, with the operands; Python's integers
say when. Without the option nothing is emitted (the last test)."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from overflows import INTEGERS, SENTINEL, edges, failed

import shadesmith as ti


@pytest.fixture(autouse=True)
def checking(target):
    ti.init(arch=getattr(ti, target), check_overflow=True, enable_fallback=False, log_level=ti.WARN)


def line_of(text: str) -> int:
    lines = open(__file__, encoding="utf-8").read().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


@ti.kernel
def add(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in out:
        out[i] = a[i] + b[i]


@ti.kernel
def sub(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in out:
        out[i] = a[i] - b[i]


@ti.kernel
def mul(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in out:
        out[i] = a[i] * b[i]


@ti.kernel
def shl(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in out:
        out[i] = a[i] << b[i]


@ti.kernel
def power(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in out:
        out[i] = a[i] ** b[i]


@ti.kernel
def divide(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in out:
        out[i] = a[i] // b[i]


@ti.kernel
def remainder(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in out:
        out[i] = a[i] % b[i]


BINARY = {
    "add": (add, operator.add),
    "sub": (sub, operator.sub),
    "mul": (mul, operator.mul),
    "shl": (shl, lambda a, b: a << b),
    "pow": (power, lambda a, b: a ** min(b, 99) if abs(a) > 1 else a ** (b % 2 + 2 * (b > 1))),
    "floordiv": (divide, lambda a, b: a // b),
    "mod": (remainder, lambda a, b: a % b),
}


def exact(name: str, meaning, a: int, b: int, info: np.iinfo) -> int | None:
    """Return the mathematical result, None where there is none or it does not fit."""
    if (name in ("floordiv", "mod") and b == 0) or (name == "shl" and not 0 <= b < info.bits):
        return None
    result = meaning(a, b)
    return result if info.min <= result <= info.max else None


@pytest.mark.sampled(2, each="name")
@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", BINARY)
def test_results_that_do_not_fit_are_trapped_and_no_others(name, kind):
    kernel, meaning = BINARY[name]
    values = edges(kind)
    a, b = (part.ravel() for part in np.meshgrid(values, values, indexing="ij"))
    if name == "pow":
        a, b = a[b >= 0], b[b >= 0]
    out = np.full(a.shape, SENTINEL, a.dtype)
    error = failed(lambda: kernel(a, b, out))
    wanted = [exact(name, meaning, int(x), int(y), np.iinfo(a.dtype)) for x, y in zip(a, b, strict=True)]
    assert out.tolist() == [SENTINEL if w is None else w for w in wanted]
    assert error is not None and error.failures == wanted.count(None) and error.kind == "overflow"
    first = wanted.index(None)
    assert error.values == (int(a[first]), int(b[first])) and error.iteration == {"i": first}


@pytest.mark.parametrize("kind", INTEGERS)
def test_negation_and_absolute_value(kind):
    @ti.kernel
    def negate(a: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in out:
            out[i] = -a[i]

    @ti.kernel
    def absolute(a: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in out:
            out[i] = abs(a[i])

    a = edges(kind)
    info = np.iinfo(a.dtype)
    for kernel, meaning in ((negate, operator.neg), (absolute, abs)):
        out = np.full(a.shape, SENTINEL, a.dtype)
        error = failed(lambda kernel=kernel, out=out: kernel(a, out))
        wanted = [r if info.min <= (r := meaning(int(x))) <= info.max else None for x in a]
        assert out.tolist() == [SENTINEL if w is None else w for w in wanted]
        assert (error.failures if error else 0) == wanted.count(None)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("real", ["f32", "f64"])
def test_casts_of_floats(kind, real):
    @ti.kernel
    def convert(a: ti.types.ndarray(), out: ti.types.ndarray(), kind: ti.template()):
        for i in out:
            out[i] = ti.cast(a[i], kind)

    dtype = edges(kind).dtype
    info, number = np.iinfo(dtype), np.dtype(real.replace("f", "float")).type
    around = [number(v) for v in (info.min, info.min - 1, info.max, info.max + 1, 0, -0.5, -0.99, -1, 1.99, 1e30)]
    steps = [np.nextafter(v, number(d)) for v in around for d in (-np.inf, np.inf)]
    a = np.array([*around, *steps, np.inf, -np.inf, np.nan], number)
    out = np.full(a.shape, SENTINEL, dtype)
    error = failed(lambda: convert(a, out, getattr(ti, kind)))
    wanted = [int(x) if np.isfinite(x) and info.min <= int(x) <= info.max else None for x in a]
    assert out.tolist() == [SENTINEL if w is None else w for w in wanted]
    assert error.failures == wanted.count(None) and "Cast overflow detected" in error.message


def test_the_message_names_line_and_operands():
    @ti.func
    def double(n):
        return n * 2

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return double(n) + 1

    assert run(1 << 29) == (1 << 30) + 1
    error = failed(lambda: run(1 << 30))
    assert error.message == "Multiplication overflow detected: 1073741824 * 2 does not fit i32"
    assert error.location.line == line_of("return n * 2") and error.location.function == "double"
    assert error.location.call_site.line == line_of("return double(n) + 1")
    assert str(error).splitlines()[-1] == error.message and "^^^^^" in str(error)
    assert "Addition overflow detected: 2147483647 + 1" in failed(lambda: run_add(2**31 - 1)).message


@ti.kernel
def run_add(n: ti.i32) -> ti.i32:
    return n + 1


def test_division_by_zero():
    @ti.kernel
    def run(a: ti.i32, b: ti.i32) -> ti.i32:
        return a // b

    assert run(7, -2) == -4
    assert failed(lambda: run(7, 0)).message == "Division by zero: 7 // 0"
    assert failed(lambda: run(-(2**31), -1)).message == (
        "Division overflow detected: -2147483648 // -1 does not fit i32"
    )


def test_vectors_are_checked_element_by_element():
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        v = ti.Vector([1, n, 3]) + 5
        return v[1]

    assert run(2**31 - 6) == 2**31 - 1
    assert failed(lambda: run(2**31 - 5)).message == (
        "Addition overflow detected: [1, 2147483643, 3] + 5 does not fit i32"
    )


def test_updates_of_memory_and_variables():
    total = ti.field(ti.i32, 2)

    @ti.kernel
    def shared(n: ti.i32):
        for i in range(3):
            total[0] += n

    @ti.kernel
    def local(n: ti.i32) -> ti.i32:
        sum = n
        for i in range(3):
            sum += 2**30
        return sum

    shared(5)
    assert total[0] == 15
    assert failed(lambda: shared(2**30)).failures in (1, 2)  # by the order of the threads
    assert local(-(2**31)) == 2**30
    assert "Addition overflow detected: 1073741825 + 1073741824" in failed(lambda: local(1)).message
    assert total[1] == 0


def test_what_wraps_by_definition_is_let_through():
    @ti.kernel
    def run(n: ti.i32) -> ti.u8:
        return ti.cast(n, ti.u8)

    @ti.kernel
    def bits(n: ti.u32) -> ti.u32:
        return (n ^ (n >> 3)) | ti.bit_shr(n, 2) & ~n

    assert run(300) == 44 and bits(2**32 - 1) == (2**32 - 1) ^ (2**29 - 1)


def test_index_arithmetic_of_loops_is_not_the_users():
    out = ti.field(ti.i32, (3, 4))

    @ti.kernel
    def run(low: ti.i32, high: ti.i32):
        for i, j in ti.ndrange((low, high), 4):
            out[i - low, j] = j
        for k in range(high, low, -1):
            out[0, 0] = k

    run(2**31 - 4, 2**31 - 1)
    assert out.to_numpy()[1:].tolist() == [[0, 1, 2, 3]] * 2


def test_without_the_option_nothing_is_emitted(target):
    ti.init(arch=getattr(ti, target), log_level=ti.WARN)
    assert run_add(2**31 - 1) == -(2**31)
    assert "overflows" not in run_add.source(1)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("old, new", [("i32", "i8"), ("i32", "u8"), ("u32", "i32"), ("i64", "u32"), ("u16", "i8"),
                                      ("u64", "i64"), ("i16", "i8"), ("i64", "i32")])  # fmt: skip
def test_integers_stored_in_a_type_that_cannot_hold_them(old, new):
    place = ti.field(getattr(ti, new), 200)

    @ti.kernel
    def run(a: ti.types.ndarray()):
        for i in a:
            place[i] = a[i]

    values, info = edges(old), np.iinfo(edges(new).dtype)
    near = [info.min, info.min - 1, info.max, info.max + 1]
    held = np.iinfo(values.dtype)
    values = np.array([*values, *(n for n in near if held.min <= n <= held.max)], values.dtype)
    place.fill(SENTINEL)
    error = failed(lambda: run(values))
    wanted = [n if info.min <= n <= info.max else SENTINEL for n in values.tolist()]
    assert place.to_numpy()[: len(values)].tolist() == wanted
    bad = [n for n in values.tolist() if not info.min <= n <= info.max]
    assert error.failures == len(bad)
    assert error.message == f"Assignment overflow detected: {bad[0]} does not fit {new}"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_stored_as_a_float_or_a_truth_value_is_no_overflow():
    numbers, flags = ti.Vector.field(2, ti.f32, 1), ti.field(ti.u1, 2)

    @ti.kernel
    def run(n: ti.i64, x: ti.f64) -> ti.f16:
        numbers[0] = ti.Vector([n, n + 1])
        numbers[0].x += x
        flags[0], flags[1] = n, x
        small: ti.f32 = x
        count: ti.i32 = flags[0]
        return small + count

    assert run(5, 0.25) == 1.25
    assert numbers[0].to_list() == [5.25, 6.0] and flags.to_numpy().tolist() == [True, True]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_arguments_and_loop_bounds_are_stored_too():
    @ti.kernel
    def result(n: ti.i32) -> ti.u8:
        return n

    @ti.kernel
    def member(n: ti.i64) -> ti.i32:
        s = Pair(a=n, b=0)
        return s.a

    Pair = ti.types.struct(a=ti.i32, b=ti.i32)

    @ti.kernel
    def bound(n: ti.u32) -> ti.i32:
        count = 0
        ti.loop_config(serialize=True)
        for i in range(n):
            count += 1
            if i == 100:
                break
        return count

    @ti.kernel
    def written(n: ti.i64) -> ti.i32:
        v = ti.math.ivec2(n, 1)
        return v.x + ti.cast(n, ti.i32) - ti.i32(n)

    assert result(255) == 255 and member(-7) == -7 and bound(3) == 3 and bound(2**31 - 1) == 101
    assert failed(lambda: result(256)).message == "Assignment overflow detected: 256 does not fit u8"
    assert failed(lambda: member(2**31)).message == "Assignment overflow detected: 2147483648 does not fit i32"
    assert failed(lambda: bound(2**31)).message == "Assignment overflow detected: 2147483648 does not fit i32"
    assert written(2**32 + 5) == 5


@pytest.mark.parametrize("check_overflow", [False, True])
def test_returns_and_breaks_in_loops_are_well_formed_to_the_verifier(target, check_overflow):
    ti.init(arch=getattr(ti, target), debug=True, check_overflow=check_overflow, log_level=ti.WARN)
    parted = ti.Vector.field(3, ti.i32, 8, layout=ti.Layout.SOA)

    @ti.kernel
    def find(n: ti.i32) -> ti.i32:
        ti.loop_config(serialize=True)
        for i in range(n):
            if parted[i].x > 3:
                return parted[i].y * 2
            parted[i] += i
        return -n

    @ti.kernel
    def count(n: ti.i32) -> ti.i32:
        total = 0
        for _ in range(1):
            for i, j in ti.ndrange(n, n):
                total += i * j
                if total > 3:
                    break
        return total

    parted[5] = [4, 4, 4]
    assert find(4) == -4 and find(8) == 8 and count(3) == 5
    assert parted.to_numpy()[:, 0].tolist() == [0, 2, 4, 6, 4, 4, 0, 0]
