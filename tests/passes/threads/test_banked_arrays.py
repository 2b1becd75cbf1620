"""Pass `banked_arrays`: local arrays at computed indices are columns of arrays in shared memory."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda", only=True)  # elsewhere the pass returns at once

NOTE = "in shared memory a thread's elements have a bank of their own (banked_arrays)"
N = 70


def numbers(n: int = N, length: int = 100):
    x, y = ti.field(ti.i32, (n, length)), ti.field(ti.i32, n)
    x.from_numpy(np.random.default_rng(1).integers(0, 1 << 20, (n, length)).astype(np.int32))
    return x, y


@pytest.mark.parametrize("n", [1, N])
def test_a_histogram_is_in_shared_memory(target: str, n: int) -> None:
    x, y = numbers(n)

    @ti.kernel
    def fullest():
        for i in range(n):
            bins = ti.Vector([0] * 64)
            for k in range(100):
                bins[x[i, k] & 63] += 1
            most = 0
            for b in range(64):
                most = ti.max(most, bins[b] * 64 + b)
            y[i] = most

    fullest()
    counts = np.array([np.bincount(row & 63, minlength=64) for row in x.to_numpy()])
    assert np.array_equal(y.to_numpy(), (counts * 64 + np.arange(64)).max(axis=1))
    assert NOTE in fullest.source()
    assert "int bins[64][BLOCK];" in fullest.source()


def test_blocks_are_smaller_for_large_arrays(target: str) -> None:
    x, y = numbers(50_000, 8)

    @ti.kernel
    def fullest(length: ti.i32):
        for i in range(50_000):
            bins = ti.Vector([1] * 64)
            for k in range(160):
                bins[x[i, k & 7] & 63] += k
            y[i] = bins[3]

    assert "#define BLOCK 64  // 16,384 bytes of local arrays (banked_arrays)" in fullest.source(8)


def test_matrices_and_numbers_that_differ_are_stored_first(target: str) -> None:
    x, y = numbers()

    @ti.kernel
    def shuffle() -> ti.i32:
        total = 0
        for i in range(N):
            order = ti.Vector([k * 3 % 16 for k in range(16)])
            table = ti.Matrix.zero(ti.i32, 4, 8)
            for k in range(100):
                to = x[i, k] & 15
                swapped = order[to]
                order[to] = order[k & 15]
                order[k & 15] = swapped
                table[to & 3, swapped & 7] += k
            for a, b in ti.ndrange(4, 8):
                y[i] = y[i] * 3 + table[a, b] + order[a * b & 15]
            total += order[5]
        return total

    total, expected, all_x = shuffle(), 0, x.to_numpy()
    for i in range(N):
        order, table = [k * 3 % 16 for k in range(16)], np.zeros((4, 8), np.int32)
        for k in range(100):
            to = all_x[i, k] & 15
            swapped = order[to]
            order[to], order[k & 15] = order[k & 15], swapped
            table[to & 3, swapped & 7] += k
        value = np.int32(0)
        with np.errstate(over="ignore"):
            for a, b in np.ndindex(4, 8):
                value = value * np.int32(3) + table[a, b] + np.int32(order[a * b & 15])
        assert y[i] == value
        expected += order[5]
    assert total == expected
    assert "int order[16][BLOCK];" in shuffle.source() and "int table[4][8][BLOCK];" in shuffle.source()


def test_an_array_of_each_iteration_of_a_loop_starts_anew(target: str) -> None:
    x, y = numbers()

    @ti.kernel
    def last():
        for i in range(N):
            for part in range(4):
                seen = ti.Vector([0] * 32)
                for k in range(25):
                    seen[x[i, part * 25 + k] & 31] += 1
                y[i] += seen[7]

    last()
    assert np.array_equal(y.to_numpy(), (x.to_numpy() & 31 == 7).sum(axis=1))
    assert NOTE in last.source()


def test_what_is_in_registers_long_or_common_stays(target: str) -> None:
    x, y = numbers()

    @ti.kernel
    def unrolled():
        for i in range(N):
            a = ti.Vector([0] * 16)
            for k in range(16):
                a[k] = x[i, k]
            for k in range(16):
                y[i] += a[15 - k] * k

    @ti.kernel
    def long():
        for i in range(N):
            a = ti.Vector([0] * 65)
            for k in range(100):
                a[x[i, k] & 63] += 1
            y[i] = a[3]

    @ti.kernel
    def common(n: ti.i32):
        for i in range(N):
            a = ti.Vector([0] * 40)
            for k in range(n):
                a[k] = x[i, k]
            for k in range(n):
                y[i] += a[n - 1 - k] * k

    @ti.kernel
    def whole():
        for i in range(N):
            a = ti.Vector([0] * 8)
            for k in range(100):
                a[x[i, k] & 7] += 1
            y[i] = (a * a).sum()

    @ti.kernel
    def short(n: ti.i32):
        for i in range(N):
            a = ti.Vector([0] * 64)
            for k in range(20):
                a[x[i, k] & 63] += 1
            y[i] = a[3]

    @ti.kernel
    def stack(n: ti.i32):
        for i in range(N):
            a = ti.Vector([0] * 32)
            top = 1
            while top > 0:
                top -= 1
                at = a[top]
                y[i] += x[i, at] + x[i, at + 1] * x[(i + 1) % N, at] + x[i, at // 2] * x[(i + at) % N, 3]
                if at < 40:
                    a[top] = 2 * at + 1
                    top += 1

    for kernel in (unrolled, long, whole):
        assert NOTE not in kernel.source()
    for kernel in (common, short, stack):
        assert NOTE not in kernel.source(20)


def test_partial_results_need_shared_memory_too(target: str) -> None:
    x, _ = numbers()

    @ti.kernel
    def most(is_sum: ti.template()) -> ti.i32:
        total = 0
        ti.loop_config(block_dim=1024)
        for i in range(N):
            bins = ti.Vector([0] * 12)
            for k in range(100):
                bins[x[i, k] % 12] += 1
            if ti.static(is_sum):
                total += bins[x[i, 0] % 12]
            else:
                x[i, 0] = bins[x[i, 0] % 12]
        return total

    assert NOTE in most.source(False, arch=ti.cuda)  # 48 KiB
    assert NOTE not in most.source(True, arch=ti.cuda)
