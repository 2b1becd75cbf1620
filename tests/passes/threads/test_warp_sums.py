"""Pass `warp_sums`: threads of a warp join what they add to one element; sums are right on every target."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

NOTE = "one thread adds what all of its warp have (warp_sums)"


def make(shape: tuple[int, ...], groups: int):
    """Return a kernel whose iterations all change the elements of some fields, and these fields."""
    x = ti.field(ti.f32, shape)
    x.from_numpy(np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32))
    total, count, least, most = (ti.field(kind, groups) for kind in (ti.f32, ti.u32, ti.i32, ti.i32))
    moment = ti.Vector.field(2, ti.f32, groups)
    matrix = ti.Matrix.field(2, 2, ti.i32, groups)

    @ti.kernel
    def change():
        for i, j in x:
            v = x[i, j]
            for g in range(groups):
                total[g] += v * (g + 1)
                if g % 2 == 0:
                    count[g] += ti.u32(4_000_000_000)  # wraps
                moment[g] -= ti.Vector([v, i])
                ti.atomic_min(least[g], i - g)
                ti.atomic_max(most[g], j * int(v))
                matrix[g] += ti.Matrix([[1, i], [j, g]])
                if v > 3:
                    total[g] += 1.0

    return change, (total, count, least, most, moment, matrix)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("groups", [0, 1, 5])
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (32, 32), (130, 3), (9, 96)])
def test_values(target: str, shape: tuple[int, ...], groups: int) -> None:
    results = []
    for arch in (target, "python"):
        ti.init(arch=getattr(ti, arch), log_level=ti.ERROR)
        change, fields = make(shape, max(groups, 1))
        change()
        results.append([field.to_numpy() for field in fields])
    for own, expected in zip(*results, strict=True):
        assert np.array_equal(own, expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [31, 64])
def test_lanes_that_differ_along_one_axis(target: str, width: int) -> None:
    """A warp is within a row where rows have whole warps."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    rows, w = ti.field(ti.f32, 40), ti.field(ti.f32, (3, 40))

    @ti.kernel
    def change():
        for i, j in ti.ndrange(40, width):
            for a in range(3):
                w[a, i] += j * (a + 1)
            rows[i] += 1.0 if j > 3 else 0.5

    change()
    if target == "cuda":
        assert ("reduce_add" in change.source()) == (width == 64)
    assert np.array_equal(rows.to_numpy(), np.full(40, width - 2.0, np.float32))
    assert np.array_equal(w.to_numpy()[2], np.full(40, 3.0 * width * (width - 1) / 2, np.float32))


@ti.kernel
def weights(x: ti.types.ndarray(ti.f32, 2), w: ti.types.ndarray(ti.f32, 1), b: ti.types.ndarray(ti.f32, 1)):
    for i, j in x:
        for k in range(w.shape[0]):
            w[k] += x[i, j] * k
        b[3] += 1.0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["i64", "u64"])
@pytest.mark.parametrize("width", [64, 70])
def test_keys_of_64_bits(target: str, kind: str, width: int) -> None:
    """The greatest distance with its index, in rows of whole warps; loops that also store elements of their own."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    number = getattr(ti, kind)
    x, most, least, total = (ti.field(number, shape) for shape in ((9, width), 9, 9, 9))
    numbers = np.random.default_rng(width).integers(-(2**62), 2**62, (9, width)).astype(x.to_numpy().dtype)
    x.from_numpy(numbers)

    @ti.kernel
    def find():
        for i, j in x:
            key = (x[i, j] >> 8 << 8) | ti.cast(j, number)
            x[i, j] = key
            ti.atomic_max(most[i], key)
            ti.atomic_min(least[i], key)
            total[i] += key

    if target == "cuda":
        assert (NOTE in find.source(arch=ti.cuda)) == (width == 64)
    find()
    keys = numbers >> 8 << 8 | np.arange(width).astype(numbers.dtype)
    assert np.array_equal(x.to_numpy(), keys)
    assert np.array_equal(most.to_numpy(), np.maximum(keys.max(1), 0))
    assert np.array_equal(least.to_numpy(), np.minimum(keys.min(1), 0))
    assert np.array_equal(total.to_numpy(), keys.sum(1))


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (4, 32), (7, 9)])
@pytest.mark.parametrize("overlap", [False, True])
def test_ndarrays(target: str, shape: tuple[int, int], overlap: bool) -> None:
    """Of those that overlap, no addition is left to another thread."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, w, b = np.ones(shape, np.float32), np.zeros(5, np.float32), np.zeros(5, np.float32)
    weights(x, w, w if overlap else b)
    expected = np.arange(5) * x.size + (overlap * x.size * (np.arange(5) == 3))
    assert np.array_equal(w, expected) and (overlap or b[3] == x.size)


def test_which_ndarrays_overlap() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    text = weights.source(*(ti.ndarray(ti.f32, shape) for shape in ((4, 4), 5, 5)), arch=ti.cuda)
    joined, single = text.split("task 1 of 2")
    assert "if w, x and b do not overlap" in joined and NOTE in joined
    assert "if w, x and b overlap" in single and NOTE not in single


def source(kernel, arch=ti.cuda) -> str:
    return kernel.source(arch=arch)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    text = source(make((64, 64), 5)[0])
    assert text.count(NOTE) == 2  # in the loop, and in the branch that all threads take
    assert "if (elect(0xffffffffu)) {" in text
    assert "float moment_x_sum = reduce_add(v)" in text
    assert "reduce_add(lanes, " in source(make((5, 7), 5)[0])
    assert "subgroupAdd(" in source(make((64, 64), 5)[0], ti.vulkan)
    assert NOTE not in source(make((64, 64), 5)[0], ti.x64)
    for options in ({"passes": "-warp_sums"}, {"debug": True}):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        assert NOTE not in source(make((64, 64), 5)[0])


def test_sums_of_floats_keep_their_order() -> None:
    for options in ({"fast_math": False}, {"deterministic": True}):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        text = source(make((64, 64), 5)[0])
        assert "float total_sum" not in text and "uint32_t count_sum" in text


def test_what_stays() -> None:
    """Other elements for each thread, results that are used, threads that left, elements that are read."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, h, at = ti.field(ti.i32, 4096), ti.field(ti.i32, 64), ti.field(ti.i32, 4096)

    @ti.kernel
    def own():
        for i in x:
            for g in range(64):
                h[(g + i) % 64] += 1

    @ti.kernel
    def results():
        for i in x:
            for g in range(64):
                at[i] += ti.atomic_add(h[g], 1)

    @ti.kernel
    def left():
        for i in x:
            if x[i] > 3:
                continue
            for g in range(64):
                h[g] += 1

    @ti.kernel
    def loop_left():
        for i in x:
            for g in range(64):
                if x[i] == g:
                    break
                h[g] += 1

    @ti.kernel
    def lengths():
        for i in x:
            for g in range(x[i]):
                h[g] += 1

    @ti.kernel
    def read():
        for i in x:
            for g in range(64):
                h[g] += 1
                x[i] += h[g]

    for kernel in (own, results, left, loop_left, lengths, read):
        assert NOTE not in source(kernel), kernel.__name__
