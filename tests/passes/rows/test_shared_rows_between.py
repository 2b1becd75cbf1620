"""Pass `shared_rows`: what one of the threads that share a row does alone, as sums of the parallel loop and stores."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Plane, Line, Numbers = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.f32, 1), ti.types.ndarray(ti.i32, 1)
REMARK = "(shared_rows)"


@ti.kernel
def score(x: Plane, label: Numbers, grad: Plane) -> ti.f32:
    loss = 0.0
    for i in range(x.shape[0]):
        greatest, at = x[i, 0], 0
        for j in range(1, x.shape[1]):
            if x[i, j] > greatest:
                greatest = x[i, j]
                at = j
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
        loss += total - x[i, label[i]]
        if at == label[i]:
            loss += 1000.0
        for j in range(x.shape[1]):
            grad[i, j] = x[i, j] * 2 - total
    return loss


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 33), (5, 128), (3, 300), (133, 129)])
def test_sum_of_all_rows(target: str, shape: tuple[int, int]) -> None:
    random = np.random.default_rng(shape[0])
    x, label = random.integers(0, 9, shape).astype(np.float32), random.integers(0, shape[1], shape[0]).astype(np.int32)
    grad, rows = np.zeros(shape, np.float32), np.arange(shape[0])
    expected = x.sum() - x[rows, label].sum() + 1000 * np.sum(x.argmax(1) == label if shape[0] else 0)
    assert score(x, label, grad) == expected
    np.testing.assert_array_equal(grad, x * 2 - x.sum(1, keepdims=True))
    if target == "vulkan":
        source = score.source(x, label, grad, arch=ti.vulkan)
        assert "first += blocks * BLOCK" in source and "if (lane == 0) {\n        loss += total" in source


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("rows", "length"), [(1, 15), (1, 16), (4, 64), (33, 130), (4099, 20)])
@pytest.mark.parametrize("number", ["i32", "f32", "i64", "f64"])
def test_sums_that_each_thread_adds_to(target: str, number: str, rows: int, length: int) -> None:
    """What a row adds to a sum of all iterations needs no exchange between its threads."""
    dtype = getattr(ti, number)
    a, total, least, both = ti.field(dtype, (rows, length)), *(ti.field(dtype, ()) for _ in range(3))
    values = np.random.default_rng(rows).integers(-5, 6, (rows, length))
    a.from_numpy(values.astype(a.to_numpy().dtype))

    @ti.kernel
    def sums():
        for i in range(rows):
            s = ti.cast(0, dtype)
            for j in range(length):
                s += a[i, j]
                total[None] += a[i, j] * 2
                ti.atomic_min(least[None], a[i, j])
            both[None] += s

    sums()
    assert (total[None], least[None], both[None]) == (2 * values.sum(), min(0, values.min()), values.sum())
    source = sums.source(arch=ti.cuda)
    assert (REMARK in source) == (length > 15) and source.count("__shfl_xor_sync(0xffffffffu, s, ") < 6


@ti.kernel
def normalize(x: Line, starts: Numbers, mean: Line, y: Line):
    for g in mean:
        total = 0.0
        for k in range(starts[g], starts[g + 1]):
            total += x[k]
        total /= ti.max(starts[g + 1] - starts[g], 1)
        mean[g] = total
        for k in range(starts[g], starts[g + 1]):
            y[k] = x[k] - total


@pytest.mark.parametrize("rows", [0, 1, 3, 33, 131])
@pytest.mark.parametrize("in_place", [False, True])
def test_stores_between_rows(target: str, rows: int, in_place: bool) -> None:
    random = np.random.default_rng(rows)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 3, rows) * 4)]).astype(np.int32)
    x = random.integers(0, 9, max(int(starts[-1]), 1)).astype(np.float32)
    mean, y, expected = np.zeros(rows, np.float32), np.zeros_like(x), x.copy()
    means = [x[a:b].mean() if a < b else 0 for a, b in zip(starts, starts[1:], strict=False)]
    expected[: starts[-1]] -= np.repeat(means, np.diff(starts))
    y = x if in_place else y
    normalize(x, starts, mean, y)
    np.testing.assert_allclose(mean, means, rtol=1e-6)
    np.testing.assert_allclose(y[: starts[-1]], expected[: starts[-1]], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("at", [0, 5, 39])
def test_what_is_stored_between_rows_may_be_in_the_row(target: str, at: int) -> None:
    """Then a thread has the row alone, and loads the mean in place of an element."""
    starts, x, y = np.array([0, 40], np.int32), np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    expected = x - x.mean()
    expected[at] = 0
    normalize(x, starts, x[at : at + 1], y)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("length", [16, 33, 100])
def test_branches_between_rows(target: str, length: int) -> None:
    """In a branch all threads assign variables, and one stores; and what is stored before the first row."""
    a, y, kept = ti.field(ti.i32, (7, length)), ti.field(ti.i32, (7, length)), ti.field(ti.i32, (3, 7))
    count, values = ti.field(ti.i32, ()), np.random.default_rng(length).integers(0, 9, (7, length))
    a.from_numpy(values.astype(np.int32))

    @ti.kernel
    def rows():
        for i in range(7):
            kept[0, i] = i + 1
            s = 0
            for j in range(length):
                s += a[i, j]
            if s % 2 == 0:
                s += 3
                kept[1, i] += s
                s -= i
                if s > 50:
                    count[None] += s
            else:
                count[None] -= 1
            for j in range(length):
                y[i, j] = a[i, j] * s
            kept[2, i] = kept[1, i] + s

    rows()
    assert REMARK in rows.source(arch=ti.cuda)
    s = values.sum(1)
    even = s % 2 == 0
    after = np.where(even, s + 3 - np.arange(7), s)
    np.testing.assert_array_equal(y.to_numpy(), values * after[:, None])
    second = np.where(even, s + 3, 0)
    np.testing.assert_array_equal(kept.to_numpy(), np.stack([np.arange(7) + 1, second, second + after]))
    assert count[None] == after[even & (after > 50)].sum() - np.sum(~even)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.ndarray(ti.f32, (4, 4))
    source = score.source(x, ti.ndarray(ti.i32, 4), x, arch=ti.cuda)
    assert (
        "for (unsigned first = blockIdx.x * BLOCK; first < " in source and "unsigned lanes = __ballot_sync(" in source
    )
    assert "    if (lane == 0) {\n" in source and "loss += " in source.split("if (lane == 0) {")[1].split("    }\n")[0]
    line, numbers = ti.ndarray(ti.f32, 4), ti.ndarray(ti.i32, 4)
    source = normalize.source(line, numbers, line, line, arch=ti.cuda)
    assert "if (lane == 0) {\n        mean(g) = total;  // :" in source and "do not overlap" in source


def test_what_is_not_shared() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, b, line = ti.field(ti.f32, (64, 256)), ti.field(ti.f32, (64, 256)), ti.field(ti.f32, 64)
    table, total = ti.field(ti.i32, 16), ti.field(ti.f32, ())

    @ti.kernel
    def others(case: ti.template()):
        for i in range(64):
            s = 0.0
            for j in range(256):
                s += a[i, j]
                if ti.static(case == 1):  # one thread stores what others have loaded
                    s += line[i]
            if ti.static(case == 2):  # a result of an atomic operation
                s += ti.atomic_add(table[i % 16], 1)
            if ti.static(case == 3):  # one thread stores what others load
                b[i, 0] = s
            if ti.static(case < 2):
                line[i] = s
            for j in range(256):
                s += b[i, j]
            total[None] += s

    assert REMARK in others.source(0, arch=ti.cuda)
    for case in range(1, 4):
        assert REMARK not in others.source(case, arch=ti.cuda), case


def test_a_function_accesses_what_threads_of_a_row_store() -> None:
    """One thread would read elements that others have just stored, or store them, and none waits for another."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, b, line = ti.field(ti.f32, (64, 256)), ti.field(ti.f32, (64, 256)), ti.field(ti.f32, 64)

    @ti.real_func
    def last(i: ti.i32) -> ti.f32:
        return b[i, 255] * 2

    @ti.real_func
    def put(i: ti.i32, s: ti.f32) -> ti.f32:
        b[i, 3] = s
        return s

    @ti.kernel
    def rows(case: ti.template()):
        for i in range(64):
            s = 0.0
            for j in range(256):
                s += a[i, j]
                if ti.static(case > 0):
                    b[i, j] = a[i, j]
            line[i] = s + (put(i, s) if ti.static(case == 2) else last(i))

    assert REMARK in rows.source(0, arch=ti.cuda)
    for case in (1, 2):
        assert REMARK not in rows.source(case, arch=ti.cuda), case
