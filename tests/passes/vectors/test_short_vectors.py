"""Pass `short_vectors`: sums of elements at indices that are loaded, in C."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

NOTE = "SHORT_VECTORS void"
Numbers = ti.types.ndarray(dtype=ti.i32, ndim=1)
Floats = ti.types.ndarray(dtype=ti.f32, ndim=1)
AnyNumbers = ti.types.ndarray(ndim=1)


@ti.kernel
def product(starts: Numbers, columns: Numbers, values: Floats, x: Floats, y: Floats):
    for i in y:
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s


@ti.kernel
def of_the_row(starts: Numbers, columns: Numbers, values: Floats, x: Floats, y: Floats):
    for i in y:
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[i]]
        y[i] = s


@ti.kernel
def scattered(starts: Numbers, columns: Numbers, values: Floats, x: Floats, y: Floats):
    for i in y:
        for k in range(starts[i], starts[i + 1]):
            x[columns[k]] = values[k]
        y[i] = 1.0


@pytest.mark.parametrize("rows", [0, 1, 70])
@pytest.mark.parametrize("passes", ["", "-short_vectors"])
def test_rows_of_all_lengths(rows, passes):
    ti.init(arch=ti.cpu, log_level=ti.ERROR, passes=passes)
    random = np.random.default_rng(0)
    starts = np.append(0, np.cumsum(np.arange(rows) % 37)).astype(np.int32)
    columns = random.integers(0, 50, starts[-1]).astype(np.int32)
    values = random.integers(-9, 9, starts[-1]).astype(np.float32)
    x, y = random.integers(-9, 9, 50).astype(np.float32), np.zeros(rows, np.float32)
    product(starts, columns, values, x, y)
    pairs = zip(starts[:-1], starts[1:], strict=True)
    assert y.tolist() == [float((values[a:b] * x[columns[a:b]]).sum()) for a, b in pairs]
    assert (NOTE in product.source(starts, columns, values, x, y)) == (not passes)


def test_other_loops_stay():
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    numbers, floats = np.zeros(3, np.int32), np.zeros(3, np.float32)
    for kernel in (of_the_row, scattered):
        assert NOTE not in kernel.source(numbers, numbers, floats, floats, floats)
    assert "SHORT_VECTORS" not in product.source(numbers, numbers, floats, floats, floats, arch=ti.cuda)


Places = ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1)


@ti.kernel
def near(counts: Numbers, neighbours: ti.types.ndarray(dtype=ti.i32, ndim=2), x: Places, y: Floats):
    for i in y:
        s = 0.0
        for k in range(counts[i]):
            d = (x[i] - x[neighbours[i, k]]).norm()
            if d < 2.0:
                s += (2.0 - d) ** 2
        y[i] = s


@pytest.mark.parametrize("passes", ["", "-short_vectors"])
def test_neighbours_of_particles(passes):
    ti.init(arch=ti.cpu, log_level=ti.ERROR, passes=passes)
    random = np.random.default_rng(3)
    count, most = 77, 40
    counts = (np.arange(count) % (most + 1)).astype(np.int32)
    neighbours = random.integers(0, count, (count, most)).astype(np.int32)
    x, y = ti.Vector.ndarray(3, ti.f32, count), np.zeros(count, np.float32)
    places = random.random((count, 3), dtype=np.float32) * 3
    x.from_numpy(places)
    near(counts, neighbours, x, y)
    distances = np.linalg.norm(places[:, None] - places[neighbours], axis=2)
    terms = np.where(distances < 2, (2 - distances) ** 2, 0) * (np.arange(most) < counts[:, None])
    np.testing.assert_allclose(y, terms.sum(axis=1), rtol=2e-6, atol=1e-6)
    assert (NOTE in near.source(counts, neighbours, x, y)) == (not passes)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
def test_terms_of_near_neighbours_are_added_without_a_branch(dtype, fast):
    ti.init(arch=ti.cpu, log_level=ti.ERROR, fast_math=fast)

    @ti.kernel
    def sums(neighbours: Numbers, x: AnyNumbers, y: AnyNumbers, z: AnyNumbers):
        for i in y:
            s, t = ti.cast(0.0, dtype), ti.cast(0.0, dtype)
            for k in range(neighbours[i] * 0, neighbours.shape[0]):
                v = x[neighbours[k]]
                if v < 2.0:
                    s += (2.0 - v) * 3.0
                if k < i:
                    t += x[k] * 2.0
            y[i], z[i] = s, t

    random = np.random.default_rng(3)
    kind = np.float32 if dtype == ti.f32 else np.float64
    x, neighbours = random.integers(-4, 9, 40).astype(kind), random.integers(0, 42, 70).astype(np.int32)
    x = np.append(x, [np.inf, np.nan]).astype(kind)
    y, z = np.zeros(30, kind), np.zeros(30, kind)
    sums(neighbours, x, y, z)
    near = x[neighbours] < 2
    assert y.tolist() == [float(((2 - x[neighbours]) * 3)[near].sum())] * 30
    assert z.tolist() == [float((x[:i] * 2).sum()) for i in range(30)]
    source = sums.source(neighbours, x, y, z)
    assert source.count("without a branch (masked_terms)") == fast  # `k < i` is guessed well
