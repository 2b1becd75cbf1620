"""Pass `ranges`: value ranges are correct, and precise enough for the index arithmetic of kernels."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.ir.ops import OPS
from shadesmith.transpiler.ir.types import SCALARS, i8, u1, u8
from shadesmith.transpiler.passes.analysis.intervals import RULES, interval_of

ENDS = {i8: (-128, -127, -9, -8, -1, 0, 1, 3, 7, 8, 100, 127), u8: (0, 1, 2, 7, 8, 9, 127, 128, 254, 255), u1: (0, 1)}
TRUTHS = ("logical_and", "logical_or", "logical_not")
TESTS = ("lt", "le", "gt", "ge", "eq", "ne", *TRUTHS, *(f"{op}_overflows" for op in ("add", "sub", "mul", "shl")))


def numbers_between(ends, low, high):
    return sorted({low, high, *(number for number in ends if low <= number <= high)})


@pytest.mark.sampled(2)
@pytest.mark.parametrize("op", [op for op in RULES if op != "select"])
@pytest.mark.parametrize("type", [i8, u8, u1], ids=str)
def test_results_lie_within_their_interval(op, type):
    if (type == u1) != (op in TRUTHS) and not (type == u1 and op in ("eq", "ne")):
        return
    result = u1 if op in TESTS else SCALARS["i32"] if op in ("popcnt", "clz") else type
    ends = ENDS[type]
    intervals = [(low, high) for low, high in itertools.product(ends, ends) if low <= high][:: 1 + len(ends) // 4]
    with np.errstate(all="ignore"):
        for given in itertools.product(intervals, repeat=OPS[op].arity):
            low, high = interval_of(op, type, given, result)
            for operands in itertools.product(*(numbers_between(ends, *interval) for interval in given)):
                if op.startswith("plain") and (operands[0] < 0 or operands[1] < 1):
                    continue
                value = int(OPS[op].meaning(*map(type.numpy.type, operands)))
                assert low <= value <= high, f"{op}{operands} of {given} is {value}, not in {low}..{high}"


@pytest.fixture
def lines():
    """Return a function that returns the lines of a kernel's C source without comments and declarations."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    def emitted(kernel, *arguments, debug=False):
        if debug:
            ti.init(arch=ti.cpu, log_level=ti.ERROR, debug=True, check_overflow=True)
        text = kernel.source(*arguments, arch=ti.cpu)
        tasks = re.findall(r"^static inline void task.*?^}", text, re.DOTALL | re.MULTILINE)
        return "\n".join(line for task in tasks for line in task.split("\n") if not line.strip().startswith("//"))

    yield emitted
    ti.reset()


ARRAY = np.zeros(100, np.int32)
Array = ti.types.ndarray(ti.i32, 1)


def test_indices_of_loops_from_zero_on_are_divided_plainly(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32):
        for i in range(n):
            a[i // 5] = i % 7

    assert "a(i / 5) = i % 7;" in lines(k, ARRAY, 5)


def test_indices_of_which_the_begin_is_unknown_are_not(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32):
        for i in range(n, 100):
            a[i // 5] = i % 7

    assert "a(floor_div_positive_i32(i, 5)) = mod_positive_i32(i, 7);" in lines(k, ARRAY, 5)


def test_a_divisor_that_may_be_zero_is_not_plain(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32, m: ti.u32):
        for i in a:
            a[i] = i % n + ti.cast(m // ti.cast(n, ti.u32), ti.i32) + i // a.shape[0]

    text = lines(k, ARRAY, 5, 6)
    assert "mod_i32(i, args.n)" in text and "div_u32(args.m, (uint32_t)args.n)" in text and "i / args.a_n" in text


def test_powers_of_two_are_shifts_and_masks_also_of_negative_numbers(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32, m: ti.u32):
        for i in range(n, 100):
            a[i // 4] = i % 8 + ti.raw_div(i, 4) + ti.cast(m // 4, ti.i32)

    assert "a(i >> 2) = (i & 7) + i / 4 + (int)(args.m / 4u);" in lines(k, ARRAY, 5, 6)


def test_a_sum_that_may_wrap_is_not_plain(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32):
        for i in range(n):
            a[i] = (i + 1) % 5 + (i + 2) % 5 + i * 2 // 3

    assert "(i + 1) % 5 + mod_positive_i32(i + 2, 5) + floor_div_positive_i32(i * 2, 3)" in lines(k, ARRAY, 5)


def test_loops_downward_know_their_least_index(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32):
        for i in range(n, 0, -3):
            a[i] = i // 5 + (i - 1) // 5 + (i - 2) // 5

    assert "i / 5 + (i - 1) / 5 + floor_div_positive_i32(i - 2, 5)" in lines(k, ARRAY, 5)


def test_branches_know_their_condition(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32, m: ti.i32):
        for i in a:
            if n > 3 and i >= 1:
                a[i] = i // n + (i - 1) // 3
            elif not n <= 0:
                a[i] = i % n
            else:
                a[i] = i - n % 9 + i // n

    text = lines(k, ARRAY, 5, 6)
    assert "i / args.n + (i - 1) / 3" in text and "a(i) = i % args.n;" in text
    assert "mod_positive_i32(args.n, 9)" in text and "floor_div_i32(i, args.n)" in text


def test_what_is_behind_a_way_out_knows_why_nobody_left(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32):
        for i in a:
            if n < 1:
                continue
            a[i] = i % n

    assert "a(i) = i % args.n;" in lines(k, ARRAY, 5)


def test_a_condition_says_nothing_behind_its_branches(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32):
        for i in a:
            if n > 0:
                a[i] = i % n
            a[i] += i // n

    text = lines(k, ARRAY, 5)
    assert "i % args.n" in text and "floor_div_i32(i, args.n)" in text


def test_variables_have_what_their_stores_have_in_common(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32):
        for i in a:
            least, counted = 3, 3
            while a[i] > counted:
                least = i & 15
                counted += 1
                a[i] += least // 3 + counted // 3

    assert "least / 3" in (text := lines(k, ARRAY, 5)) and "floor_div_positive_i32(counted, 3)" in text


def test_variables_that_functions_change_are_unknown(lines):
    @ti.real_func
    def change(x: ti.ref(ti.i32)):
        x -= 6

    @ti.kernel
    def k(a: Array):
        for i in a:
            x = 3
            change(x)
            a[i] = x // 3

    assert "floor_div_positive_i32(x, 3)" in lines(k, ARRAY)


def test_narrow_and_unsigned_numbers_are_plain(lines):
    @ti.kernel
    def k(a: Array, b: ti.types.ndarray(ti.u8, 1), m: ti.u32, w: ti.i64):
        for i in b:
            b[i] = b[i] // ti.cast(3, ti.u8)
            a[i] = b[i] % 10 + m // 7 + ti.cast((w & 255) // 3, ti.i32)

    text = lines(k, ARRAY, np.zeros(100, np.uint8), 1, 2)
    assert all(part in text for part in ("b(i) /= 3;", "% 10", "args.m / 7u", "(args.w & 255ll) / 3ll"))


def test_vectors_are_divided_plainly(lines):
    @ti.kernel
    def k(a: ti.types.ndarray(ti.i32, 2)):
        for I in ti.grouped(a):
            J = I // 4
            a[J] = (I % 4).sum()

    text = lines(k, np.zeros((8, 8), np.int32))
    assert "ivec2 J = {I.x / 4, I.y / 4};" in text and "ivec2_plain_mod_vs(I, 4)" in text


def test_what_comes_out_one_way_is_decided(lines):
    @ti.kernel
    def k(a: Array):
        for i in range(10):
            if i >= 0 and i < 10:
                a[i] = ti.max(i, 0) + ti.min(i, 9) + abs(i) + (i & 15) + i % 10 + i // 10

    assert "a(i) = i + i + i + i + i;" in lines(k, ARRAY) and "if" not in lines(k, ARRAY)


def test_checks_that_cannot_fail_are_gone(lines):
    @ti.kernel
    def k(a: Array):
        for i in range(a.shape[0]):
            a[i] = a[(i + 1) % a.shape[0]] + a[ti.min(i + 1, a.shape[0] - 1)] + a[ti.max(i - 1, 0)] + a[i // 2]

    text = lines(k, ARRAY, debug=True)
    assert text.count("overflows") == 3 and "outside" not in text


def test_checks_that_may_fail_stay(lines):
    @ti.kernel
    def k(a: Array, n: ti.i32):
        for i in range(a.shape[0]):
            a[i] = a[i + 1]
            a[i] += a[i - 1]
            a[i] += a[n % a.shape[0] - 1]
            a[i] += a[i - n]

    assert lines(k, ARRAY, 1, debug=True).count("outside_1") == 4
