"""Pass `static_rows`: static loops over neighbours stay loops in C where the loop around takes rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

N2 = ti.types.ndarray(dtype=ti.f32, ndim=2)


def nearest(width: int) -> ti.lang.kernel.Kernel:
    @ti.kernel
    def find(a: N2, b: N2, found: ti.template()):
        for i in found:
            least, at = 1e30, -1
            for j in range(b.shape[0]):
                s = 0.0
                for c in ti.static(range(width)):
                    s += (a[i, c] - b[j, c]) * (a[i, c] - b[j, c])
                if s < least:
                    least = s
                    at = j
            found[i] = at

    return find


def arrays(width: int) -> tuple[list[np.ndarray], list[ti.Ndarray]]:
    rng = np.random.default_rng(width)
    numbers = [rng.random((rows, width), dtype=np.float32) for rows in (20, 33)]
    made = [ti.ndarray(ti.f32, part.shape) for part in numbers]
    for array, part in zip(made, numbers, strict=True):
        array.from_numpy(part)
    return numbers, made


@pytest.mark.parametrize(("width", "hint"), [(4, "unroll 4"), (8, "unroll 1"), (24, ""), (40, "")])
def test_rows_stay_loops(target: str, width: int, hint: str) -> None:
    find, found = nearest(width), ti.field(ti.i32, 20)
    (a, b), made = arrays(width)
    find(*made, found)
    assert found.to_numpy().tolist() == ((a[:, None] - b) ** 2).sum(axis=-1).argmin(axis=1).tolist()
    source = find.source(*made, found, arch="cpu")
    assert f"#pragma GCC {hint}\n" in source if hint else "#pragma GCC unroll" not in source
    assert "#pragma unroll" in find.source(*made, found, arch="cuda")


@ti.kernel
def filtered(x: ti.template(), w: ti.template(), y: ti.template()):
    for i in y:
        s = 0.0
        for c in ti.static(range(24)):
            s += w[c] * x[i + c]
        y[i] = s


@ti.kernel
def column_sums(x: ti.template(), y: ti.template()):
    for i in y:
        s = 0.0
        for c in ti.static(range(24)):
            s += x[c, i]
        y[i] = s


@ti.kernel
def polynomial(x: ti.template(), w: ti.template(), y: ti.template()):
    for i in y:
        s = 0.0
        for c in ti.static(range(24)):
            s = s * x[i] + w[c]
        y[i] = s


def test_loops_whose_parallel_iterations_are_neighbours_are_unrolled(target: str) -> None:
    x, w, y = ti.field(ti.f32, 64), ti.field(ti.f32, 24), ti.field(ti.f32, 32)
    columns = ti.field(ti.f32, (24, 32))
    for kernel, arguments in ((filtered, (x, w, y)), (column_sums, (columns, y)), (polynomial, (x, w, y))):
        assert "#pragma GCC unroll 24" in kernel.source(*arguments, arch="cpu")


@ti.kernel
def attend(q: N2, k: N2, out: N2):
    for i in range(q.shape[0]):
        total = ti.Vector([0.0] * 16)
        for j in range(k.shape[0]):
            s = 0.0
            for c in ti.static(range(16)):
                s += q[i, c] * k[j, c]
            for c in ti.static(range(16)):
                total[c] = total[c] * 0.5 + s * k[j, c]
        for c in ti.static(range(16)):
            out[i, c] = total[c]


@ti.kernel
def running(q: N2, out: ti.template()):
    for i in out:
        s, before = 0.0, 0.0
        for j in range(q.shape[0]):
            for c in ti.static(range(16)):
                before = s - before
                s = before + q[j, c]
        out[i] = s


def test_local_arrays(target: str) -> None:
    (q, k), made = arrays(16)
    out = ti.ndarray(ti.f32, (20, 16))
    attend(*made, out)
    total = np.zeros((20, 16), np.float32)
    for row in k:
        total = total * 0.5 + (q @ row)[:, None] * row
    np.testing.assert_allclose(out.to_numpy(), total, rtol=1e-4)
    assert attend.source(*made, out, arch="cpu").count("#pragma GCC unroll 1\n") == 2


def test_what_an_iteration_needs_of_the_last_one_is_unrolled(target: str) -> None:
    found = ti.field(ti.f32, 3)
    (q, _), made = arrays(16)
    running(made[0], found)
    assert "#pragma GCC unroll 16" in running.source(made[0], found, arch="cpu")
    s = before = 0.0
    for number in q.ravel():
        before = s - before
        s = before + float(number)
    np.testing.assert_allclose(found.to_numpy(), s, rtol=1e-4)


def test_exact_sums_are_unrolled() -> None:
    ti.init(arch=ti.cpu, fast_math=False)
    (_, _), made = arrays(16)
    out = ti.ndarray(ti.f32, (20, 16))
    source = attend.source(*made, out)
    assert source.count("#pragma GCC unroll 1\n") == 1 and source.count("#pragma GCC unroll 16\n") == 2


def compare_distances(distances: Any) -> str:
    """Compare what a kernel finds between 40 words of eight times 32 bits, by a loop that stays in C; return its CUDA C."""
    words = np.random.default_rng(0).integers(0, 2**32, (40, 8)).astype(np.uint32)
    a, d = ti.field(ti.u32, (40, 8)), ti.field(ti.i32, 40)
    a.from_numpy(words)
    distances(a, d)
    counts = np.unpackbits((words[:, None] ^ words).view(np.uint8), axis=-1).sum(axis=-1) + 999 * np.eye(40, dtype=int)
    assert d.to_numpy().tolist() == counts.min(axis=1).tolist()
    assert "#pragma GCC unroll 1\n" in distances.source(a, d, arch="cpu")
    return distances.source(a, d, arch="cuda")


def test_words_of_bits_are_counted_in_vectors(target: str) -> None:
    @ti.kernel
    def distances(a: ti.template(), d: ti.template()):
        for i in d:
            least = 999
            for j in range(40):
                n = 0
                for w in ti.static(range(8)):
                    n += ti.cast(ti.math.popcnt(a[i, w] ^ a[j, w]), ti.i32)
                if i != j:
                    least = min(least, n)
            d[i] = least

    compare_distances(distances)


def test_short_loops_that_are_not_static_stay_loops_too(target: str) -> None:
    """gcc unrolls those of up to 16 iterations; a function that counts bits by shifts is one of vectors."""

    @ti.func
    def bits(word: ti.u32):
        v = word - ((word >> 1) & ti.u32(0x55555555))
        v = (v & ti.u32(0x33333333)) + ((v >> 2) & ti.u32(0x33333333))
        return ti.cast((((v + (v >> 4)) & ti.u32(0x0F0F0F0F)) * ti.u32(0x01010101)) >> 24, ti.i32)

    @ti.kernel
    def distances(a: ti.template(), d: ti.template()):
        for i in d:
            least = 999
            for j in range(40):
                n = 0
                for w in range(8):
                    n += bits(a[i, w] ^ a[j, w])
                if i != j:
                    least = min(least, n)
            d[i] = least

    assert "unroll 1" not in compare_distances(distances)
