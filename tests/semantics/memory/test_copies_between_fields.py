"""`copy_from` between fields of every layout: split, dense, sparse, quantised, members of structs, several in one tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

N = 6


def dense() -> Any:
    return ti.field(ti.f32, N)


def neighbours() -> Any:
    """Another field is between the elements."""
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, N).place(x, y)
    return x


def sparse() -> Any:
    x = ti.field(ti.f32)
    ti.root.pointer(ti.i, 2).dense(ti.i, N // 2).place(x)
    return x


def member() -> Any:
    return ti.Struct.field({"a": ti.f32, "b": ti.f32}, shape=N).a


def lone_member() -> Any:
    return ti.Struct.field({"a": ti.f32}, shape=N).a


def component() -> Any:
    return ti.Vector.field(2, ti.f32, N, layout=ti.Layout.SOA).get_scalar_field(1)


def quantised() -> Any:
    x = ti.field(ti.types.quant.fixed(bits=16, max_value=32.0))
    ti.root.dense(ti.i, N // 2).quant_array(ti.i, 2, max_num_bits=32).place(x)
    return x


def doubles() -> Any:
    return ti.field(ti.f64, N)


KINDS: list[Callable[[], Any]] = [dense, neighbours, sparse, member, lone_member, component, quantised, doubles]


@pytest.fixture
def refusing(target: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Copies ask each device whether it can receive, as GPUs do."""
    device = dense().memory.session.device
    if not hasattr(device, "receive"):
        monkeypatch.setattr(device, "receive", lambda *arguments: False, raising=False)
    return target


def test_members_have_a_session_before_they_are_used(target: str) -> None:
    assert member().session is dense().session and lone_member().session is dense().session


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_numbers_go_to_fields_of_other_layouts(refusing: str, make: Callable[[], Any]) -> None:
    values = np.arange(N, dtype=np.float32) - 2
    for other in KINDS:
        source, target = make(), other()
        target.fill(1)
        target.copy_from(source)
        assert target.to_numpy().tolist() == [0] * N
        for k in range(N):
            source[k] = values[k]
        target.copy_from(source)
        assert np.abs(target.to_numpy() - values).max() < 2e-3, other
        assert np.abs(source.to_numpy() - values).max() < 2e-3, other


@pytest.mark.parametrize("kind", ["vectors", "structs"])
def test_elements_with_parts_go_to_split_fields_and_back(refusing: str, kind: str) -> None:
    def make(layout: Any) -> Any:
        if kind == "vectors":
            return ti.Vector.field(3, ti.f32, N, layout=layout)
        return ti.Struct.field({"a": ti.f32, "b": ti.i32}, shape=N, layout=layout)

    for one in (ti.Layout.SOA, ti.Layout.AOS):
        for two in (ti.Layout.SOA, ti.Layout.AOS):
            source, target = make(one), make(two)
            value = [1, 2, 3] if kind == "vectors" else {"a": 1.5, "b": 2}
            source.fill(value)
            target.copy_from(source)
            found = target[N - 1]
            assert (found.to_list() if kind == "vectors" else found.to_dict()) == value
