"""Pass `shared_rows`: threads that share a row find its two greatest or least elements, as ratio tests and auctions do."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

EXCHANGE = "the threads of a row compare what they have found (shared_rows)"
ROWS = 12


def rows_of(length: int, kind: str) -> np.ndarray:
    """Return rows with many equal elements, one with equal ones alone, and of floats with NaN and zeros of both signs."""
    random = np.random.default_rng(length)
    a = random.integers(0, 4, (ROWS, length)).astype(np.int32 if kind == "i32" else np.float32)
    a[0] = 1
    a[1], a[2] = np.sort(a[1]), np.sort(a[2])[::-1]
    if kind == "f32":
        a[3, ::3], a[4], a[5] = np.nan, np.nan, np.where(random.random(length) < 0.5, 0.0, -0.0)
        a[6], a[7, length // 2] = -np.inf, np.inf
    return a


COMPARED = {">": operator.gt, ">=": operator.ge, "<": operator.lt}


def best_two(row: np.ndarray, start: float, at: int, op: str = ">") -> list[object]:
    """Return what a plain loop finds: both elements, then their places."""
    (first, place), (second, other), is_better = (start, at), (start, at), COMPARED[op]
    for j, element in enumerate(row.tolist()):
        if is_better(element, first):
            second, other, first, place = first, place, element, j
        elif is_better(element, second):
            second, other = element, j
    return [first, second, place, other]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["i32", "f32"])
@pytest.mark.parametrize("length", [0, 1, 2, 33, 131])
def test_with_both_places(target: str, kind: str, length: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    number = getattr(ti, kind)

    @ti.kernel
    def find(a: ti.types.ndarray(number, 2), found: ti.types.ndarray(number, 2), at: ti.types.ndarray(ti.i32, 2)):
        for i in range(found.shape[0]):
            b1, b2 = ti.cast(0, number), ti.cast(0, number)
            at1, at2 = -1, -1
            for j in range(a.shape[1]):
                v = a[i, j]
                if v > b1:
                    b2, at2 = b1, at1
                    b1, at1 = v, j
                elif b2 < v:
                    b2, at2 = v, j
            found[i, 0], found[i, 1], at[i, 0], at[i, 1] = b1, b2, at1, at2

    a = rows_of(length + 1, kind)[:, :length].copy()
    found, at = np.zeros((ROWS, 2), a.dtype), np.zeros((ROWS, 2), np.int32)
    find(a, found, at)
    assert np.concatenate([found, at], 1).tolist() == [best_two(row, 0, -1) for row in a]
    assert EXCHANGE in find.source(a, found, at, arch=ti.cuda)


@pytest.mark.parametrize("op", [">", ">=", "<"])
def test_without_the_second_place(target: str, op: str) -> None:
    """Integers may wrap around, and lower numbers than the first ones leave these."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    a, gap, at = ti.field(ti.i32, (ROWS, 64)), ti.field(ti.i32, (ROWS, 2)), ti.field(ti.i32, ROWS)
    numbers = np.random.default_rng(1).integers(-(2**31), 2**31, (ROWS, 64)).astype(np.int32)
    numbers[0], numbers[1, ::2] = 3, 3
    a.from_numpy(numbers)

    @ti.kernel
    def find():
        for i in at:
            b1, b2, best = 3, 3, 64
            for j in range(64):
                v = a[i, j] + 1
                if ti.static(op == ">"):
                    if v > b1:
                        b2 = b1
                        b1 = v
                        best = j
                    elif v >= b2:
                        b2 = v
                elif ti.static(op == ">="):
                    if b1 <= v:
                        b2 = b1
                        b1 = v
                        best = j
                    elif v > b2:
                        b2 = v
                else:
                    if v < b1:
                        b2 = b1
                        b1 = v
                        best = j
                    elif v < b2:
                        b2 = v
            gap[i, 0], gap[i, 1], at[i] = b1, b2, best

    find()
    expected = np.array([best_two(row + np.int32(1), 3, 64, op) for row in numbers])
    assert np.array_equal(np.c_[gap.to_numpy(), at.to_numpy()], expected[:, :3])
    assert EXCHANGE in find.source(arch=ti.cuda)


@pytest.mark.parametrize("reason", ["starts", "the other place", "another element", "signs of zeros"])
def test_others_are_not_shared(reason: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=reason != "signs of zeros")
    a, gap, at = ti.field(ti.f32, (ROWS, 64)), ti.field(ti.f32, ROWS), ti.field(ti.i32, ROWS)

    @ti.kernel
    def find():
        for i in at:
            b1, b2 = -1.0, (-2.0 if ti.static(reason == "starts") else -1.0)
            at1, at2 = 0, 0
            for j in range(64):
                if a[i, j] > b1:
                    b2 = b1
                    b1 = a[i, j]
                    if ti.static(reason == "the other place"):
                        at2 = j
                    at1 = j
                elif a[i, j] > b2:
                    b2 = a[i, j] + 1 if ti.static(reason == "another element") else a[i, j]
                    if ti.static(reason == "the other place"):
                        at2 = j
            gap[i], at[i] = b1 - b2, at1 + at2

    assert EXCHANGE not in find.source(arch=ti.cuda)
