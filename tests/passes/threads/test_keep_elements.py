"""Elements that a loop reads and writes are kept in a variable, and nothing else is."""

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [pytest.mark.sampled(3), pytest.mark.one_target]  # the rest in `make test-all`

N = 6


@pytest.fixture
def fields():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    return [ti.field(ti.f32, (N, N)) for _ in range(3)]


def source(kernel, *arguments) -> str:
    return kernel.source(*arguments, arch=ti.cuda)


def test_sum_in_a_loop_is_stored_once(fields):
    a, b, c = fields

    @ti.kernel
    def multiply():
        for i, j in c:
            for k in range(N):
                c[i, j] += a[i, k] * b[k, j]

    text = source(multiply)
    assert "c_ij += a(i, k) * b(k, j);" in text
    assert "c(i, j) = c_ij;  // stored once: no other iteration writes it (keep_elements)" in text


def test_element_that_is_set_before_the_loop_is_not_loaded(fields):
    a, _, c = fields

    @ti.kernel
    def add_up():
        for i, j in a:
            c[i, j] = 0.0
            for k in range(N):
                c[i, j] += a[i, k]
            c[i, j] = c[i, j] / N

    text = source(add_up)
    assert "float c_ij = 0.0f;" in text and "c(i, j) = c_ij / " in text
    assert text.count("c(i, j)") == 1 + text.count("#define c(i, j)")


def test_elements_that_other_iterations_may_write_stay(fields):
    a, b, c = fields

    @ti.kernel
    def scatter():
        for i, j in a:
            for k in range(N):
                c[j, 0] = c[j, 0] + b[i, k]

    assert "c_j" not in source(scatter)


def test_other_elements_of_the_array_stay(fields):
    a, _, c = fields

    @ti.kernel
    def prefix():
        for i, j in a:
            for k in range(1, N):
                c[i, j] += c[i, k]

    assert "stored once" not in source(prefix)


def test_element_that_the_program_may_not_have_is_not_accessed(fields):
    a, b, c = fields

    @ti.kernel
    def ragged(n: ti.i32):
        for i, j in ti.ndrange(2 * N, N):
            for k in range(n if i < N else 0):
                c[i, j] += a[0, k]

    assert "stored once" not in source(ragged, 3)


def test_loops_that_are_left_and_barriers_stay(fields):
    a, _, c = fields

    @ti.kernel
    def left():
        for i, j in c:
            for _ in range(2):
                if a[i, j] > 1:
                    break
                c[i, j] += 1.0
                for k in range(N):
                    c[i, j] += a[i, k]
                    if c[i, j] > 9:
                        break

    assert "c(i, j) = c_ij;" in source(left)  # `break` leaves loops inside the region only

    @ti.kernel
    def waits():
        ti.loop_config(block_dim=32)
        for i in range(32):
            for k in range(N):
                c[i % N, 0] += a[0, k]
                ti.simt.block.sync()

    assert "stored once" not in source(waits)


def test_arrays_that_may_overlap_stay():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    array = ti.types.ndarray(ti.f32, ndim=1)

    @ti.kernel
    def add_up(x: array, y: array):
        for i in x:
            for k in range(3):
                x[i] += y[k]

    @ti.kernel
    def alone(x: array):
        for i in x:
            for k in range(3):
                x[i] += x[i] * k

    x = ti.ndarray(ti.f32, 4)
    assert "stored once" not in source(add_up, x, x)
    assert "stored once" in source(alone, x)


def test_results_are_those_of_the_python(target):
    a, c = ti.field(ti.f32, (N, N)), ti.Vector.field(2, ti.i32, (N, N))
    total = ti.field(ti.i32, ())
    values = np.arange(N * N, dtype=np.float32).reshape(N, N)
    a.from_numpy(values)

    @ti.kernel
    def count(limit: ti.i32):
        for i, j in c:
            c[i, j] = [1, 2]
            for k in range(limit):
                if a[i, k] > 12:
                    break
                if k == 1:
                    continue
                c[i, j].x += int(a[i, k])
                c[i, j][1] += c[i, j].x
            if c[i, j].x > 20:
                c[i, j] *= 2
        for _ in range(1):
            total[None] = 0
            for i, j in ti.ndrange(N, N):
                total[None] += c[i, j].x

    for limit in (0, 1, N):
        count(limit)
        expected = np.zeros((N, N, 2), np.int32)
        for i in range(N):
            x, y = 1, 2
            for k in range(limit):
                if values[i, k] > 12:
                    break
                if k != 1:
                    x += int(values[i, k])
                    y += x
            expected[i, :] = (2 * x, 2 * y) if x > 20 else (x, y)
        assert (c.to_numpy() == expected).all()
        assert total[None] == expected[..., 0].sum()


def test_vector_that_a_static_loop_fills_is_stored_as_a_whole(fields):
    a, _, _ = fields
    f, g = ti.Vector.field(N, ti.f32, N), ti.Vector.field(N + 1, ti.f32, N)

    @ti.kernel
    def fill():
        for i in f:
            for k in ti.static(range(N)):
                f[i][k] = 2 * a[i, k]
                g[i][k] = a[i, k]

    text = source(fill)
    assert "f(i) = f_i;  // stored once" in text
    assert "g(i).e[k] = a(i, k);" in text  # its last component stays as it is
