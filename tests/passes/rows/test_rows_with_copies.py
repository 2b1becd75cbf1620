"""Pass `shared_rows` where `block_sums` has made copies: the first thread of a row adds to that of its block."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere both passes return at once


@pytest.mark.parametrize("number", ["i32", "f32"])
def test_rows_that_add_to_few(target: str, number: str) -> None:
    """16,385 rows: the last ones share a block with threads that have none. Elements of rows add to copies, too."""
    rows, length, dtype = 16385, 17, getattr(ti, number)
    a, label = ti.field(dtype, (rows, length)), ti.field(ti.i32, rows)
    totals, counts = ti.field(dtype, 10), ti.field(ti.i32, 5)
    values, labels = np.arange(rows * length).reshape(rows, length) * 7 % 5, np.arange(rows) * 3 % 10
    a.from_numpy(values.astype(a.to_numpy().dtype))
    label.from_numpy(labels.astype(np.int32))

    @ti.kernel
    def add():
        for i in range(rows):
            s = ti.cast(1, dtype)
            for k in range(length):
                s += a[i, k]
                counts[ti.cast(a[i, k], ti.i32)] += 1
            totals[label[i]] += s

    add()
    sums = 1 + values.sum(1)
    assert totals.to_numpy().tolist() == [sums[labels == k].sum() for k in range(10)]
    assert counts.to_numpy().tolist() == np.bincount(values.ravel()).tolist()
    source = add.source(arch=ti.cuda)
    assert "threads share a row" in source and source.count("to the block's copy (block_sums)") == 2
    assert "if (lane == 0) {" in source
