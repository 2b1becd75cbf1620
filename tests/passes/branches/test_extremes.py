"""Pass `extremes`: one comparison in C where an operand is certainly a number; NaN is ignored on every target."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

Array = ti.types.ndarray(ti.f32, 1)
Matrix = ti.types.ndarray(ti.f32, 2)


@ti.kernel
def clamped(x: Array, y: Array):
    for i in x:
        y[i] = ti.min(1.0, ti.max(0.0, x[i]))


@ti.kernel
def greatest_sizes(x: Matrix, y: Array):
    for i in y:
        greatest = 0.0
        for j in range(x.shape[1]):
            greatest = ti.max(greatest, ti.abs(x[i, j]))
        y[i] = greatest


@ti.kernel
def least(x: Matrix, y: Array):
    for i in y:
        best = x[i, 0]
        for j in range(1, x.shape[1]):
            best = ti.min(x[i, j], best)
        y[i] = best


@ti.kernel
def of_both(x: Array, y: Array, z: Array):
    for i in x:
        z[i] = ti.max(ti.min(x[i], y[i]), ti.max(y[i], float(i)))


@ti.kernel
def least_of_few(x: Matrix, y: Array):
    for i in y:
        best = x[i, 0]
        for j in range(1, 4):
            best = ti.min(best, x[i, j])
        y[i] = best


@ti.kernel
def distances(x: ti.types.ndarray(ti.math.vec3, 1), y: Array):
    for i in x:
        d = ti.max(x[i] - 2.0, ti.max(-x[i], 0.0))
        y[i] = d.dot(d)


def values(*shape: int) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    x.ravel()[::3] = np.nan
    return x


def arguments(kernel: object) -> list[np.ndarray]:
    return {
        clamped: [values(8), values(8)], greatest_sizes: [values(8, 40), values(8)], least: [values(8, 40), values(8)],
        of_both: [values(8), values(8), values(8)], least_of_few: [values(8, 4), values(8)],
        distances: [values(8, 3), values(8)],
    }[kernel]  # fmt: skip


def test_results(target: str) -> None:
    x, y = values(50), np.zeros(50, np.float32)
    clamped(x, y)
    ti.sync()
    assert y.tolist() == np.fmin(np.float32(1), np.fmax(x, np.float32(0))).tolist()
    rows, found = values(8, 40), np.zeros(8, np.float32)
    rows[0], rows[1, 1:], rows[2, :1] = np.nan, np.nan, np.nan
    greatest_sizes(rows, found)
    ti.sync()
    assert found.tolist() == np.fmax.reduce(abs(rows), axis=1, initial=0).tolist()
    for kernel, count in ((least, 40), (least_of_few, 4)):
        kernel(rows, found)
        ti.sync()
        assert found.tolist()[1:] == np.fmin.reduce(rows[:, :count], axis=1).tolist()[1:] and np.isnan(found[0])


def test_one_operand_is_nan(target: str) -> None:
    x = np.array([np.nan, 1, np.nan, 3, -np.inf], np.float32)
    y, z = np.array([1, np.nan, np.nan, 4, np.nan], np.float32), np.zeros(5, np.float32)
    of_both(x, y, z)
    ti.sync()
    assert z.tolist() == [1, 1, 2, 4, 4]


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (clamped, "min_f32(max_f32(x(i), 0.0f), 1.0f)"),
        (greatest_sizes, "greatest = at_least_f32(fabsf(x(i, j)), greatest)"),
        (least, "best = running_min_f32(best, x(i, j))"),
        (of_both, "at_least_f32(min_f32(x(i), y(i)), at_least_f32(y(i), (float)i))"),
        (least_of_few, "best = min_f32(best, x(i, j))"),
        (distances, "vec3_at_least("),
    ],
)
def test_source(kernel: ti.Kernel, wanted: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = kernel.source(*arguments(kernel), arch=ti.cpu)
    assert wanted in source
    others = [kernel.source(*arguments(kernel), arch=arch) for arch in (ti.cuda, ti.vulkan)]
    assert not any(name in other for other in others for name in ("at_least", "at_most", "running_"))


def test_what_is_stored_elsewhere_is_no_number() -> None:
    @ti.kernel
    def kernel(x: Array, y: Array):
        for i in y:
            greatest = 0.0
            for j in range(x.shape[0]):
                greatest = ti.max(greatest, x[j])
                if x[j] < 0:
                    greatest = x[j] + 1
            y[i] = greatest

    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "running_max_f32(greatest, x(j))" in kernel.source(values(8), values(8), arch=ti.cpu)


@pytest.mark.all_targets
def test_zeros_keep_their_signs_without_fast_math(target: str) -> None:
    ti.init(arch=getattr(ti, target), fast_math=False, log_level=ti.ERROR)
    x, r = ti.field(ti.f32, 3), ti.field(ti.f32, 3)
    x.from_numpy(np.array([-0.0, 0.0, -1.0], np.float32))

    @ti.kernel
    def lift():
        for i in x:
            r[i] = ti.max(0.0, x[i])

    lift()
    signs = np.signbit(r.to_numpy())
    assert target in ("cuda", "vulkan") or list(signs) == [True, False, False]  # GPUs take 0.0 for the greater
