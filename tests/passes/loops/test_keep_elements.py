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
    apart, overlapping = source(add_up, x, x).split("if x and y overlap")
    assert "if x and y do not overlap" in apart and "stored once" in apart and "stored once" not in overlapping
    assert "stored once" in source(alone, x) and "overlap" not in source(alone, x)
    assert "overlap" not in add_up.source(x, x, arch=ti.python)  # the reference


def test_a_launch_finds_whether_arrays_overlap(target: str):
    array = ti.types.ndarray(ti.f32, ndim=1)

    @ti.kernel
    def add_up(x: array, y: array, m: ti.i32):
        for i in x:
            for k in range(m):
                x[i] += y[k] * (k + 1)

    @ti.kernel
    def in_place(x: array, y: array):
        for i in x:
            for k in range(3):
                if i != k:
                    x[i] += y[i] * 0.5

    def added(begin: int, size: int) -> np.ndarray:
        """Add all numbers to `size` of them, one after another."""
        memory = np.arange(1, 9, dtype=np.float32)
        for i in range(begin, begin + size):
            for k in range(8):
                memory[i] += memory[k] * (k + 1)
        return memory

    for begin in (0, 3, 7):  # one number, which the others find changed
        memory = np.arange(1, 9, dtype=np.float32)
        add_up(memory[begin : begin + 1], memory, 8)
        assert np.array_equal(memory, added(begin, 1))
    memory, others = np.arange(1, 9, dtype=np.float32), np.arange(1, 4, dtype=np.float32)
    add_up(others, memory, 8)
    assert np.array_equal(others, np.arange(1, 4) + (np.arange(1, 9) * np.arange(1, 9)).sum())
    one = np.ones(300, np.float32)
    in_place(one, one)
    assert np.array_equal(one, np.where(np.arange(300) < 3, 1.5**2, 1.5**3).astype(np.float32))
    neighbours = np.arange(20, dtype=np.float32)
    in_place(neighbours[:10], neighbours[10:])  # apart by nothing
    steps = np.where(np.arange(10) < 3, 2, 3)
    assert np.array_equal(neighbours[:10], np.arange(10) + np.arange(10, 20) * 0.5 * steps)


def test_arrays_without_elements_or_axes(target: str):
    """What a launch compares."""
    array = ti.types.ndarray(ti.i32, ndim=2)

    @ti.kernel
    def add_up(x: array, y: array):
        for i, j in x:
            for k in range(y.shape[1]):
                x[i, j] += y[i, k]

    for rows, columns, more in ((0, 0, 0), (3, 0, 5), (3, 5, 0), (3, 5, 7)):
        x, y = np.ones((rows, columns), np.int32), np.ones((rows, more), np.int32)
        add_up(x, y)
        assert (x == 1 + more).all()

    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, ndim=1), s: ti.types.ndarray(ti.f32, ndim=0)):
        for i in x:
            for k in range(3):
                x[i] += s[None]

    x, s = np.ones(5, np.float32), np.full((), 2, np.float32)
    scale(x, s)
    assert (x == 7).all()
    scale(x[3:4], x[3:4].reshape(()))
    assert x.tolist() == [7, 7, 7, 56, 7]


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


def test_a_launch_finds_whether_elements_exist(target: str):
    """No iteration of the inner loop need access the element, and the parallel loop may be longer than the array."""
    array = ti.types.ndarray(ti.i32, ndim=1)

    @ti.kernel
    def add_up(x: array, y: array, m: ti.i32):
        for i in x:
            for k in range(m):
                if i < y.shape[0] and i != k:
                    y[i] += x[k] * 2

    @ti.kernel
    def add_pairs(y: ti.types.ndarray(ti.i32, ndim=2), n: ti.i32, m: ti.i32):
        for i, j in ti.ndrange(n, m):
            for k in range(m):
                if k != j:
                    y[j, i] += k

    x = np.arange(1, 41, dtype=np.int32)
    for size, m in ((40, 40), (17, 40), (60, 3), (1, 1), (5, 0)):
        y = np.ones(size, np.int32)
        add_up(x, y, m)
        shared = min(size, 40)
        expected = np.ones(size, np.int32)
        expected[:shared] += 2 * (x[:m].sum() - np.where(np.arange(shared) < m, x[:shared], 0))
        assert np.array_equal(y, expected), (size, m)
    for shape in ((3, 7), (4, 8)):
        y = np.zeros(shape, np.int32)
        add_pairs(y, 7, 3)
        assert np.array_equal(y[:3, :7], np.repeat([[3], [2], [1]], 7, axis=1)) and y.sum() == 42
    for arch in (ti.cuda, ti.vulkan, ti.cpu):
        few, enough = add_up.source(x, x, 3, arch=arch).split("if y and x do not overlap and y is as long as the loop")
        assert "y is shorter than the loop" in few and "stored once" in enough and "stored once" not in few
        assert "if y is as long as the loop" in add_pairs.source(np.zeros((2, 2), np.int32), 7, 3, arch=arch)


def test_random_numbers_do_not_depend_on_copies_of_tasks(target: str):
    """A loop of which a launch chooses one form, and those behind it, draw what the interpreter draws."""
    array = ti.types.ndarray(ti.f32, ndim=1)

    @ti.kernel
    def draw(x: array, y: array, z: array):
        for i in x:
            for k in range(3):
                x[i] += y[k]
        for i in z:
            z[i] = ti.random()
        for i in x:
            for k in range(3):
                x[i] += y[k] * ti.random()

    found = []
    for arch in (target, "python"):
        ti.init(arch=getattr(ti, arch), log_level=ti.ERROR, random_seed=5)
        x, y, z = np.zeros(4, np.float32), np.ones(3, np.float32), np.zeros(9, np.float32)
        draw(x, y, z)
        found.append((x, z))
    assert np.allclose(found[0][0], found[1][0], rtol=1e-6) and np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("of_field", [True, False])
def test_sources_have_the_helpers_of_their_choices_alone(fields, of_field):
    """Whether `x` has the elements is the only question if `y` is a field, and so may not share its memory."""
    field = ti.field(ti.f32, 40)

    @ti.kernel
    def gathered(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), n: ti.i32):
        for i in range(n):
            for k in range(n):
                if k != i:
                    if ti.static(of_field):
                        x[i] += field[k]
                    else:
                        x[i] += y[k]

    x, y = np.zeros(40, np.float32), np.ones(40, np.float32)
    text = gathered.source(x, y, 40, arch=ti.cpu)
    assert "args.x_n >= args.n" in text
    assert text.count("are_apart(") == (0 if of_field else 3)


@pytest.mark.parametrize(("times", "length", "tasks"), [(2, 4, 2), (2, 40, 1), (9, 40, 2)])
def test_long_tasks_are_written_twice_for_many_stores_alone(times: int, length: int, tasks: int) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def scaled(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            t = y[i]
            for k in range(times):
                x[i] *= t + y[k]
            for k in ti.static([2.0 + 0.5 * n for n in range(length)]):
                t = ti.sin(t * k) * t + k
            y[i] = t

    x = ti.ndarray(ti.f32, 8)
    assert len(scaled.inspect(x, x, arch=ti.cuda).module.tasks) == tasks
