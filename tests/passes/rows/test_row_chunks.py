"""Passes `shared_rows` and `shared_columns`: chunks of a few long rows have blocks of their own."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.rows import shared_columns
from shadesmith.transpiler.passes.rows.parts import row_chunks, row_lengths

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the passes return at once


@pytest.fixture
def short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, values in (
        (row_chunks, {"LONG": 64, "SHORTEST": 32}),
        (row_lengths, {"LONG": 64, "ELEMENTS": 1}),
        (shared_columns, {"LONG": 1}),
    ):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("order", ["rows", "columns"])
def test_sums_and_extremes(target: str, order: str, short_is_long: None) -> None:
    """What a sum starts with is added once; a loop starts behind 0."""
    shape = (3, 4, 259) if order == "rows" else (4, 259, 3)
    x, scale, found = ti.field(ti.i32, shape), ti.field(ti.i32, 3), ti.field(ti.i32, (3, 3))
    values = np.arange(3 * 4 * 259, dtype=np.int32).reshape(shape) * 7919 % 1009
    x.from_numpy(values)
    scale.from_numpy(np.array([2, -3, 5], np.int32))

    @ti.kernel
    def reduce():
        for c in range(3):
            factor = scale[c]
            s, least, greatest = c + 7, 2000, 1000
            for n in range(4):
                for i in range(3, 259):
                    value = x[c, n, i] if ti.static(order == "rows") else x[n, i, c]
                    s -= value * factor
                    least = ti.min(least, value)
                    if i % 2 == 0:
                        greatest = ti.max(greatest, value + n)
            found[c, 0] = s
            found[c, 1] = least
            found[c, 2] = greatest

    reduce()
    own = np.moveaxis(values, 0 if order == "rows" else 2, 0)[:, :, 3:]
    sums = np.arange(3) + 7 - own.sum((1, 2)) * [2, -3, 5]
    even = (own + np.arange(4)[:, None])[:, :, 1::2]
    expected = np.stack([sums, own.min((1, 2)), np.maximum(1000, even.max((1, 2)))], 1)
    assert np.array_equal(found.to_numpy(), expected)
    source = reduce.source(arch=ti.cuda)
    assert f"chunks of each {order[:-1]}" in source and "s_of_chunks" in source and "greatest_of_chunks" in source


def test_which_rows_have_chunks() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    few, prime, many = ti.field(ti.f32, (66, 1 << 16)), ti.field(ti.f32, (3, 65537)), ti.field(ti.f32, (67, 1 << 16))
    y = ti.field(ti.f32, 67)

    @ti.kernel
    def sums(x: ti.template(), stores: ti.template()):
        for i in range(x.shape[0]):
            s = 0.0
            if ti.static(stores):
                y[i] = 0.0
            for k in range(x.shape[1]):
                s += x[i, k]
            y[i] = s

    assert "4 chunks of each row" in sums.source(few, False, arch=ti.cuda)
    for x, stores in ((prime, False), (many, False), (few, True)):
        assert "of_chunks" not in sums.source(x, stores, arch=ti.cuda)
