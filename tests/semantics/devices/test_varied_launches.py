"""Launches whose arguments and trip counts change: each computes with its own, however a target starts it."""

from __future__ import annotations

import random

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session

SIZES = (1, 7, 300)


@pytest.mark.parametrize("seed", range(3))
def test_random_launches(seed: int, target: str) -> None:
    """Two tasks, one task, and tasks of which some have no iterations; with and without a GPU that lags."""
    x = ti.field(ti.i32, 64)
    arrays = [ti.ndarray(ti.i32, size) for size in SIZES]
    expected_x, expected = np.zeros(64, np.int32), [np.zeros(size, np.int32) for size in SIZES]

    @ti.kernel
    def two(a: ti.types.ndarray(ti.i32, 1), k: ti.i32):
        for i in a:
            a[i] = a[i] * 3 + k
        for i in x:
            x[i] += a[0] + k * i

    @ti.kernel
    def one(a: ti.types.ndarray(ti.i32, 1), k: ti.i32):
        for i in a:
            a[i] ^= k + i

    @ti.kernel
    def some(n: ti.i32, m: ti.i32):
        for i in range(n):
            x[i] += m
        for i in range(m):
            x[i] *= 5

    dice = random.Random(seed)
    backlog = getattr(session.CURRENT.device, "backlog", None)  # type: ignore[union-attr]
    with np.errstate(over="ignore"):
        for _ in range(400):
            number, k, n, m = (
                dice.randrange(len(arrays)),
                dice.choice((1, 2, dice.randrange(99))),
                *dice.sample(range(9), 2),
            )
            kind = dice.randrange(3)
            if kind == 0:
                two(arrays[number], k)
                expected[number][:] = expected[number] * 3 + k
                expected_x += expected[number][0] + k * np.arange(64, dtype=np.int32)
            elif kind == 1:
                one(arrays[number], k)
                expected[number] ^= k + np.arange(len(expected[number]), dtype=np.int32)
            else:
                some(n, m)
                expected_x[:n] += m
                expected_x[:m] *= 5
            if backlog is not None and dice.random() < 0.1:
                backlog.is_long = not backlog.is_long
    assert (x.to_numpy() == expected_x).all()
    for found, wanted in zip(arrays, expected, strict=True):
        assert (found.to_numpy() == wanted).all()
