"""Whole kernels against NumPy on every target: loops, functions, vectors, fields, arguments, results."""

import numpy as np
import pytest

import shadesmith as ti


def test_saxpy_on_ndarrays(target: str) -> None:
    @ti.kernel
    def saxpy(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]

    for n in (0, 1, 7, 128, 1000):
        x, y = ti.ndarray(ti.f32, n), ti.ndarray(ti.f32, n)
        x.from_numpy(np.arange(n, dtype=np.float32))
        y.fill(1.0)
        saxpy(x, y, 2.0)
        assert np.array_equal(y.to_numpy(), 2 * np.arange(n, dtype=np.float32) + 1)


def test_numpy_arguments_are_changed_in_place(target: str) -> None:
    @ti.kernel
    def scale(x: ti.types.ndarray(), a: ti.f32):
        for i, j in x:
            x[i, j] *= a

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    scale(x, 3.0)
    assert np.array_equal(x, 3 * np.arange(12, dtype=np.float32).reshape(3, 4))


def test_jacobi_step(target: str) -> None:
    @ti.kernel
    def jacobi(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2), w: ti.f32):
        for i, j in a:
            n, m = a.shape
            if 0 < i < n - 1 and 0 < j < m - 1:
                s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])

    rng = np.random.default_rng(0)
    a = rng.integers(0, 64, (17, 33)).astype(np.float32)
    b = np.zeros_like(a)
    jacobi(a, b, 0.5)
    s = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    expected = np.zeros_like(a)
    expected[1:-1, 1:-1] = a[1:-1, 1:-1] + np.float32(0.5) * (np.float32(0.25) * s - a[1:-1, 1:-1])
    assert np.array_equal(b, expected)


def test_functions_return_anywhere(target: str) -> None:
    @ti.func
    def classify(x):
        if x < 0:
            return -1
        for k in range(10):
            if k * k >= x:
                return k
        return 99

    out = ti.field(ti.i32, 20)

    @ti.kernel
    def run():
        for i in out:
            out[i] = classify((i - 3) * 7)

    run()

    def expected(x: int) -> int:
        return -1 if x < 0 else next((k for k in range(10) if k * k >= x), 99)

    assert out.to_numpy().tolist() == [expected((i - 3) * 7) for i in range(20)]


def test_kernel_returns_scalars_and_vectors(target: str) -> None:
    @ti.kernel
    def total(x: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        s = 0
        for i in range(x.shape[0]):
            s += x[i]
        return s

    @ti.kernel
    def pair(a: ti.f32) -> ti.types.vector(3, ti.f32):
        return ti.Vector([a, a * 2, a * 3])

    assert total(np.arange(100, dtype=np.int32)) == 4950
    assert pair(1.5).to_list() == [1.5, 3.0, 4.5]


def test_value_crosses_tasks(target: str) -> None:
    x = ti.field(ti.f32, 64)
    y = ti.field(ti.f32, 64)

    @ti.kernel
    def normalise(n: ti.i32):
        total = 0.0
        for i in range(n):
            total += x[i]
        for i in range(n):
            y[i] = x[i] / total

    x.from_numpy(np.ones(64, np.float32))
    normalise(64)
    assert np.allclose(y.to_numpy(), 1 / 64)


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4), (2, 3, 2, 3), (2, 1, 2, 1, 2, 1, 2, 3)])
def test_fields_of_every_rank(target: str, shape: tuple[int, ...]) -> None:
    x = ti.field(ti.i32, shape)
    y = ti.field(ti.i32, shape)

    @ti.kernel
    def copy():
        for I in ti.grouped(x):
            y[I] = x[I] * 2

    values = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    x.from_numpy(values)
    copy()
    assert np.array_equal(y.to_numpy(), values * 2)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_atomics_are_exact_and_return_the_old_value(target: str) -> None:
    count = 20_000 if target != "python" else 500
    counter = ti.field(ti.i32, ())
    seen = ti.field(ti.i32, count)

    @ti.kernel
    def run():
        for i in range(count):
            old = ti.atomic_add(counter[None], 1)
            seen[old] += 1

    run()
    assert counter[None] == count
    assert (seen.to_numpy() == 1).all()


@pytest.mark.sampled(3, each="operation")
@pytest.mark.parametrize("dtype", ["i32", "u32", "i64", "u64", "f32", "f64"])
@pytest.mark.parametrize("operation", ["add", "sub", "min", "max", "mul"])
def test_atomic_operations_on_every_type(target: str, dtype: str, operation: str) -> None:
    cell = ti.field(getattr(ti, dtype), 4)
    atomic = getattr(ti, f"atomic_{operation}")

    @ti.kernel
    def run():
        for i in range(32):
            atomic(cell[i % 4], ti.cast(i % 2 + 1, getattr(ti, dtype)))

    cell.fill(40)
    run()
    expected = {
        "add": [48, 56, 48, 56],
        "sub": [32, 24, 32, 24],
        "min": [1, 2, 1, 2],
        "max": [40] * 4,
        "mul": [40, 40 * 256] * 2,
    }
    assert cell.to_numpy().tolist() == expected[operation]


def test_ndrange_ranges_and_steps(target: str) -> None:
    out = ti.field(ti.i32, (8, 8))

    @ti.kernel
    def run(n: ti.i32):
        for i, j in ti.ndrange((2, n), n):
            out[i, j] += 1
        for i in range(0, 8, 3):
            out[i, 7] += 10
        for i in range(7, 0, -2):
            out[i, 6] += 100
        for i in range(5, 5):
            out[0, 0] = -1
        for i in range(n, -3):
            out[0, 0] = -1

    run(6)
    expected = np.zeros((8, 8), np.int32)
    expected[2:6, :6] += 1
    expected[0:8:3, 7] += 10
    expected[7:0:-2, 6] += 100
    assert np.array_equal(out.to_numpy(), expected)


def test_break_and_continue(target: str) -> None:
    out = ti.field(ti.i32, 16)

    @ti.kernel
    def run():
        for i in out:
            if i % 5 == 4:
                continue
            n = 0
            while True:
                n += 1
                if n % 2 == 0:
                    continue
                if n > i:
                    break
            for k in range(100):
                if k == i:
                    break
                n += 1
            for a, b in ti.ndrange(10, 10):
                if a * 10 + b == i:
                    break
                n += 100
            out[i] = n

    run()

    def expected(i: int) -> int:
        if i % 5 == 4:
            return 0
        n = i + 1 if (i + 1) % 2 else i + 2
        return n + i + 100 * i

    assert out.to_numpy().tolist() == [expected(i) for i in range(16)]


def test_short_circuit_guards_an_access(target: str) -> None:
    x = ti.field(ti.i32, 4)
    out = ti.field(ti.i32, 8)

    @ti.kernel
    def run():
        for i in out:
            if i < 4 and x[i] == 0:
                out[i] = 1
            out[i] += 2 if i >= 4 or x[i] == 5 else 4

    run()
    assert out.to_numpy().tolist() == [5] * 4 + [2] * 4


def test_vectors_and_matrices(target: str) -> None:
    A = ti.Matrix.field(2, 3, ti.f32, 5)
    v = ti.Vector.field(3, ti.f32, 5)
    out = ti.Vector.field(2, ti.f32, 5)
    s = ti.field(ti.f32, 5)

    @ti.kernel
    def run():
        for i in v:
            w = A[i] @ v[i]
            w.x += 1
            w[1] -= ti.cast(i, ti.f32)
            out[i] = w * 2 + ti.Vector([0.5, 0.25])
            s[i] = v[i].dot(v[i]) + A[i].transpose()[2, 1] + v[i].yz.sum()

    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (5, 2, 3)).astype(np.float32), rng.integers(-4, 5, (5, 3)).astype(np.float32)
    A.from_numpy(a)
    v.from_numpy(b)
    run()
    w = np.einsum("nij,nj->ni", a, b) + np.stack([np.ones(5), -np.arange(5)], 1)
    assert np.array_equal(out.to_numpy(), w * 2 + [0.5, 0.25])
    assert np.array_equal(s.to_numpy(), (b * b).sum(1) + a[:, 1, 2] + b[:, 1:].sum(1))


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "f16", "f32", "f64"])
def test_every_type_makes_a_round_trip(target: str, dtype: str) -> None:
    scalar = getattr(ti, dtype)
    x = ti.field(scalar, 9)
    y = ti.field(scalar, 9)

    @ti.kernel
    def copy(a: scalar):
        for i in x:
            y[i] = x[i]
        y[8] = a

    values = (np.arange(9) - (3 if scalar.is_signed else 0)).astype(scalar.numpy)
    x.from_numpy(values)
    copy(1)
    assert y.to_numpy().tolist() == [*values[:8].tolist(), scalar.numpy.type(1).item()]


def test_while_loop_vector_julia(target: str) -> None:
    n = 24

    @ti.kernel
    def paint(pixels: ti.types.ndarray(dtype=ti.f32, ndim=2), n: ti.u32, t: ti.f32):
        for i, j in pixels:
            c = ti.Vector([-0.8, ti.cos(t) * 0.2])
            z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
            iterations = 0
            while z.norm() < 20 and iterations < 50:
                z = ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2]) + c
                iterations += 1
            pixels[i, j] = 1 - iterations * 0.02

    pixels = ti.ndarray(ti.f32, (2 * n, n))
    paint(pixels, n, 0.3)
    f = np.float32
    i, j = np.meshgrid(np.arange(2 * n, dtype=f), np.arange(n, dtype=f), indexing="ij")
    c = (f(-0.8), np.cos(f(0.3)) * f(0.2))
    x, y = (i / f(n) - 1) * 2, (j / f(n) - f(0.5)) * 2
    steps = np.zeros((2 * n, n), np.int32)
    for _ in range(50):
        going = np.sqrt(x * x + y * y) < 20
        x, y = np.where(going, x * x - y * y + c[0], x), np.where(going, y * x * 2 + c[1], y)
        steps += going
    expected = 1 - steps * f(0.02)
    assert (np.abs(pixels.to_numpy() - expected) > 1e-4).mean() <= 0.005


def test_arguments_of_every_kind(target: str) -> None:
    out = ti.field(ti.f64, 8)

    @ti.kernel
    def run(a: ti.i8, b: ti.u64, c: ti.f64, v: ti.types.vector(3, ti.f32), s: ti.template(), k: int, x: float):
        out[0] = a
        out[1] = b
        out[2] = c
        out[3] = v.sum()
        out[4] = s
        out[5] = k
        out[6] = x

    run(-5, 2**40, 0.1, ti.Vector([1.0, 2.0, 3.5]), 7, 12, 0.5)
    assert out.to_numpy().tolist() == [-5, 2**40, 0.1, 6.5, 7, 12, 0.5, 0]


def test_integer_division_and_modulo_are_pythons(target: str) -> None:
    q, r = ti.field(ti.i32, (21, 7)), ti.field(ti.i32, (21, 7))

    @ti.kernel
    def run():
        for i, j in q:
            a, b = i - 10, j - 3
            if b != 0:
                q[i, j] = a // b
                r[i, j] = a % b

    run()
    a, b = np.meshgrid(np.arange(-10, 11), np.arange(-3, 4), indexing="ij")
    with np.errstate(all="ignore"):
        assert np.array_equal(q.to_numpy(), np.where(b == 0, 0, a // np.where(b == 0, 1, b)))
        assert np.array_equal(r.to_numpy(), np.where(b == 0, 0, a % np.where(b == 0, 1, b)))
