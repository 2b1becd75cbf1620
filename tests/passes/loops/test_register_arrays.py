"""Pass `register_arrays`: loops that alone index a local array are unrolled on GPUs; results are the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

N = 70


@ti.kernel
def mix(x: ti.types.ndarray(ti.u32, 1), y: ti.types.ndarray(ti.u32, 1)):
    for i in x:
        w = ti.Vector([ti.u32(0)] * 24)
        for t in range(8):
            w[t] = x[i] + t
        for t in range(8, 24):
            w[t] = w[t - 8] * 3 + (w[t - 1] >> 2)
        total = ti.u32(0)
        for t in range(24):
            total = (total << 1) ^ w[23 - t]
        y[i] = total


def expected(x: np.ndarray) -> np.ndarray:
    w = [x + np.uint32(t) for t in range(8)]
    for t in range(8, 24):
        w.append(w[t - 8] * np.uint32(3) + (w[t - 1] >> np.uint32(2)))
    total = np.zeros_like(x)
    for t in range(24):
        total = (total << np.uint32(1)) ^ w[23 - t]
    return total


def test_values(target: str) -> None:
    x = np.random.default_rng(0).integers(0, 1 << 32, N, dtype=np.uint32)
    y = np.zeros_like(x)
    mix(x, y)
    assert np.array_equal(y, expected(x))


def test_sources() -> None:
    x = np.zeros(4, np.uint32)
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert mix.source(x, x, arch=ti.cuda).count("#pragma unroll\n") == 3
    assert "unroll" not in mix.source(x, x, arch=ti.vulkan) and "unroll" not in mix.source(x, x, arch=ti.cpu)
    ti.init(arch=ti.vulkan, log_level=ti.ERROR)
    device = ti.Session.current().device
    device.capabilities = replace(device.capabilities, leaves_arrays_in_memory=True)
    assert mix.source(x, x).count("[[unroll]] for") == 3
    y = np.zeros(4, np.uint32)
    mix(x, y)
    assert np.array_equal(y, expected(x))


def test_what_stays(target: str) -> None:
    """Arrays that something else indexes, long loops, loops that are left, and short arrays."""

    @ti.kernel
    def sort(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in y:
            found = ti.Vector([0] * 16)
            for t in range(16):
                found[x[(i + t) % x.shape[0]] % 16] += 1
            y[i] = found[i % 16]

    @ti.kernel
    def given(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in y:
            found, pair = ti.Vector([0] * 16), ti.Vector([0, 0])
            for t in range(n):
                found[t] = x[t] + i
            for t in range(2):
                pair[t] = found[t + 2]
            y[i] = pair[1]

    @ti.kernel
    def leaves(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in y:
            found = ti.Vector([0] * 16)
            for t in range(16):
                if x[t] > n:
                    break
                found[t] = i
            y[i] = found[5]

    x, y = np.arange(16, dtype=np.int32), np.zeros(20, np.int32)
    sort(x, y, 4)
    assert (y == 1).all()
    given(x, y, 5)
    assert np.array_equal(y, 3 + np.arange(20))
    leaves(x, y, 4)
    assert (y == 0).all()
    for kernel in (sort, given, leaves):
        assert "#pragma unroll\n" not in kernel.source(x, y, 4, arch=ti.cuda)


@ti.kernel
def ring(x: ti.types.ndarray(ti.u32, 1), y: ti.types.ndarray(ti.u32, 1)):
    for i in x:
        w = ti.Vector([ti.u32(0)] * 16)
        for t in ti.static(range(14)):
            w[t] = x[i] * (t + 1)
        w[15] = x[i] >> 7
        total = ti.u32(1)
        for t in range(40):
            at = w[t & 15]
            if t >= 16:
                at = w[(t - 15) % 16] + (w[(t + 14) & 15] >> 3) + w[t & 15]
                w[t & 15] = at
            total = total * 5 + at
        y[i] = total


def test_a_buffer_that_is_used_again(target: str) -> None:
    x = np.random.default_rng(1).integers(0, 1 << 32, N, dtype=np.uint32)
    y = np.zeros_like(x)
    ring(x, y)
    w = [x * np.uint32(t + 1) for t in range(14)] + [np.zeros_like(x), x >> np.uint32(7)]
    total = np.ones_like(x)
    for t in range(40):
        if t >= 16:
            w[t % 16] = w[(t - 15) % 16] + (w[(t + 14) % 16] >> np.uint32(3)) + w[t % 16]
        total = total * np.uint32(5) + w[t % 16]
    assert np.array_equal(y, total)
    source = ring.source(x, y, arch=ti.cuda)
    assert source.count("#pragma unroll\n") == 2 and "for (int t = 0; t < 40; t++)" in source


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [4, 6, 9])
def test_decompositions_of_small_matrices(target: str, n: int) -> None:
    """Loops that start or end at the index of another one: L U in place, then a triangular system."""
    count = 5
    a, b = ti.field(ti.f32, (count, n, n)), ti.field(ti.f32, (count, n))
    random = np.random.default_rng(n)
    matrices = random.integers(1, 4, (count, n, n)) + 16.0 * np.eye(n)
    right = random.integers(-5, 5, (count, n))
    a.from_numpy(matrices.astype(np.float32))
    b.from_numpy(right.astype(np.float32))

    @ti.kernel
    def solve():
        for m in range(count):
            c, y = ti.Matrix.zero(ti.f32, n, n), ti.Vector.zero(ti.f32, n)
            for i, j in ti.ndrange(n, n):
                c[i, j] = a[m, i, j]
            for k in range(n):
                for i in range(k + 1, n):
                    c[i, k] /= c[k, k]
                    for j in range(k + 1, n):
                        c[i, j] -= c[i, k] * c[k, j]
            for i in range(n):
                s = b[m, i]
                for j in range(i):
                    s -= c[i, j] * y[j]
                y[i] = s
            for r in range(n):
                i = n - 1 - r
                for j in range(i + 1, n):
                    y[i] -= c[i, j] * y[j]
                y[i] /= c[i, i]
            for i in range(n):
                b[m, i] = y[i]

    source = solve.source(arch=ti.cuda)
    solve()
    assert np.allclose(b.to_numpy(), np.linalg.solve(matrices, right[..., None])[..., 0], atol=1e-5)
    assert source.count("#pragma unroll\n") == 10


@ti.kernel
def solve(a: ti.types.ndarray(ti.f32, 3), x: ti.types.ndarray(ti.f32, 2)):
    for b in range(a.shape[0]):
        A = ti.Matrix.zero(ti.f32, 4, 5)
        for i, j in ti.ndrange(4, 5):
            A[i, j] = a[b, i, j]
        for c in range(4):
            piv = c
            for i in range(c + 1, 4):
                if abs(A[i, c]) > abs(A[piv, c]):
                    piv = i
            for j in range(5):
                t = A[c, j]
                A[c, j] = A[piv, j]
                A[piv, j] = t
            for i in range(4):
                if i != c:
                    f = A[i, c] / A[c, c]
                    for j in range(c, 5):
                        A[i, j] -= f * A[c, j]
        for i in range(4):
            x[b, i] = A[i, 4] / A[i, i]


def test_rows_of_pivots(target: str) -> None:
    """Elements at a computed index of a short axis are compared; the matrix stays in registers."""
    a = np.random.default_rng(3).normal(size=(N, 4, 5)).astype(np.float32)
    a[::3, 0, 0] = 0
    x = np.zeros((N, 4), np.float32)
    if target == "vulkan":
        device = ti.Session.current().device
        device.capabilities = replace(device.capabilities, leaves_arrays_in_memory=True)
    solve(a, x)
    wanted = np.linalg.solve(a[..., :4].astype(np.float64), a[..., 4:].astype(np.float64))[..., 0]
    assert np.allclose(x, wanted, rtol=1e-2, atol=1e-3)
    text = solve.source(a, x)
    assert "A_piv = A" in text and text.count("if (piv == r)") == 3


def test_elements_in_memory() -> None:
    """Most accesses at computed indices, an axis of more than 8, two computed indices."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.field(ti.i32, N)

    @ti.kernel
    def read(n: ti.template(), m: ti.template(), kind: ti.template()):
        for s in x:
            A = ti.Matrix.zero(ti.i32, n, m)
            for i, j in ti.ndrange(n, m):
                A[i, j] = x[(s + i * j) % N]
            p = x[s] % n
            if ti.static(kind == "often"):
                for k in range(x[s]):
                    A[p, 1] += x[k]
                    p = (p + 1) % n
            elif ti.static(kind == "both"):
                A[p, x[p] % m] = 4
            else:
                A[p, 1] = 4
            for i, j in ti.ndrange(n, m):
                x[s] += A[i, j] * (i - j)

    for n, kind in ((8, "often"), (8, "both"), (9, "")):
        assert " == r)" not in read.source(n, 3, kind, arch=ti.cuda), kind
    assert "if (p == r)" in read.source(8, 3, "", arch=ti.cuda)
