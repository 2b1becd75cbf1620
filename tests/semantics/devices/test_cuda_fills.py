"""What fills ask of CUDA's driver, seen by functions in its place."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.cuda import fills


@pytest.fixture
def told(monkeypatch):
    calls = []

    def memset(name):
        def called(*arguments):
            calls.append((name, *arguments))
            return 0

        return called

    library = SimpleNamespace(**{name: memset(name) for name, _ in fills.WORDS.values()})
    monkeypatch.setattr(fills.ctypes, "CDLL", lambda name: library)
    fills._function.cache_clear()
    yield calls
    fills._function.cache_clear()


def test_the_driver_repeats_words(told):
    assert fills.fill_words(4096, struct.pack("<f", 1.5), 4 * 9, 7) == 0
    assert fills.fill_words(4096, b"\x01\x02", 2 * 5, 0) == 0
    assert told == [("cuMemsetD32Async", 4096, 0x3FC00000, 9, 7), ("cuMemsetD16Async", 4096, 0x0201, 5, 0)]


@pytest.mark.parametrize("dtype, value", [(ti.f32, 1.5), (ti.f16, 1.5), (ti.f64, 1.5), (ti.i8, 3), (ti.i64, -2)])
def test_a_fill_between_launches_is_in_order(target: str, dtype: object, value: float) -> None:
    x = ti.field(dtype, 5)

    @ti.kernel
    def double():
        for i in x:
            x[i] += x[i]

    double()
    x.fill(value)
    double()
    assert x.to_numpy().tolist() == np.full(5, 2 * value).tolist()
