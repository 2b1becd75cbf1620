"""Checks in blocks of threads: a thread that fails one still comes to the barriers, so that no block hangs."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions


@pytest.fixture
def debug(target: str) -> str:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.WARN)
    return target


def test_index_outside_a_shared_array(debug: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1), shift: ti.i32):
        ti.loop_config(block_dim=16)
        for i in a:
            tile = ti.simt.block.SharedArray((4, 4), ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t // 4, t % 4] = a[i]
            ti.simt.block.sync()
            a[i] = tile[t // 4 + shift, t % 4]

    a = np.arange(40, dtype=np.int32)
    run(a, 0)
    ti.sync()
    assert a.tolist() == list(range(40))
    with pytest.raises(ti.TaichiAssertionError, match=r"shared array \(tile\) of size \(4, 4\) with indices \(4, "):
        run(a, 1)
        ti.sync()
    run(a, 0)
    ti.sync()


def test_failed_assert_before_a_barrier(debug: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=16)
        for i in a:
            tile = ti.simt.block.SharedArray(16, ti.i32)
            assert a[i] >= 0, "negative"
            tile[i % 16] = a[i]
            ti.simt.block.sync()
            a[i] = tile[15 - i % 16]

    a = np.arange(32, dtype=np.int32)
    run(a)
    ti.sync()
    a[5] = -1
    with pytest.raises(ti.TaichiAssertionError, match="negative"):
        run(a)
        ti.sync()
    assert sessions.CURRENT is not None


def test_print_in_blocks(debug: str, capfd: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def run(n: ti.i32):
        ti.loop_config(block_dim=4)
        for i in range(n):
            tile = ti.simt.block.SharedArray(4, ti.i32)
            tile[i % 4] = i * 10
            ti.simt.block.sync()
            if i == 2:
                print("first", tile[0], "mine", tile[2])

    run(6)
    ti.sync()
    assert capfd.readouterr().out == "first 0 mine 20\n"
