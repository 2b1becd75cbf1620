"""Scopes, static values, template arguments, functions, vectors and loops as the language has them, on every target."""

import itertools

import numpy as np
import pytest

import shadesmith as ti


def test_static_loops_conditions_and_lists(target: str) -> None:
    out = ti.field(ti.i32, 12)
    debug = False

    @ti.kernel
    def run():
        for i in ti.static(range(4)):
            if ti.static(i == 2):
                out[i] = 100
            else:
                out[i] = i
        if ti.static(debug):
            out[11] = not_defined  # noqa: F821
        for k, weight in ti.static(enumerate([5, 7, 11])):
            out[4 + k] = weight
        for a, b in ti.static(zip([1, 2], [30, 40])):
            out[6 + a] = b
        squares = [k * k for k in range(3)]
        out[9] = squares[0] + squares[1] + squares[2]

    run()
    assert out.to_numpy().tolist() == [0, 1, 100, 3, 5, 7, 11, 30, 40, 5, 0, 0]


def test_static_ndrange_and_alias(target: str) -> None:
    x = ti.field(ti.i32, (3, 4))
    y = ti.field(ti.i32, (3, 4))

    @ti.kernel
    def run():
        a, b = ti.static(x, y)
        for i, j in ti.static(ti.ndrange(3, (1, 3))):
            a[i, j] = i * 10 + j
        for i, j in b:
            b[i, j] = a[i, j] + 1

    run()
    expected = np.array([[i * 10 + j if 1 <= j < 3 else 0 for j in range(4)] for i in range(3)])
    assert np.array_equal(y.to_numpy(), expected + 1)


def test_template_arguments_of_kernels(target: str) -> None:
    a, b = ti.field(ti.i32, 3), ti.field(ti.f32, 5)

    @ti.func
    def double(x):
        return x * 2

    @ti.func
    def negate(x):
        return -x

    @ti.kernel
    def apply(x: ti.template(), function: ti.template(), n: ti.template()):
        for i in x:
            x[i] = function(x[i] + n)

    for field in (a, b):
        field.from_numpy(np.arange(field.shape[0]))
        apply(field, double, 1)
        apply(field, negate, 0.5 if field is b else 2)
    assert a.to_numpy().tolist() == [-(2 * (i + 1) + 2) for i in range(3)]
    assert b.to_numpy().tolist() == [-(2 * (i + 1) + 0.5) for i in range(5)]
    assert len(apply.instances()) == 4


def test_template_arguments_of_functions_are_references(target: str) -> None:
    out = ti.field(ti.i32, 3)

    @ti.func
    def increment(x: ti.template(), by):
        x += by
        by = 100
        return x * 2

    @ti.func
    def copy(x):
        x += 1
        return x

    @ti.kernel
    def run():
        n, k = 5, 3
        m = increment(n, k)
        p = copy(n)
        out[0] = n * 100 + k
        out[1] = m
        out[2] = p * 100 + n

    run()
    assert out.to_numpy().tolist() == [803, 16, 908]


def test_functions_with_keywords_defaults_and_several_results(target: str) -> None:
    @ti.func
    def divide(a, b=3):
        return a // b, a % b

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        q, r = divide(n)
        s, t = divide(b=4, a=n)
        return q * 1000 + r * 100 + s * 10 + t

    assert run(17) == 5 * 1000 + 2 * 100 + 4 * 10 + 1


def test_functions_that_return_in_loops_inside_expressions(target: str) -> None:
    out = ti.field(ti.i32, 20)

    @ti.func
    def inner(x):
        for k in range(5):
            if k * 3 > x:
                return k
            if k == 4:
                return 50
        return 99

    @ti.func
    def outer(x):
        s = 0
        for k in range(4):
            t = inner(x + k)
            if t == 50:
                return s + 1000
            s += t if t > 2 else inner(k)
        return s

    @ti.kernel
    def run():
        for i in out:
            out[i] = outer(i) + (inner(i) if i % 2 == 0 else 0)

    def inner_(x: int) -> int:
        for k in range(5):
            if k * 3 > x:
                return k
            if k == 4:
                return 50
        return 99

    def outer_(x: int) -> int:
        s = 0
        for k in range(4):
            t = inner_(x + k)
            if t == 50:
                return s + 1000
            s += t if t > 2 else inner_(k)
        return s

    run()
    assert out.to_numpy().tolist() == [outer_(i) + (inner_(i) if i % 2 == 0 else 0) for i in range(20)]


def test_an_inner_name_does_not_leak_and_an_outer_one_is_assigned(target: str) -> None:
    out = ti.field(ti.i32, 4)

    @ti.kernel
    def run(n: ti.i32):
        total = 1
        for i in range(1):
            k = 5
            for j in range(n):
                k += j
                t = k
                total_inner = t
                if j > 1:
                    t = 100
                    k += t
                out[j] = total_inner
            out[3] = k
        out[0] = total

    run(3)
    k, seen = 5, []
    for j in range(3):
        k += j
        seen.append(k)
        k += 100 if j > 1 else 0
    assert out.to_numpy().tolist() == [1, seen[1], seen[2], k]


def test_a_variable_keeps_its_first_type(target: str) -> None:
    @ti.kernel
    def run(x: ti.f32) -> ti.i32:
        n = 0
        n = x
        n += 1.9
        return n

    with pytest.warns(ti.ShadesmithWarning, match="may lose precision"):
        assert run(2.7) == 3


def test_tuples_swap_and_chain(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        a, b, c = 1, 2, 3
        a, b, c = c, a, b
        a = b = a + c
        ti.loop_config(serialize=True)
        for _ in range(n):
            a, b = b, a + b
        return a * 10000 + b * 100 + c

    a, b, c = 3, 1, 2
    a = b = a + c
    for _ in range(5):
        a, b = b, a + b
    assert run(5) == a * 10000 + b * 100 + c


def test_swizzles_are_read_and_written(target: str) -> None:
    v = ti.Vector.field(4, ti.f32, 2)
    w = ti.Vector.field(3, ti.i32, 2)

    @ti.kernel
    def run():
        for i in v:
            a = v[i]
            a.wz = a.xy * 10
            a.r += a.g
            v[i] = a.stpq.wzyx
            v[i].xy = v[i].yx
            w[i].bgr = ti.Vector([1, 2, 3]) + ti.cast(a.xxy, ti.i32)
            w[i].y *= 2

    start = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32)
    v.from_numpy(start)
    run()
    for row, found, other in zip(start, v.to_numpy(), w.to_numpy(), strict=True):
        x, y, *_ = row
        z, q = y * 10, x * 10
        x = x + y
        assert found.tolist() == [z, q, y, x]
        assert other.tolist() == [3 + y, 2 * (2 + x), 1 + x]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
def test_vectors_are_indexed_at_run_time(target: str, n: int) -> None:
    v = ti.Vector.field(n, ti.i32, 4)
    s = ti.field(ti.i32, 4)

    @ti.kernel
    def run(k: ti.i32):
        for i in v:
            a = v[i]
            for j in range(n):
                a[j] += j * k
                s[i] += a[(j + i) % n] * j
            a[k] = -1
            v[i][n - 1] = a[k - 1]
            v[i][i % n] += a[k]

    start = np.arange(4 * n).reshape(4, n).astype(np.int32)
    v.from_numpy(start)
    run(1)
    for i in range(4):
        a, total = start[i].copy(), 0
        for j in range(n):
            a[j] += j
            total += a[(j + i) % n] * j
        a[1] = -1
        row = start[i].copy()
        row[n - 1] = a[0]
        row[i % n] += -1
        assert s[i] == total
        assert v.to_numpy()[i].tolist() == row.tolist()


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 4), (4, 4), (5, 3)])
def test_matrices_are_indexed_at_run_time(target: str, shape: tuple[int, int]) -> None:
    n, m = shape
    A = ti.Matrix.field(n, m, ti.f32, 3)
    B = ti.Matrix.field(m, n, ti.f32, 3)

    @ti.kernel
    def run(r: ti.i32, c: ti.i32):
        for k in A:
            a = A[k]
            for i, j in ti.ndrange(n, m):
                a[i, j] += i * 10 + j
                B[k][j, i] = a[i, j]
            a[r, c] = 100.0
            A[k] = a

    start = np.arange(3 * n * m).reshape(3, n, m).astype(np.float32)
    A.from_numpy(start)
    run(1, 0)
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    expected = start + i * 10 + j
    assert np.array_equal(B.to_numpy(), expected.transpose(0, 2, 1))
    expected[:, 1, 0] = 100
    assert np.array_equal(A.to_numpy(), expected)


def test_methods_of_vectors_and_matrices(target: str) -> None:
    out = ti.field(ti.f32, 16)

    @ti.kernel
    def run(a: ti.types.vector(3, ti.f32), m: ti.types.matrix(3, 3, ti.f32)):
        b = ti.Vector([1.0, -2.0, 0.5])
        out[0] = a.dot(b)
        out[1] = a.cross(b).y
        out[2] = a.norm()
        out[3] = a.norm_sqr()
        out[4] = a.normalized().sum()
        out[5] = a.max() - a.min()
        out[6] = m.trace()
        out[7] = m.determinant()
        out[8] = (m @ m.inverse())[0, 0]
        out[9] = (m @ m.inverse())[0, 1]
        out[10] = a.outer_product(b)[2, 1]
        out[11] = m.transpose()[0, 2]
        out[12] = (m @ a).z
        out[13] = ti.cast((a > b).any(), ti.f32) + 10 * ti.cast((a > b).all(), ti.f32)
        out[14] = (ti.Matrix.identity(ti.f32, 3) * 3)[1, 1] + m[2, :].sum() + m[:, 1].sum()
        out[15] = ti.Matrix.cols([a, b, b])[1, 0] + ti.Matrix.rows([a, b, b])[1, 0] + m.n * 100 + a.n

    a, b = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 0.5])
    m = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    run(ti.Vector(a.tolist()), ti.Matrix(m.tolist()))
    expected = [
        a @ b,
        np.cross(a, b)[1],
        np.linalg.norm(a),
        a @ a,
        (a / np.linalg.norm(a)).sum(),
        2,
        np.trace(m),
        np.linalg.det(m),
        1,
        0,
        np.outer(a, b)[2, 1],
        m[2, 0],
        (m @ a)[2],
        1,
        3 + m[2].sum() + m[:, 1].sum(),
        2 + 1 + 303,
    ]
    assert np.allclose(out.to_numpy(), expected, rtol=2e-6, atol=1e-6)


def test_vector_arithmetic_broadcasts_scalars(target: str) -> None:
    v = ti.Vector.field(3, ti.i32, 4)
    f = ti.Vector.field(3, ti.f32, 4)

    @ti.kernel
    def run():
        for i in v:
            a = ti.Vector([i, i + 1, i - 2])
            v[i] = (a * 3 - 1) // 2 + (7 - a) % 3 + (a == 1) + (1 << ti.max(a, 0)) - -a
            f[i] = a / 2 + 0.5 ** ti.cast(a, ti.f32) + ti.select(a > 1, 1.0, a)

    run()
    a = np.stack([np.arange(4), np.arange(4) + 1, np.arange(4) - 2], 1)
    assert np.array_equal(v.to_numpy(), (a * 3 - 1) // 2 + (7 - a) % 3 + (a == 1) + (1 << np.maximum(a, 0)) + a)
    assert np.allclose(f.to_numpy(), a / 2 + 0.5**a + np.where(a > 1, 1, a))


@pytest.mark.parametrize("n", [0, 1, 2, 127, 128, 129, 1000])
def test_sizes_that_are_no_powers_of_two(target: str, n: int) -> None:
    @ti.kernel
    def fill(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 2)):
        for i in x:
            x[i] += i + 1
        for i, j in y:
            y[i, j] += i * 3 + j

    @ti.kernel
    def over(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in range(n):
            x[i] *= 2

    x, y = np.zeros(n, np.int32), np.zeros((n, 3), np.int32)
    fill(x, y)
    over(x, n)
    assert np.array_equal(x, 2 * (np.arange(n) + 1))
    assert np.array_equal(y.ravel(), np.arange(3 * n))


@pytest.mark.parametrize(
    "shape", list(itertools.chain.from_iterable([[(3,) * k, (2, 1, 3, 1, 2, 1, 1, 2)[:k]] for k in range(1, 6)]))
)
def test_ndrange_of_every_rank(target: str, shape: tuple[int, ...]) -> None:
    x, y = ti.field(ti.i32, shape), ti.field(ti.i32, shape)
    n = len(shape)

    @ti.kernel
    def run():
        for I in ti.grouped(ti.ndrange(*shape)):
            s = 0
            for k in ti.static(range(n)):
                s = s * 10 + I[k]
            x[I] = s
        for I in ti.grouped(x):
            J = I
            J[0] = (I[0] + 1) % shape[0]
            y[J] = x[I]

    run()
    index = np.indices(shape)
    expected = sum(index[k] * 10 ** (n - 1 - k) for k in range(n))
    assert np.array_equal(x.to_numpy(), expected)
    assert np.array_equal(y.to_numpy(), np.roll(expected, 1, axis=0))


def test_ndrange_with_bounds_of_arguments(target: str) -> None:
    out = ti.field(ti.i32, (8, 9))

    @ti.kernel
    def run(a: ti.i32, b: ti.i32, c: ti.i32):
        for i, j in ti.ndrange((a, b), (c, 9)):
            out[i, j] += 1
        for i, j in ti.ndrange((b, a), c):
            out[i, j] -= 100
        for k in range(a):
            for i, j in ti.ndrange(k, (a, b)):
                out[i, j] += 10

    run(2, 6, 4)
    expected = np.zeros((8, 9), int)
    expected[2:6, 4:9] += 1
    for k in range(2):
        expected[:k, 2:6] += 10
    assert np.array_equal(out.to_numpy(), expected)


def test_loop_variables_may_shadow_and_nest(target: str) -> None:
    out = ti.field(ti.i32, 10)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            s = 0
            for j in range(i):
                for k in range(j, i):
                    if (j + k) % 2:
                        continue
                    s += 1
                    if s > 12:
                        break
                if s > 12:
                    break
            while s > 5:
                s -= 5
                if s == 8:
                    break
            out[i] = s

    def expected(i: int) -> int:
        s = 0
        for j in range(i):
            for k in range(j, i):
                if (j + k) % 2:
                    continue
                s += 1
                if s > 12:
                    break
            if s > 12:
                break
        while s > 5:
            s -= 5
            if s == 8:
                break
        return s

    run(10)
    assert out.to_numpy().tolist() == [expected(i) for i in range(10)]


def test_atomics_return_the_old_value(target: str) -> None:
    x = ti.field(ti.i32, 8)
    out = ti.field(ti.i32, 8)

    @ti.kernel
    def run():
        for _ in range(1):
            out[0] = ti.atomic_add(x[0], 5)
            out[1] = ti.atomic_sub(x[0], 2)
            out[2] = ti.atomic_max(x[0], 50)
            out[3] = ti.atomic_min(x[0], 12)
            out[4] = ti.atomic_and(x[0], 10)
            out[5] = ti.atomic_or(x[0], 5)
            out[6] = ti.atomic_xor(x[0], 6)
            out[7] = ti.atomic_mul(x[0], 3)

    x[0] = 1
    run()
    assert out.to_numpy().tolist() == [1, 6, 4, 50, 12, 8, 13, 11]
    assert x[0] == 33


def test_atomics_on_locals_and_vectors(target: str) -> None:
    v = ti.Vector.field(3, ti.f32, ())
    out = ti.field(ti.i32, 2)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            v[None] += ti.Vector([1.0, i, 0.5])
            ti.atomic_max(v[None][0], 7.0)
        for _ in range(1):
            a = 3
            b = ti.atomic_add(a, 4)
            out[0] = a
            out[1] = b

    run(40)
    assert v[None].to_list()[1:] == [780.0, 20.0]
    assert out.to_numpy().tolist() == [7, 3]


def test_a_local_summed_over_a_parallel_loop(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        total = 0
        largest = -1
        for i in range(n):
            total += i
            ti.atomic_max(largest, i * 7 % 101)
        return total * 1000 + largest

    n = 300
    assert run(n) == (sum(range(n)) * 1000 + max(i * 7 % 101 for i in range(n))) & 0x7FFFFFFF


def test_loop_config_serialize_allows_break(target: str) -> None:
    x = ti.field(ti.i32, 20)

    @ti.kernel
    def run() -> ti.i32:
        last = 0
        ti.loop_config(serialize=True)
        for i in range(1, 20):
            x[i] = x[i - 1] + i
            last = i
            if x[i] > 30:
                break
        return last

    assert run() == 8


def test_data_oriented_classes(target: str) -> None:
    @ti.data_oriented
    class Ramp:
        def __init__(self, n: int, slope: int) -> None:
            self.x = ti.field(ti.i32, n)
            self.slope = slope

        @ti.func
        def height(self, i):
            return self.slope * i

        @ti.kernel
        def fill(self, offset: ti.i32):
            for i in self.x:
                self.x[i] = self.height(i) + offset

        @ti.kernel
        def total(self) -> ti.i32:
            s = 0
            for i in self.x:
                s += self.x[i]
            return s

    a, b = Ramp(4, 3), Ramp(6, 5)
    for ramp in (a, b):
        ramp.fill(1)
    assert a.x.to_numpy().tolist() == [1 + 3 * i for i in range(4)]
    assert b.x.to_numpy().tolist() == [1 + 5 * i for i in range(6)]
    assert [a.total(), b.total()] == [22, 81]


def test_pyfuncs_mean_the_same_in_both_scopes(target: str) -> None:
    @ti.pyfunc
    def blend(a, b, t):
        return a * (1 - t) + b * t

    @ti.kernel
    def run(t: ti.f32) -> ti.f32:
        return blend(2.0, 6.0, t)

    assert run(0.25) == blend(2.0, 6.0, 0.25) == 3.0


def test_functions_on_vectors_and_matrices(target: str) -> None:
    @ti.func
    def rotate(v: ti.types.vector(2, ti.f32), c, s) -> ti.types.vector(2, ti.f32):
        return ti.Matrix([[c, -s], [s, c]]) @ v

    @ti.kernel
    def right(start: ti.math.vec2) -> ti.math.vec2:
        v = start
        ti.loop_config(serialize=True)
        for _ in range(3):
            v = rotate(v, 0.0, 1.0)
        return v

    assert right(ti.math.vec2(1, 2)).to_list() == [2.0, -1.0]


def test_an_argument_that_is_assigned_is_a_copy(target: str) -> None:
    """Beyond Taichi, which calls kernel arguments immutable."""
    out = ti.field(ti.i32, 4)

    @ti.kernel
    def run(n: ti.i32):
        n += 2
        for i in range(n):
            out[i] = n
        n = 1
        out[3] = n

    for _ in range(2):
        run(1)
        assert out.to_numpy().tolist() == [3, 3, 3, 1]
