"""Pass `index_ranges`: C says in which range an index is that threads share; results do not change."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

N, M, HOP, W = 900, 40, 7, 16
SAYS = "ASSUME(0 <= i && i < "


@ti.kernel
def pairs(x: ti.template(), y: ti.template()):
    for i in range(N * M // 2):
        y[i] = x[2 * i] + x[2 * i + 1]


@ti.kernel
def frames(x: ti.template(), y: ti.template()):
    for i, j in ti.ndrange(N, 8):
        s = 0.0
        for k in range(W):
            s += x[i * HOP + k] * x[j + k]
        y[i * 8 + j] = s


@ti.kernel
def rows(x: ti.template(), y: ti.template()):
    for i, j in ti.ndrange(N - 2, M):
        y[i * M + j] = x[(i + 2) * M + j]


@ti.kernel
def sums(x: ti.template(), y: ti.template()):
    for i in range(N * M - 2):
        y[i % 8] += x[i + 2] * x[i + 1]


@ti.kernel
def given(x: ti.template(), y: ti.template(), n: ti.i32):
    for i in range(n):
        y[i] = x[2 * i]


@ti.kernel
def plain(x: ti.template(), y: ti.template()):
    for i in x:
        y[i] = x[i] * i


def start(arch=ti.cpu, **options) -> list:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, **options)
    x, y = ti.field(ti.f32, N * M), ti.field(ti.f32, N * M)
    x.from_numpy(np.random.default_rng(0).integers(-9, 9, N * M).astype(np.float32))
    return [x, y]


@pytest.mark.parametrize("kernel", [pairs, frames, rows, sums], ids=lambda kernel: kernel.__name__)
def test_results(kernel) -> None:
    results = []
    for arch in (ti.cpu, ti.python):
        fields = start(arch)
        kernel(*fields)
        results.append(fields[1].to_numpy())
    assert np.array_equal(*results)


@pytest.mark.parametrize("kernel", [pairs, frames, rows], ids=lambda kernel: kernel.__name__)
def test_ranges_of_shared_indices_are_in_the_source(kernel):
    assert SAYS in kernel.source(*start())


def test_other_loops_have_none():
    fields = start()
    assert "ASSUME" not in given.source(*fields, 9) + plain.source(*fields)


def test_gpus_have_none():
    assert "ASSUME" not in frames.source(*start(ti.python), arch=ti.cuda)
