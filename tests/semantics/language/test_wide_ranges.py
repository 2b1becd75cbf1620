"""Ranges whose bounds are i64: indices and lengths above 2^31, in parallel and serial loops, on every target."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

FAR = 2**33 + 5


def test_parallel_and_serial_ranges(target: str) -> None:
    x = ti.field(ti.i64, 8)

    @ti.func
    def total(a, b):
        result = ti.i64(0)
        for i in range(a, b):
            if i % 2 == 0:
                continue
            result += i
        return result

    @ti.kernel
    def fill(a: ti.i64, b: ti.i64):
        for i in range(a, b):
            if i == a + 1:
                continue
            x[i - a] = i

    @ti.kernel
    def serial(a: ti.i64, b: ti.i64) -> ti.i64:
        found = ti.i64(0)
        ti.loop_config(serialize=True)
        for i in range(a, b, 3):
            for k in range(ti.i64(2**40), ti.i64(2**40) + 2):
                found += i * 2 + (k - 2**20 * ti.i64(2**20))
            if i > a + 5:
                break
        return found + total(a, b)

    for a, n in ((FAR, 6), (-FAR, 3), (0, 8), (-2, 4), (FAR, 0), (FAR, -5)):
        x.fill(0)
        fill(a, a + n)
        expected = [a + k if k != 1 and k < n else 0 for k in range(8)]
        assert x.to_numpy().tolist() == expected
        found = 0
        for i in range(a, a + n, 3):
            found += 4 * i + 1
            if i > a + 5:
                break
        assert serial(a, a + n) == found + sum(i for i in range(a, a + n) if i % 2)


def test_constant_bounds_above_i32(target: str) -> None:
    """Those that fit i32 have an index of i32, as always."""
    first = ti.field(ti.i64, ())

    @ti.kernel
    def run() -> ti.i64:
        s = ti.i64(0)
        for i in range(ti.i64(2**33), ti.i64(2**33 + 3)):
            ti.atomic_add(first[None], i)
        for i in range(ti.i64(3)):
            s += i * 2**30  # i32 wraps
        return s

    assert run() == 0 + 2**30 - 2**31
    assert first[None] == 3 * 2**33 + 3


def test_more_iterations_than_threads(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shadesmith.transpiler.frontend.builders.loops.LANES", 7)
    n = 45
    hits = ti.field(ti.i32, n)

    @ti.kernel
    def count(a: ti.i64, b: ti.i64):
        ti.loop_config(block_dim=32)
        for i in range(a, b):
            hits[i - a] += 1

    count(FAR, FAR + n)
    assert hits.to_numpy().tolist() == [1] * n


@pytest.mark.exhaustive
@pytest.mark.targets("cpu", "cuda")
def test_billions_of_iterations(target: str) -> None:
    if target not in ("cuda", "cpu"):
        pytest.skip("takes minutes")
    hits = ti.field(ti.i64, ())

    @ti.kernel
    def count(n: ti.i64):
        for i in range(n):
            if (i & 0x3FFFFFFF) == 5:
                hits[None] += i >> 30

    count(2**33 + 6)
    assert hits[None] == sum(range(9))


def test_gradients(target: str) -> None:
    x, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square(a: ti.i64, b: ti.i64):
        for i in range(a, b):
            for k in range(a, b):
                loss[None] += x[i - a] ** 2 * (k - a)

    x.from_numpy(np.arange(4.0))
    with ti.ad.Tape(loss):
        square(FAR, FAR + 4)
    assert loss[None] == 14 * 6 and x.grad.to_numpy().tolist() == [0, 12, 24, 36]


def test_what_is_refused() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def leaves(n: ti.i64):
        for i in range(n):
            if i == 3:
                return

    @ti.kernel
    def breaks(n: ti.i64):
        for i in range(n):
            if i == 3:
                break

    @ti.kernel
    def steps(n: ti.i64):
        for i in range(ti.i64(0), n, 2):
            pass

    for kernel, message in ((leaves, "`return` in a parallel range with bounds of 64 bits"),
                            (breaks, "`break` in a parallel range with bounds of 64 bits"),
                            (steps, "A parallel range with bounds of 64 bits has step 1")):  # fmt: skip
        with pytest.raises(ti.TaichiCompilationError, match=message):
            kernel(5)


def test_bounds_that_are_cut_to_i32_give_a_warning() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def over_u32(n: ti.u32):
        for i in range(n):
            pass

    @ti.kernel
    def over_both(n: ti.i64):
        for i, j in ti.ndrange(n, n):
            pass

    for kernel, kind in ((over_u32, "u32"), (over_both, "i64")):
        with pytest.warns(ti.ShadesmithWarning, match=f"Casting range_for boundary values from {kind} to i32"):
            kernel(3)
