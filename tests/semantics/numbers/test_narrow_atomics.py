"""Atomic operations on 8 and 16 bits: many threads on one place, and beside it. Vulkan has none and says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

import shadesmith as ti

N = 1000
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


@pytest.mark.targets("cpu", "python", "cuda")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("name", ["i8", "u8", "i16", "u16"])
def test_many_threads_change_neighbours(target: str, name: str, op: str) -> None:
    if target == "vulkan":
        pytest.skip("has atomic operations of 32 and 64 bits")
    dtype = np.dtype({"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16}[name])
    x, change = ti.field(getattr(ti, name), 7), getattr(ti, f"atomic_{op}")
    start = np.array([1, 255, 3, 128, 90, 127, 77]).astype(dtype)
    x.from_numpy(start)

    @ti.kernel
    def f(y: ti.types.ndarray()):
        for i in range(N):
            change(x[i % 5], i * 37 + 1)  # an odd number among the five
            change(y[i % 3], i * 37 + 1)

    y = start[:3].copy()
    f(y)

    def wrap(number: int) -> int:
        return int(np.array(number & 0xFFFF).astype(np.uint16).astype(dtype))

    def folded(first: np.ndarray, place: int, places: int) -> int:
        values = (wrap(i * 37 + 1) for i in range(place, N, places))
        return reduce(lambda a, b: wrap(OPERATIONS[op](a, b)), values, int(first[place]))

    assert x.to_numpy().tolist() == [*(folded(start, k, 5) for k in range(5)), *start[5:].tolist()]
    assert y.tolist() == [folded(start, k, 3) for k in range(3)]


@pytest.mark.targets("cpu", "cuda", "python")
def test_truths_are_combined(target: str) -> None:
    if target == "vulkan":
        pytest.skip("has atomic operations of 32 and 64 bits")
    every, some = ti.field(ti.u1, 5), ti.field(ti.u1, 5)
    every.fill(1)

    @ti.kernel
    def f():
        for i in range(N):
            ti.atomic_and(every[i % 5], i != 503)
            ti.atomic_or(some[i % 5], i == 504)

    f()
    assert every.to_numpy().tolist() == [1, 1, 1, 0, 1] and some.to_numpy().tolist() == [0, 0, 0, 0, 1]


@pytest.mark.targets("cpu", "cuda", "python")
def test_the_old_value_is_returned_once(target: str) -> None:
    if target == "vulkan":
        pytest.skip("has atomic operations of 32 and 64 bits")
    count, seen = ti.field(ti.u8, 3), ti.field(ti.i32, 200)

    @ti.kernel
    def f():
        for i in seen:
            seen[ti.atomic_add(count[1], 1)] += 1

    f()
    assert count.to_numpy().tolist() == [0, 200, 0] and (seen.to_numpy() == 1).all()


@pytest.mark.parametrize("name", ["i8", "i16", "u8", "u16"])
@pytest.mark.targets("cpu", "cuda", "python")
def test_a_reduction_without_an_executed_iteration_changes_nothing(target: str, name: str) -> None:
    """Accumulators are wider: the neutral element is that of the narrow type."""
    if target == "vulkan":
        pytest.skip("has atomic operations of 32 and 64 bits")
    type = getattr(ti, name)
    least, most = ti.field(type, ()), ti.field(type, ())

    @ti.kernel
    def f(n: ti.i32, limit: ti.i32) -> type:
        found = ti.cast(9, type)
        for i in range(n):
            if i > limit:
                ti.atomic_min(least[None], ti.cast(i, type))
                ti.atomic_max(most[None], ti.cast(i, type))
                ti.atomic_min(found, ti.cast(i, type))
        return found

    signed = name.startswith("i")
    least[None], most[None] = 5, -7 if signed else 3
    assert f(300, 1000) == 9 and (least[None], most[None]) == (5, -7 if signed else 3)
    assert f(0, 0) == 9 and (least[None], most[None]) == (5, -7 if signed else 3)
    assert f(60, 1) == 2 and (least[None], most[None]) == (2, 59)
