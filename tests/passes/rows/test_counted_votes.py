"""Pass `block_scans`: sums of truths by votes of the threads of a warp, and rows that have a warp each."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

MODULE = sys.modules["shadesmith.transpiler.passes.rows.block_scans"]


@pytest.fixture
def _many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few rows keep all threads busy."""
    monkeypatch.setattr(MODULE, "ALL_THREADS", 1)


@pytest.mark.usefixtures("_many_rows")
@pytest.mark.parametrize(("rows", "n"), [(5, 128), (8, 135)])
def test_starts_of_lines(target: str, rows: int, n: int) -> None:
    """A warp a row, without shared memory: 5 rows do not fill the last block of 4 warps, 135 bytes not the last step."""
    text = np.random.default_rng(n).integers(8, 12, rows * n).astype(np.uint8)
    counts = (text.reshape(rows, n) == 10).sum(1)
    s, first, start = ti.field(ti.u8, rows * n), ti.field(ti.i32, rows), ti.field(ti.i32, rows * n)
    s.from_numpy(text)
    first.from_numpy((np.cumsum(counts) - counts).astype(np.int32))

    @ti.kernel
    def scan():
        for r in range(rows):
            k = first[r]
            for i in range(n):
                if s[r * n + i] == 10:
                    start[k] = r * n + i + 1
                    k += 1

    scan()
    assert np.array_equal(start.to_numpy()[: counts.sum()], np.flatnonzero(text == 10) + 1)
    source = scan.source(arch=ti.cuda)
    assert "// 32 iterations at a time" in source and "__popc(votes & below)" in source
    assert "__shfl" not in source and "__syncthreads" not in source


@pytest.mark.usefixtures("_many_rows")
def test_sums_and_counts_of_a_warp(target: str) -> None:
    """Sums need exchanges. Other loops of the row, and stores before and behind them, are of the warp, too."""
    values = np.random.default_rng(1).integers(-9, 9, (5, 200)).astype(np.int32)
    a, p, c, ends = (
        ti.field(ti.i32, (5, 200)),
        ti.field(ti.i32, (5, 200)),
        ti.field(ti.i64, (5, 200)),
        ti.field(ti.i32, 5),
    )
    a.from_numpy(values)

    @ti.kernel
    def scan():
        for r in range(5):
            most = -100
            for i in range(200):
                most = ti.max(most, a[r, i])
            ends[r] = most
            s, count = 0, ti.i64(7)
            for i in range(200):
                p[r, i] = s + ends[r]
                s += a[r, i]
                count += ti.cast(a[r, i] > 2, ti.i64)
                c[r, i] = count
            ends[r] += s

    scan()
    sums, most = values.cumsum(1), values.max(1)
    assert np.array_equal(p.to_numpy(), sums - values + most[:, None])
    assert np.array_equal(c.to_numpy(), 7 + (values > 2).cumsum(1)) and np.array_equal(
        ends.to_numpy(), most + sums[:, -1]
    )
    source = scan.source(arch=ti.cuda)
    assert "// 32 iterations at a time" in source and "exclusive_add" in source and "__popc(votes & below)" in source
    assert "__syncwarp" in source and "__syncthreads" not in source


def test_votes_of_a_block(target: str) -> None:
    """Of each warp one thread stores the count in shared memory. What is not added counts as 0, whatever the number is."""
    values = (np.arange(3000) * 7 % 11).astype(np.int32)
    a, even, total = ti.field(ti.i32, 3000), ti.field(ti.i32, 3000), ti.field(ti.i32, ())
    a.from_numpy(values)

    @ti.kernel
    def scan():
        s = 5
        ti.loop_config(serialize=True)
        for i in range(3000):
            even[i] = s
            s += ti.select(a[i] > 4, -3, 0)
        total[None] = s

    scan()
    terms = np.where(values > 4, -3, 0)
    assert np.array_equal(even.to_numpy(), 5 + terms.cumsum() - terms) and total[None] == 5 + terms.sum()
    source = scan.source(arch=ti.cuda)
    assert "__popc(votes & below) * -3" in source and "exclusive_add" not in source
