"""Warnings about what is legal and probably not meant: many copies, rounded literals, options without effect."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import shadesmith as ti


@pytest.fixture(autouse=True)
def session() -> None:
    ti.init(arch=ti.python, log_level="error")


def warned(launch: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        launch()
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(("inner", "is_warned"), [(9, True), (8, False)])
def test_many_copies_of_a_body_warn(inner: int, is_warned: bool) -> None:
    x = ti.field(ti.f64, 4)
    outer_values, inner_values = [1, 2.5] * 16, [1, 2.5, 3.0] * 3

    @ti.kernel
    def copies():
        for a in ti.static(outer_values):
            for b in ti.static(inner_values[:inner]):
                x[0] += a * b

    found = [message for message in warned(copies) if "copies of this body" in message]
    assert len(found) == is_warned and all("make 288 copies" in message for message in found)


@pytest.mark.parametrize("default", [ti.f32, ti.f64])
def test_a_literal_that_loses_digits_warns_once(default: Any) -> None:
    ti.init(arch=ti.python, default_fp=default, log_level="error")
    x = ti.field(ti.f64, 4)

    @ti.kernel
    def rounded(v: ti.f64):
        x[0] = v * 0.1
        x[1] = 0.2

    found = warned(lambda: rounded(1.0))
    assert [message.splitlines()[-2] for message in found] == (
        ["0.1 is an f32 here and becomes 0.10000000149011612 in f64"] if default == ti.f32 else []
    )


def test_exact_literals_and_explicit_types_do_not_warn() -> None:
    x, s = ti.field(ti.f64, 4), ti.field(ti.f32, 4)

    @ti.kernel
    def exact(v: ti.f64):
        x[0] = v * 0.5 + 2.0 + v * ti.f64(0.1)
        x[1] = ti.f64(0.1)
        x[2] = ti.math.inf
        s[0] = 0.1 * s[1]

    assert warned(lambda: exact(1.0)) == []


def test_options_without_effect_are_named() -> None:
    (message,) = warned(lambda: ti.init(arch=ti.python, log_level="error", gpu_max_reg=32, verbose=False))
    assert "gpu_max_reg" in message and "verbose" not in message
    assert warned(lambda: ti.init(arch=ti.python, log_level="error", gpu_max_reg=0)) == []
