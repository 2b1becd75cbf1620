"""`lane_halves`: halves are converted by integers where C's compiler makes vectors, and to the same bits."""

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once


def ndarray(values: np.ndarray) -> Any:
    made = ti.ndarray({np.float16: ti.f16, np.float32: ti.f32}[values.dtype.type], values.shape)
    made.from_numpy(values)
    return made


@ti.kernel
def widen(x: ti.types.ndarray(ti.f16, 1), y: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        y[i] = ti.cast(x[i], ti.f32)


@ti.kernel
def narrow(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f16, 1)):
    for i in x:
        y[i] = ti.cast(x[i], ti.f16)


@ti.kernel
def rows(x: ti.types.ndarray(ti.f16, 2), w: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
    for i in y:
        total = 0.0
        for j in range(64):
            total += x[i, j] * w[j]
        y[i] = total


@ti.kernel
def columns(x: ti.types.ndarray(ti.f16, 2), y: ti.types.ndarray(ti.f32, 1)):
    for i in y:
        total = 0.0
        for j in range(64):
            total += x[j, 2 * i]
        y[i] = total


@ti.kernel
def until(x: ti.types.ndarray(ti.f16, 1), y: ti.types.ndarray(ti.f32, 1)):
    for i in y:
        k = 0
        while x[k] < 1.0:
            k += 1
        y[i] = k


@ti.kernel
def halves(x: ti.types.ndarray(ti.f16, 1), y: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        y[i] = ti.cast(x[i] * x[i], ti.f32)


@ti.kernel
def last_columns(x: ti.types.ndarray(ti.f16, 2), y: ti.types.ndarray(ti.f32, 1)):
    for i in y:
        total = 0.0
        for j in range(x.shape[0]):
            total = 0.9 * total + x[j, i]
        y[i] = total


def field_columns(rows: int, columns: int) -> Any:
    x, y = ti.field(ti.f16, (rows, columns)), ti.field(ti.f32, columns)

    @ti.kernel
    def run():
        for i in y:
            total = 0.0
            for j in range(rows):
                total = 0.9 * total + x[j, i]
            y[i] = total

    return run


def source_of(kernel: Any, *arrays: np.ndarray, fast_math: bool = True, passes: str = "-half_blocks") -> str:
    ti.init(arch=ti.cpu, fast_math=fast_math, passes=passes)
    return kernel.source(*map(ndarray, arrays))


ROW, MATRIX, FLOATS = np.zeros(64, np.float16), np.zeros((64, 128), np.float16), np.zeros(64, np.float32)


def test_neighbours_are_converted_by_integers() -> None:
    assert "y(i) = f32_from_f16(&x(i));" in source_of(widen, ROW, FLOATS)
    assert "y(i) = f16_from_f32(x(i));" in source_of(narrow, FLOATS, ROW)
    assert "total += f32_from_f16(&x(i, j)) * w(j);" in source_of(rows, MATRIX, FLOATS, FLOATS)


@pytest.mark.parametrize(
    "kernel, arrays", [(columns, (MATRIX, FLOATS)), (until, (ROW, FLOATS)), (halves, (ROW, FLOATS))]
)
def test_loops_without_vectors_keep_their_conversions(kernel: Any, arrays: tuple[np.ndarray, ...]) -> None:
    assert "_from_f" not in source_of(kernel, *arrays)


def test_iterations_that_are_lanes_convert_by_integers() -> None:
    ti.init(arch=ti.cpu)
    assert "f32_from_f16(&x(j, i))" in field_columns(5, 64).source()  # vector_lanes
    assert "f32_from_f16(&x(j, i))" in source_of(last_columns, MATRIX, FLOATS)  # lane_loops


@pytest.mark.parametrize(
    "kernel, arrays, is_without",
    [
        (columns, (MATRIX, FLOATS), True),
        (until, (ROW, FLOATS), True),
        (halves, (ROW, FLOATS), False),  # multiplies them
        (widen, (ROW, FLOATS), False),  # by integers
    ],
)
def test_kernels_that_only_convert_are_compiled_without_arithmetic_of_halves(
    kernel: Any, arrays: tuple[np.ndarray, ...], is_without: bool
) -> None:
    assert ('target("no-avx512fp16")' in source_of(kernel, *arrays)) is is_without


def test_a_sum_in_order_keeps_its_conversions() -> None:
    assert "f32_from_f16" not in source_of(rows, MATRIX, FLOATS, FLOATS, fast_math=False)


@pytest.mark.parametrize("fast_math", [True, False])
def test_every_half_becomes_the_same_float(fast_math: bool) -> None:
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    ti.init(arch=ti.cpu, fast_math=fast_math)
    x, y = ndarray(halves), ti.ndarray(ti.f32, 65536)
    widen(x, y)
    found, expected = y.to_numpy().view(np.uint32), halves.astype(np.float32).view(np.uint32)
    quiet = np.where(np.isnan(halves), np.uint32(0x00400000), np.uint32(0))
    np.testing.assert_array_equal(found, expected | quiet)


@pytest.mark.parametrize("fast_math", [True, False])
def test_floats_become_the_nearest_halves(fast_math: bool) -> None:
    every = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    every = every[np.isfinite(every)]
    ties = (every[1:].astype(np.float64) + every[:-1]) / 2
    edges = np.array([65504, 65519.996, 65520, 65536, 1e38, np.inf, 2**-25, 2.0**-26, 1e-40, 1e-45, 0], np.float32)
    bits = np.random.RandomState(0).randint(0, 1 << 32, 200_000, np.uint32).view(np.float32)
    ties = ties.astype(np.float32)
    near = [np.nextafter(ties, np.float32(way)) for way in (np.inf, -np.inf)]
    floats = np.concatenate([every, ties, *near, edges, -edges, bits, [np.float32(np.nan)]]).astype(np.float32)
    ti.init(arch=ti.cpu, fast_math=fast_math)
    x, y = ndarray(floats), ti.ndarray(ti.f16, len(floats))
    narrow(x, y)
    with np.errstate(all="ignore"):
        expected = floats.astype(np.float16)
    found, numbers = y.to_numpy(), ~np.isnan(floats)
    np.testing.assert_array_equal(found[numbers].view(np.uint16), expected[numbers].view(np.uint16))
    assert np.isnan(found[~numbers]).all()


def test_rows_are_summed_as_before() -> None:
    random = np.random.RandomState(1)
    matrix, weights = random.randn(64, 64).astype(np.float16), random.randn(64).astype(np.float32)
    ti.init(arch=ti.cpu)
    x, w, y = ndarray(matrix), ndarray(weights), ti.ndarray(ti.f32, 64)
    rows(x, w, y)
    np.testing.assert_allclose(y.to_numpy(), matrix.astype(np.float64) @ weights, rtol=1e-4, atol=1e-4)
