"""Pass `shared_rows`: rows of short numbers, and loops over parts of rows inside of another serial loop."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

REMARK = "(shared_rows)"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", ["i8", "u8", "i16", "u16", "f16"])
@pytest.mark.parametrize("length", [1, 15, 64, 130])
def test_rows_of_short_numbers(target: str, number: str, length: int) -> None:
    dtype = getattr(ti, number)
    q, out, x, y = (
        ti.field(dtype, (5, length)),
        ti.field(dtype, (5, length)),
        ti.field(ti.f32, length),
        ti.field(ti.f32, 5),
    )
    values = np.random.default_rng(length).integers(0 if number[0] == "u" else -9, 9, (5, length))
    q.from_numpy(values.astype(q.to_numpy().dtype))
    x.from_numpy(np.arange(length, dtype=np.float32))

    @ti.kernel
    def product():
        for i in y:
            s = 0.0
            for j in range(length):
                s += q[i, j] * x[j]
            y[i] = s
            for j in range(length):
                out[i, j] = ti.cast(q[i, j] + 1, dtype)

    product()
    np.testing.assert_array_equal(y.to_numpy(), values @ np.arange(length))
    np.testing.assert_array_equal(out.to_numpy(), (values + 1).astype(out.to_numpy().dtype))
    assert (REMARK in product.source(arch=ti.cuda)) == (length > 15)


Blocks, Numbers = ti.types.ndarray(ti.i32, 2), ti.types.ndarray(ti.i32, 1)
Weights, Plane, Line = ti.types.ndarray(ti.i8, 2), ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.f32, 1)


@ti.kernel
def quantized(size: ti.template(), q: Weights, scale: Plane, x: Line, y: Line):
    for i in y:
        total = 1.0
        for g in range(scale.shape[1]):
            part = 0.0
            for j in range(size):
                part += q[i, g * size + j] * x[g * size + j]
            total += part * scale[i, g]
        y[i] = total


@pytest.mark.parametrize("groups", [0, 1, 3])
@pytest.mark.parametrize(("rows", "size"), [(1, 16), (33, 17), (7, 64)])
def test_product_with_weights_in_groups(target: str, rows: int, size: int, groups: int) -> None:
    random = np.random.default_rng(size)
    q = random.integers(-9, 9, (rows, groups * size)).astype(np.int8)
    scale = random.integers(0, 9, (rows, groups)).astype(np.float32)
    x, y = random.integers(0, 9, groups * size).astype(np.float32), np.zeros(rows, np.float32)
    quantized(size, q, scale, x, y)
    np.testing.assert_array_equal(
        y, 1 + np.einsum("igj,gj,ig->i", q.reshape(rows, groups, size), x.reshape(-1, size), scale)
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", ["i32", "u32", "f32", "i64", "f64"])
@pytest.mark.parametrize("length", [16, 37, 64])
def test_what_is_joined_in_each_iteration_and_behind_all(target: str, number: str, length: int) -> None:
    dtype, counted = getattr(ti, number), ti.field(ti.i32, ())
    a, found = ti.field(dtype, (6, 3 * length)), ti.field(dtype, (6, 7))
    values = np.random.default_rng(length).integers(0, 9, (6, 3 * length))
    a.from_numpy(values.astype(a.to_numpy().dtype))

    @ti.kernel
    def sums():
        for i in range(6):
            whole, weighted, squares = ti.cast(2, dtype), ti.cast(0, dtype), ti.cast(0, dtype)
            least, greatest = ti.cast(100, dtype), ti.cast(-1 if ti.static(number != "u32") else 0, dtype)
            at = -1
            for g in range(3):
                part = ti.cast(0, dtype)
                for j in range(length):
                    whole += a[i, g * length + j]
                    part -= a[i, g * length + j]
                weighted -= part * (g + 1)
                other = ti.cast(3, dtype)
                for j in range(g * length, (g + 1) * length):
                    other += a[i, j]
                    least = ti.min(least, a[i, j])
                    if a[i, j] > greatest:
                        greatest = a[i, j]
                        at = j
                squares += other * other
                found[i, g] = other
                counted[None] += 1
            found[i, 3] = whole + weighted
            found[i, 4] = squares
            found[i, 5] = least * 100 + greatest
            found[i, 6] = ti.cast(at, dtype)

    sums()
    parts = values.reshape(6, 3, length).sum(2)
    expected = [*(parts + 3).T, 2 + parts.sum(1) + parts @ [1, 2, 3], ((parts + 3) ** 2).sum(1)]
    expected += [values.min(1) * 100 + values.max(1), values.argmax(1)]
    np.testing.assert_array_equal(found.to_numpy(), np.stack(expected, 1))
    assert counted[None] == 18 and REMARK in sums.source(arch=ti.cuda)
    if target == "vulkan":
        source = sums.source(arch=ti.vulkan)
        assert "whole += shuffle_xor(" in source and "other += shuffle_xor(" in source
        assert "part += shuffle_xor(" not in source


@pytest.mark.sampled(2, each="ends")
@pytest.mark.parametrize("rows", [1, 33])
@pytest.mark.parametrize("ends", ["", "break", "continue"])
def test_as_many_parts_as_each_row_has(target: str, rows: int, ends: str) -> None:
    """Blocks of a sparse matrix: where nothing is exchanged before the end, rows leave the outer loop when they like."""
    random = np.random.default_rng(rows)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 5, rows))]).astype(np.int32)
    blocks = max(int(starts[-1]), 1)
    a, x = random.integers(-9, 9, (blocks, 32)).astype(np.int32), np.arange(32, dtype=np.int32)
    y, count = np.zeros(rows, np.int32), np.zeros(rows, np.int32)

    @ti.kernel
    def product(starts: Numbers, a: Blocks, x: Numbers, y: Numbers, count: Numbers):
        for i in y:
            total = i
            for b in range(starts[i], starts[i + 1]):
                if a[b, 0] > 5:
                    count[i] += 1
                    if ti.static(ends == "break"):
                        break
                    if ti.static(ends == "continue"):
                        continue
                for k in range(32):
                    total += a[b, k] * x[k]
            y[i] = total

    product(starts, a, x, y, count)
    expected, counted = np.arange(rows, dtype=np.int32), np.zeros(rows, np.int32)
    for i in range(rows):
        for b in range(starts[i], starts[i + 1]):
            counted[i] += a[b, 0] > 5
            if a[b, 0] > 5 and ends == "break":
                break
            if a[b, 0] <= 5 or not ends:
                expected[i] += a[b] @ x
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(count, counted)
    assert REMARK in product.source(starts, a, x, y, count, arch=ti.cuda)


def test_elements_of_a_row_in_each_iteration(target: str) -> None:
    """A thread stores and loads the same elements each time."""
    a, y = ti.field(ti.i32, (5, 70)), ti.field(ti.i32, (5, 70))
    values = np.random.default_rng(1).integers(0, 9, (5, 70))
    a.from_numpy(values.astype(np.int32))

    @ti.kernel
    def repeat(n: ti.i32):
        for i in range(5):
            for _ in range(n):
                s = 0
                for j in range(70):
                    s += y[i, j] % 7
                for j in range(70):
                    y[i, j] += a[i, j] + s

    repeat(3)
    expected = np.zeros((5, 70), np.int32)
    for _ in range(3):
        expected += values + (expected % 7).sum(1, keepdims=True)
    np.testing.assert_array_equal(y.to_numpy(), expected)
    assert REMARK in repeat.source(3, arch=ti.cuda)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    arrays = [ti.ndarray(ti.i8, (4, 4)), *(ti.ndarray(ti.f32, shape) for shape in ((4, 4), 4, 4))]
    source = quantized.source(64, *arrays, arch=ti.cuda)
    assert "16 threads share a row" in source and "j < size; j += 16" in source
    loop, behind = source.split("        total += part * scale(i, g);")
    assert "__shfl" not in loop.split("__ballot")[0] and "total += __shfl_xor_sync(lanes, total, 1 << step)" in behind
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    assert REMARK not in quantized.source(64, *arrays, arch=ti.cuda)


def test_what_is_not_shared() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, y, n = ti.field(ti.f32, (64, 512)), ti.field(ti.f32, (64, 512)), ti.field(ti.i32, 64)

    @ti.kernel
    def others(case: ti.template()):
        for i in range(64):
            total = 0.0
            for g in range(8 if ti.static(case != 1) else n[i]):  # case 1: others leave the loop earlier
                part = 0.0
                for j in range(64):
                    part += a[i, g * 64 + j]
                    if ti.static(case == 2):  # elements of another thread in the next iteration
                        y[i, g + j] += 1.0
                if ti.static(case == 3):
                    if part > 100.0:
                        break
                if ti.static(case == 4):
                    if part > 100.0:
                        continue
                total += part * part
            y[i, 511] = total

    assert REMARK in others.source(0, arch=ti.cuda)
    for case in range(1, 5):
        assert REMARK not in others.source(case, arch=ti.cuda), case


def test_the_last_group_of_what_a_sum_was(target: str) -> None:
    values, scales = np.random.default_rng(3).integers(0, 4, (6, 5, 256)), np.arange(30.0).reshape(6, 5)
    a, scale, y = ti.field(ti.f32, values.shape), ti.field(ti.f32, scales.shape), ti.field(ti.f32, 6)
    a.from_numpy(values.astype(np.float32))
    scale.from_numpy(scales.astype(np.float32))

    @ti.kernel
    def sums():
        for i in y:
            total = 2.0
            if scale[i, 0] > 7:
                total = 3.0
            first = total
            for g in range(5):
                s = 0.0
                for j in range(256):
                    s += a[i, g, j]
                total = first + s * scale[i, g]
            y[i] = total

    sums()
    expected = np.where(scales[:, 0] > 7, 3, 2) + values[:, -1].sum(1) * scales[:, -1]
    np.testing.assert_array_equal(y.to_numpy(), expected)
