"""Whole numbers above i64's on their way from Python: NumPy joins them with smaller ones as f64, which rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

NUMBERS = [2**63 + 2**62 + 5, 3, 2**63 - 1, 2**64 - 6]
Numbers = ti.types.vector(4, ti.u64)
Pair = ti.types.struct(a=Numbers, b=ti.u64)


@pytest.mark.parametrize("make", [lambda: ti.Vector.field(4, ti.u64, shape=2), lambda: ti.Vector.ndarray(4, ti.u64, 2)])
def test_elements_are_stored_exactly(target: str, make: Callable[[], Any]) -> None:
    x = make()
    x[1] = NUMBERS
    assert x.to_numpy().tolist() == [[0] * 4, NUMBERS]
    x.fill(NUMBERS)
    assert x.to_numpy().tolist() == [NUMBERS] * 2


def test_rows_of_a_matrix_are_stored_exactly(target: str) -> None:
    x = ti.Matrix.field(2, 2, ti.u64, shape=())
    x[None] = [NUMBERS[:2], NUMBERS[2:]]
    assert x.to_numpy().ravel().tolist() == NUMBERS


@pytest.mark.parametrize("given", [NUMBERS, Numbers(NUMBERS), ti.Vector(NUMBERS, dt=ti.u64)])
def test_arguments_and_results_are_exact(target: str, given: Any) -> None:
    @ti.kernel
    def same(v: Numbers) -> Numbers:
        return v

    assert same(given).to_list() == NUMBERS


def test_members_of_structs_are_exact(target: str) -> None:
    x = Pair.field(shape=2)
    x[1] = Pair(a=NUMBERS, b=NUMBERS[0])
    assert x.a.to_numpy()[1].tolist() == NUMBERS
    assert x.b.to_numpy()[1] == NUMBERS[0]
    value = Pair(a=0, b=0)
    value.a = NUMBERS
    assert value.a.to_list() == NUMBERS


def test_a_large_whole_number_beside_a_fraction_stays_whole() -> None:
    assert ti.types.vector(2, ti.i64)([2**53 + 1, 0.5]).to_list() == [2**53 + 1, 0]
    assert ti.types.vector(2, ti.u64)(2**63 + 5, -1).to_list() == [2**63 + 5, 2**64 - 1]


def test_arrays_keep_numpys_types() -> None:
    assert ti.types.vector(2, ti.i32)(np.array([1.75, -1.75])).to_list() == [1, -1]
