"""Passes `shared_rows` and `shared_columns`: threads share all iterations of nests of serial loops."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.rows import shared_rows
from shadesmith.transpiler.passes.rows.parts import row_lengths

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the passes return at once

Table, Planes = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.f32, 4)
Row = ti.types.ndarray(ti.f32, 1)
ONE_LOOP = "n, i and j are one loop, i and j one index: rows follow each other (shared_rows)"


@ti.kernel
def moments(x: Planes, weights: Table, mean: Row, greatest: Row):
    for c in mean:
        s, most = 2.0, -1e30
        for n in range(x.shape[0]):
            for i in range(x.shape[2]):
                for j in range(1, x.shape[3]):
                    s += x[n, c, i, j] * weights[n, j]
                    most = ti.max(most, x[n, c, i, j])
        mean[c] = s
        greatest[c] = most


@pytest.mark.parametrize("shape", [(3, 2, 5, 8), (0, 2, 3, 4), (2, 3, 4, 0), (2, 1, 1, 2), (40, 3, 9, 13)])
def test_moments_of_ndarrays(target: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch compares the number of iterations, of which none are left if an extent is 0."""
    monkeypatch.setattr(shared_rows, "LONG_OF_UNKNOWN", 64)
    x = np.random.default_rng(len(shape)).integers(-4, 5, shape).astype(np.float32)
    weights = np.arange(shape[0] * shape[3], dtype=np.float32).reshape(shape[0], shape[3]) % 3
    mean, greatest = np.zeros(shape[1], np.float32), np.zeros(shape[1], np.float32)
    moments(x, weights, mean, greatest)
    inside = x[..., 1:].transpose(1, 0, 2, 3)
    expected = (inside * weights[:, None, 1 : shape[3]]).sum((1, 2, 3), dtype=np.float32)
    assert np.array_equal(mean, 2 + expected)
    assert np.array_equal(greatest, inside.max((1, 2, 3), initial=-1e30))
    assert "n, i and j are one loop (shared_rows)" in moments.source(x, weights, mean, greatest, arch=ti.cuda)


@pytest.mark.parametrize("number", ["f32", "i64"])
def test_a_nest_that_stores(target: str, number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread stores what it has added up: both loops have the same elements for a thread, in place, too."""
    monkeypatch.setattr(row_lengths, "LONG", 256)
    dtype = getattr(ti, number)
    x, y = ti.field(dtype, (6, 3, 9, 11)), ti.field(dtype, (6, 3, 9, 11))
    values = np.random.default_rng(1).integers(-9, 9, (6, 3, 9, 11))
    x.from_numpy(values.astype(x.to_numpy().dtype))

    @ti.kernel
    def centre():
        for c in range(3):
            s = ti.cast(0, dtype)
            for n, i, j in ti.ndrange(6, 9, 11):
                x[n, c, i, j] += ti.cast(n, dtype)
                s += x[n, c, i, j]
            for n in range(6):
                for i in range(9):
                    for j in range(11):
                        y[n, c, i, j] = x[n, c, i, j] * 594 - s

    centre()
    added = values + np.arange(6)[:, None, None, None]
    assert np.array_equal(x.to_numpy(), added)
    assert np.array_equal(y.to_numpy(), added * 594 - added.sum((0, 2, 3), keepdims=True))
    source = centre.source(arch=ti.cuda)
    assert source.count(ONE_LOOP) == 2 and "x(n, c, 0, i_j)" in source and "atomicAdd" not in source


def test_the_gradient_of_moments(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_lengths, "LONG", 256)
    x, s = ti.field(ti.f32, (4, 2, 8, 9), needs_grad=True), ti.field(ti.f32, 2, needs_grad=True)
    values = np.random.default_rng(2).integers(-9, 9, (4, 2, 8, 9)).astype(np.float32)
    x.from_numpy(values)

    @ti.kernel
    def squares():
        for c in s:
            for n, i, j in ti.ndrange(4, 8, 9):
                s[c] += x[n, c, i, j] ** 2

    squares()
    s.grad.from_numpy(np.array([1, 3], np.float32))
    squares.grad()
    assert np.array_equal(s.to_numpy(), (values**2).sum((0, 2, 3)))
    assert np.array_equal(x.grad.to_numpy(), 2 * values * np.array([1, 3])[:, None, None])
    assert ONE_LOOP in squares.grad.source(arch=ti.cuda)


def test_columns(target: str) -> None:
    """Channels that come last: neighbouring threads read neighbours."""
    x, s = ti.field(ti.i32, (32, 8, 8, 5)), ti.field(ti.i32, 5)
    values = np.random.default_rng(3).integers(-99, 99, (32, 8, 8, 5)).astype(np.int32)
    x.from_numpy(values)

    @ti.kernel
    def sums():
        for c in s:
            total = c
            for n, i, j in ti.ndrange(32, 8, 8):
                total += x[n, i, j, c]
            s[c] = total

    sums()
    assert np.array_equal(s.to_numpy(), values.sum((0, 1, 2)) + np.arange(5))
    assert "x(0, 0, n_i_j, c)" in sums.source(arch=ti.cuda)


def test_which_nests_are_one_loop() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y, s = ti.field(ti.f32, (32, 64, 56, 56)), ti.field(ti.f32, (64, 64)), ti.field(ti.f32, (32, 64))
    total = ti.field(ti.f32, 64)

    @ti.kernel
    def case(number: ti.template()):
        if ti.static(number == 0):  # 2,048 of 3,136: a block each
            for n, c in s:
                for i, j in ti.ndrange(56, 56):
                    s[n, c] += x[n, c, i, j]
        if ti.static(number == 1):  # the inner loop ends at an index of the outer one
            for c in total:
                for i in range(56):
                    for j in range(i):
                        total[c] += x[0, c, i, j]
        if ti.static(number == 2):  # a number that the outer loop changes
            for c in total:
                for n in range(32):
                    t = 0.0
                    for i, j in ti.ndrange(56, 56):
                        t = ti.max(t, x[n, c, i, j])
                    total[c] = total[c] * 0.5 + t
        if ti.static(number == 3):  # nothing is read along a row of an iteration's own
            for c in total:
                for i, j in ti.ndrange(64, 64):
                    total[c] += y[i, j]

    sources = [case.source(number, arch=ti.cuda) for number in range(4)]
    assert "i and j are one index: rows follow each other (shared_rows)" in sources[0]
    assert not any("are one loop" in source for source in sources[1:])
    assert "are one index" not in sources[1] + sources[3]
    for options in ({"fast_math": False}, {"passes": "-shared_rows"}, {"deterministic": True}):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        assert "one index" not in case.source(0, arch=ti.cuda)


def test_groups_of_channels_in_place(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outermost loop starts at a multiple of the iteration's index; both nests have the same elements of a thread."""
    monkeypatch.setattr(row_lengths, "LONG", 64)
    x = ti.field(ti.i32, (3, 6, 5, 7))
    values = np.random.default_rng(5).integers(-99, 99, (3, 6, 5, 7)).astype(np.int32)
    x.from_numpy(values)

    @ti.kernel
    def centre():
        for n, g in ti.ndrange(3, 2):
            s = 0
            for c in range(g * 3, (g + 1) * 3):
                for i, j in ti.ndrange(5, 7):
                    s += x[n, c, i, j] * (c + 1)
            for c in range(g * 3, g * 3 + 3):
                for i, j in ti.ndrange(5, 7):
                    x[n, c, i, j] = x[n, c, i, j] - s

    centre()
    weighted = values * np.arange(1, 7)[:, None, None]
    sums = weighted.reshape(3, 2, 3, 5, 7).sum((2, 3, 4))
    assert np.array_equal(x.to_numpy(), values - np.repeat(sums, 3, 1)[:, :, None, None])
    source = centre.source(arch=ti.cuda)
    assert source.count("c = g * 3 + offset") == 2 and "atomicAdd" not in source


def test_elements_that_several_iterations_have(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two iterations of a nest may store to one element: a thread has the nest alone."""
    monkeypatch.setattr(row_lengths, "LONG", 64)
    x, y, at = ti.field(ti.i32, (3, 8, 16)), ti.field(ti.i32, (3, 8, 31)), ti.field(ti.i32, 16)
    at.from_numpy(np.arange(16, dtype=np.int32)[::-1] // 2)

    @ti.kernel
    def scatter(case: ti.template()):
        for c in range(3):
            for i, j in ti.ndrange(8, 16):
                if ti.static(case == 0):
                    y[c, i, j + at[j]] = x[c, i, j] + i * 16 + j
                if ti.static(case == 1):
                    y[c, 0, j] = x[c, i, j] + i * 16 + j

    for case in (0, 1):
        scatter(case)
        assert "share a row" not in scatter.source(case, arch=ti.cuda)
    assert y[2, 7, 8] == 7 * 16 + 2 and y[1, 0, 5] == 7 * 16 + 5
