"""Pass `shared_rows`: rows whose elements are taken apart by a loop inside, as words by their bits."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

WORDS = ti.types.ndarray(dtype=ti.u32, ndim=2)
NOTE = "32 threads share a row and read neighbours together (shared_rows)"


def words(rows: int, count: int) -> tuple[np.ndarray, ti.Ndarray]:
    numbers = np.random.default_rng(count).integers(0, 1 << 32, (rows, count), dtype=np.uint32)
    array = ti.ndarray(ti.u32, numbers.shape)
    array.from_numpy(numbers)
    return numbers, array


def pairs_of(numbers: np.ndarray) -> np.ndarray:
    """Return the 16 pairs of bits of each word."""
    shifted = numbers[..., None] >> (2 * np.arange(16, dtype=np.uint32))
    return (shifted & 3).reshape(len(numbers), -1).astype(np.int64)


@pytest.mark.parametrize(("rows", "count", "is_static"), [(5, 128, False), (70, 130, False), (5, 128, True)])
def test_sums_over_pairs_of_bits(target: str, rows: int, count: int, is_static: bool) -> None:
    weights = ti.field(ti.f32, count * 16)
    weights.from_numpy((np.arange(count * 16) % 8).astype(np.float32))
    total, known = ti.field(ti.f32, rows), ti.field(ti.i32, rows)

    @ti.kernel
    def score(g: WORDS):
        for s in total:
            t, n = 0.0, 0
            for w in range(count):
                word = g[s, w]
                for b in ti.static(range(16)) if ti.static(is_static) else range(16):
                    v = ti.cast((word >> (2 * b)) & 3, ti.i32)
                    if v != 3:
                        t += v * weights[w * 16 + b]
                        n += 1
            total[s], known[s] = t, n

    numbers, array = words(rows, count)
    score(array)
    values = pairs_of(numbers)
    values_known = np.where(values == 3, 0, values)
    np.testing.assert_allclose(total.to_numpy(), values_known @ weights.to_numpy().astype(np.float64), rtol=1e-5)
    assert known.to_numpy().tolist() == (values != 3).sum(axis=1).tolist()
    assert NOTE in score.source(array, arch=ti.cuda)


def test_places_of_extremes(target: str) -> None:
    rows, count = 6, 128
    best, at = ti.field(ti.i32, rows), ti.field(ti.i32, rows)

    @ti.kernel
    def find(g: WORDS):
        for s in best:
            most, place = -1, -1
            for w in range(count):
                for b in range(4):
                    v = ti.cast((g[s, w] >> (8 * b)) & 255, ti.i32)
                    if v > most:
                        most = v
                        place = w * 4 + b
            best[s], at[s] = most, place

    numbers, array = words(rows, count)
    find(array)
    values = numbers.view(np.uint8).reshape(rows, -1)
    assert best.to_numpy().tolist() == values.max(axis=1).tolist()
    assert at.to_numpy().tolist() == values.argmax(axis=1).tolist()


def test_stores_in_the_inner_loop(target: str) -> None:
    """Of own elements, of those that the next words have, too, of overlapping ones, and of elements that are read again."""
    rows, count = 6, 128
    last, unpacked = ti.field(ti.i32, (rows, 4)), ti.field(ti.i32, (rows, count * 4))
    sums, over = ti.field(ti.i32, (rows, count)), ti.field(ti.i32, (rows, count + 3))

    @ti.kernel
    def unpack(g: WORDS):
        for s in range(rows):
            for w in range(count):
                for b in range(4):
                    v = ti.cast((g[s, w] >> (8 * b)) & 255, ti.i32)
                    last[s, b] = v
                    unpacked[s, w * 4 + b] = v
                    over[s, w + b] = v

    @ti.kernel
    def overlap(g: WORDS):
        for s in range(rows):
            for w in range(count):
                for b in range(4):
                    over[s, w + b] = ti.cast((g[s, w] >> (8 * b)) & 255, ti.i32)

    @ti.kernel
    def sum_up(g: WORDS):
        for s in range(rows):
            for w in range(count):
                t = 0
                for b in range(4):
                    v = ti.cast((g[s, w] >> (8 * b)) & 255, ti.i32)
                    t += v
                    sums[s, w] = t

    @ti.kernel
    def running(g: WORDS):
        for s in range(rows):
            t = 0
            for w in range(count):
                for b in range(4):
                    t += ti.cast((g[s, w] >> (8 * b)) & 255, ti.i32)
                    sums[s, w] = t

    numbers, array = words(rows, count)
    values = numbers.view(np.uint8).reshape(rows, count, 4).astype(np.int64)
    unpack(array)
    sum_up(array)
    expected = np.zeros((rows, count + 3), np.int64)
    for w in range(count):
        expected[:, w : w + 4] = values[:, w]
    assert over.to_numpy().tolist() == expected.tolist()
    over.fill(0)
    overlap(array)
    assert over.to_numpy().tolist() == expected.tolist()
    assert last.to_numpy().tolist() == values[:, -1].tolist()
    assert unpacked.to_numpy().tolist() == values.reshape(rows, -1).tolist()
    assert sums.to_numpy().tolist() == values.sum(axis=2).tolist()
    running(array)
    assert sums.to_numpy().tolist() == values.sum(axis=2).cumsum(axis=1).tolist()


def test_counts_of_bytes(target: str) -> None:
    rows, count = 6, 128
    bins = ti.field(ti.i32, (rows, 16))

    @ti.kernel
    def tally(g: WORDS):
        for s in range(rows):
            for w in range(count):
                for b in range(8):
                    bins[s, ti.cast((g[s, w] >> (4 * b)) & 15, ti.i32)] += 1

    numbers, array = words(rows, count)
    tally(array)
    nibbles = ((numbers[..., None] >> (4 * np.arange(8, dtype=np.uint32))) & 15).reshape(rows, -1)
    assert bins.to_numpy().tolist() == [np.bincount(row, minlength=16).tolist() for row in nibbles]


@pytest.mark.parametrize("kind", ["far", "long", "break"])
def test_other_loops_inside_stay(target: str, kind: str) -> None:
    """What is far away for the next element, long loops, and loops that end early."""
    rows, count = 6, 128
    table, total = ti.field(ti.i32, (count, 64)), ti.field(ti.i32, rows)
    table.from_numpy((np.arange(count * 64) % 11).astype(np.int32).reshape(count, 64))
    inner = 64 if kind == "long" else 16

    @ti.kernel
    def add(g: WORDS):
        for s in total:
            t = 0
            for w in range(count):
                for b in range(inner):
                    if ti.static(kind == "break"):
                        if ((g[s, w] >> b) & 1) == 1:
                            break
                        t += 1
                    elif ti.static(kind == "far"):
                        t += ti.cast(g[s, w] & 3, ti.i32) * table[w, b]
                    else:
                        t += ti.cast((g[s, w] >> (b % 32)) & 1, ti.i32)
            total[s] = t

    numbers, array = words(rows, count)
    add(array)
    if kind == "far":
        expected = (numbers & 3).astype(np.int64) @ table.to_numpy()[:, :16].sum(axis=1)
    else:
        bits = (numbers[..., None] >> (np.arange(inner, dtype=np.uint32) % 32)) & 1
        expected = (bits if kind == "long" else 1 - np.minimum(bits.cumsum(axis=2), 1)).sum(axis=(1, 2))
    assert total.to_numpy().tolist() == expected.tolist()
    assert "(shared_rows)" not in add.source(array, arch=ti.cuda)
