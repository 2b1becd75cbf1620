"""Reductions: sums, extrema and bit operations of all iterations of a parallel loop, against NumPy."""

import numpy as np
import pytest

import shadesmith as ti

SIZES = [0, 1, 1000, 100_003, pytest.param(2**20 + 3, marks=pytest.mark.exhaustive)]
INTEGERS = ["i32", "u32", "i64", "u64"]


def numpy_type(name: str) -> type:
    return {"f16": np.float16, "f32": np.float32, "f64": np.float64}.get(name) or getattr(
        np, name.replace("i", "int", 1) if name[0] == "i" else name.replace("u", "uint", 1)
    )


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_exact_and_wrap(target: str, name: str) -> None:
    T, kind = getattr(ti, name), numpy_type(name)
    x, found = ti.ndarray(T, 5003), ti.field(T, 8)
    numbers = np.random.default_rng(1).integers(0, 2**63, 5003).astype(kind)
    x.from_numpy(numbers)

    @ti.kernel
    def reduce(x: ti.types.ndarray(T, 1)):
        for i in x:
            found[0] += x[i]
            found[1] -= x[i]
            ti.atomic_min(found[2], x[i])
            ti.atomic_max(found[3], x[i])
            ti.atomic_and(found[4], x[i] | T(12))
            ti.atomic_or(found[5], x[i] & T(12))
            ti.atomic_xor(found[6], x[i])
            ti.atomic_mul(found[7], x[i] | T(1))

    start = np.array([3, 4, 5, 6, -1 if name[0] == "i" else 7, 1, 2, 3]).astype(kind)
    found.from_numpy(start)
    reduce(x)
    with np.errstate(over="ignore"):
        expected = [
            start[0] + numbers.sum(dtype=kind), start[1] - numbers.sum(dtype=kind),
            min(start[2], numbers.min()), max(start[3], numbers.max()),
            start[4] & np.bitwise_and.reduce(numbers | kind(12)), start[5] | np.bitwise_or.reduce(numbers & kind(12)),
            start[6] ^ np.bitwise_xor.reduce(numbers), start[7] * np.multiply.reduce(numbers | kind(1), dtype=kind),
        ]  # fmt: skip
    assert found.to_numpy().tolist() == [int(value) for value in expected]


def test_integers_are_joined_by_openmp() -> None:
    """No order changes their sums; floats are joined in the order of the parts."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def least_and_sum(x: ti.types.ndarray(ti.i32, 2)) -> ti.i32:
        least, sums = ti.i32(2**31 - 1), 0
        for i, j in x:
            ti.atomic_min(least, x[i, j])
            sums += x[i, j]
        return least ^ sums

    @ti.kernel
    def total(x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
        sums = 0.0
        for i in x:
            sums += x[i]
        return sums

    for shape in ((3, 5), (300, 70)):
        x = np.random.default_rng(4).integers(-(2**31), 2**31, shape).astype(np.int32)
        assert least_and_sum(x) == int(x.min()) ^ int(x.sum(dtype=np.int32))
    source = least_and_sum.source(x)
    assert "reduction(min: least) reduction(+: sums)" in source and "PARTS" not in source
    assert "PARTS" in total.source(np.zeros(3, np.float32))


@pytest.mark.parametrize("name", ["i32", "f32"])
def test_directives_of_many_sums_are_continued(name: str) -> None:
    """The names of twenty sums need more than one line of a pragma."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    T = getattr(ti, name)
    columns, sums, products = ti.field(T, (4, 1000)), ti.field(T, 4), ti.field(T, (4, 4))
    numbers = np.random.default_rng(4).integers(-9, 9, (4, 1000)).astype(numpy_type(name))
    columns.from_numpy(numbers)

    @ti.kernel
    def add_products():
        for i in range(1000):
            for a in ti.static(range(4)):
                sums[a] += columns[a, i]
                for b in ti.static(range(4)):
                    products[a, b] += columns[a, i] * columns[b, i]

    add_products()
    assert (sums.to_numpy() == numbers.sum(1)).all()
    assert (products.to_numpy() == numbers @ numbers.T).all()


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_sum_for_each_bit_of_an_index(target: str) -> None:
    """The probabilities of 20 qubits: each has an accumulator, though its static loop has more than 16 iterations."""
    bits, n = 20, 5000
    x, sums = ti.field(ti.f64, n), ti.field(ti.f64, bits)
    numbers = np.random.default_rng(5).integers(-99, 99, n).astype(float)
    x.from_numpy(numbers)

    @ti.kernel
    def add():
        for i in x:
            for bit in ti.static(range(bits)):
                if (i * 211 >> bit) & 1 == 1:
                    sums[bit] += x[i]

    add()
    expected = [numbers[(np.arange(n) * 211 >> bit) & 1 == 1].sum() for bit in range(bits)]
    np.testing.assert_array_equal(sums.to_numpy(), expected)
    assert "sums_.e[19] += x(i)" in add.source(arch=ti.cuda)


@pytest.mark.sampled(2, each="name")
@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_sums_are_nearly_exact(target: str, name: str, count: int) -> None:
    T, kind = getattr(ti, name), numpy_type(name)
    numbers = np.random.default_rng(2).standard_normal((count, 1)).astype(kind)
    total = ti.field(T, ())

    @ti.kernel
    def add(x: ti.types.ndarray(T, 2)) -> T:
        s = ti.cast(0, T)
        for i, j in x:
            total[None] += x[i, j]
            s += x[i, j]
        return s

    if target == "python" and count > 200_000:
        pytest.skip("the interpreter takes a minute")
    x = ti.ndarray(T, (count, 1))
    x.from_numpy(numbers)
    returned = add(x)
    exact, size = numbers.astype(np.longdouble).sum(), np.abs(numbers.astype(np.longdouble)).sum()
    for found in (total[None], returned):
        assert abs(found - exact) <= 40 * np.finfo(kind).eps * size


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_ones_beyond_the_integers_of_f32(target: str) -> None:
    """One f32 in memory stops at 2^24."""
    count = 2**24 + 4097
    total = ti.field(ti.f32, ())

    @ti.kernel
    def add(n: ti.i32):
        for _ in range(n):
            total[None] += 1.0

    if target == "python":
        pytest.skip("the interpreter adds one by one")
    add(count)
    assert total[None] == np.float32(count)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_extrema_of_special_numbers_are_those_of_atomic_operations(target: str, name: str) -> None:
    T, kind = getattr(ti, name), numpy_type(name)
    nan, inf = float("nan"), float("inf")
    least, greatest = ti.field(T, ()), ti.field(T, ())

    @ti.kernel
    def extrema(x: ti.types.ndarray(T, 1)):
        for i in x:
            ti.atomic_min(least[None], x[i])
            ti.atomic_max(greatest[None], x[i])

    cases = [([nan, nan], nan), ([nan, 2.0, 7.0], nan), ([nan, nan], 3.0), ([-inf, inf], 0.0), ([nan, -inf], 1.0),
             ([inf], nan), ([], nan), ([], 5.0), ([-3.0], -inf), ([nan] * 300 + [4.0], nan)]  # fmt: skip
    for numbers, start in cases:
        x = ti.ndarray(T, max(len(numbers), 1)) if numbers else ti.ndarray(T, 0)
        x.from_numpy(np.array(numbers, kind))
        least[None] = greatest[None] = start
        extrema(x)
        expected = [np.fmin.reduce([start, *numbers]), np.fmax.reduce([start, *numbers])]
        np.testing.assert_array_equal([least[None], greatest[None]], expected, f"{numbers} {start}")


def test_iterations_that_perform_nothing(target: str) -> None:
    x = ti.ndarray(ti.f32, 3001)
    x.from_numpy(np.arange(3001, dtype=np.float32))
    total, greatest, bits = ti.field(ti.f32, ()), ti.field(ti.f32, ()), ti.field(ti.i32, ())

    @ti.kernel
    def few(x: ti.types.ndarray(ti.f32, 1), limit: ti.f32):
        for i in x:
            if x[i] < limit:
                total[None] += x[i]
                ti.atomic_max(greatest[None], x[i])
                ti.atomic_and(bits[None], 6)

    greatest[None], bits[None] = -2.0, -1
    few(x, 0.0)
    assert (total[None], greatest[None], bits[None]) == (0.0, -2.0, -1)
    few(x, 3.0)
    assert (total[None], greatest[None], bits[None]) == (3.0, 2.0, 6)


def test_vectors_matrices_and_members(target: str) -> None:
    body = ti.types.struct(mass=ti.f32, momentum=ti.types.vector(2, ti.f32))
    one, v = body.field(shape=()), ti.Vector.field(3, ti.i32, ())
    m, xs = ti.Matrix.field(2, 2, ti.f32, 2), ti.field(ti.f32, 1500)
    xs.from_numpy(np.arange(1500, dtype=np.float32))

    @ti.kernel
    def reduce():
        for i in xs:
            one[None].mass += xs[i]
            one[None].momentum += ti.Vector([1.0, 2.0])
            v[None] += ti.Vector([1, i, -i])
            m[1] += ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
            v[None][1] += 1

    reduce()
    total = 1500 * 1499 // 2
    assert one[None].mass == total and list(one[None].momentum) == [1500.0, 3000.0]
    assert v[None].to_numpy().tolist() == [1500, total + 1500, -total]
    assert m.to_numpy().tolist() == [[[0.0, 0.0], [0.0, 0.0]], [[1500.0, 3000.0], [4500.0, 6000.0]]]


def test_indices_of_arguments_static_loops_and_functions(target: str) -> None:
    out, x = ti.ndarray(ti.i32, 4), ti.ndarray(ti.i32, 777)
    x.from_numpy(np.arange(777, dtype=np.int32))

    @ti.func
    def add(out: ti.template(), k, value):
        out[k] += value

    @ti.kernel
    def at(out: ti.types.ndarray(ti.i32, 1), x: ti.types.ndarray(ti.i32, 1), k: ti.i32):
        for i in x:
            add(out, k, x[i])

    @ti.kernel
    def statically(out: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for k in ti.static(range(3)):
            for i in range(n):
                out[k] += i * k
        for i in range(n):
            for k in ti.static(range(3)):
                out[k] += k

    total = 777 * 776 // 2
    at(out, x, 3)
    statically(out, 777)
    assert out.to_numpy().tolist() == [0, total + 777, 2 * total + 2 * 777, total]
    at(out, ti.ndarray(ti.i32, 0), 1000)  # no iteration: the place does not exist
    assert out.to_numpy().tolist() == [0, total + 777, 2 * total + 2 * 777, total]


def test_what_is_no_reduction(target: str) -> None:
    """A place that is read, one under another operation, one whose old value is used: all as they are written."""
    a, b, c, order = ti.field(ti.i32, ()), ti.field(ti.i32, ()), ti.field(ti.i32, 2), ti.field(ti.i32, 100)

    @ti.kernel
    def mixed():
        for i in range(100):
            a[None] += 1
            if a[None] > 1000:
                b[None] = 1
            order[ti.atomic_add(b[None], 1)] = 1
            ti.atomic_max(c[i % 2], i)

    mixed()
    assert (a[None], b[None], c.to_numpy().tolist(), order.to_numpy().sum()) == (100, 100, [98, 99], 100)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_numbers_kept_side_by_side(target: str) -> None:
    """Scalars of a solver in one field: some elements are read or set where others are added to."""
    n = 10_000
    r, s, v = ti.field(ti.f32, n), ti.field(ti.f32, 4), ti.Vector.field(3, ti.f32, 2)

    @ti.kernel
    def update():
        for i in r:
            r[i] = s[0] / s[1] + i % 3
            s[2] += r[i]
            s[3] = 7.0
            v[1].x += r[i] * v[0].x
            v[1].y -= v[1].z

    s.from_numpy(np.array([1, 2, 3, 4], np.float32))
    v.from_numpy(np.array([[2, 0, 0], [0, 0, 0.5]], np.float32))
    update()
    total = (0.5 + np.arange(n) % 3).sum()
    assert s.to_numpy() == pytest.approx([1, 2, 3 + total, 7])
    assert v.to_numpy().ravel() == pytest.approx([2, 0, 0, 2 * total, -n / 2, 0.5])
    if target != "python":
        assert "joined below" in update.source()


def test_an_array_passed_twice(target: str) -> None:
    """An iteration that reads the place through another argument after its own addition sees that."""
    x = ti.ndarray(ti.i32, 1)

    @ti.kernel
    def follow(out: ti.types.ndarray(ti.i32, 1), x: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        seen = 0
        for i in range(1):
            out[0] += 5
            seen += x[0]
        return seen

    assert follow(x, x) == 5
    assert follow(x, x) == 10


def test_blocks_of_any_size_and_loops_of_any_shape(target: str) -> None:
    total = ti.field(ti.i32, ())

    @ti.kernel
    def add(a: ti.i32, b: ti.i32):
        ti.loop_config(block_dim=7)
        for i in range(a, b):
            total[None] += i
        for i in range(b, a, -3):
            total[None] += i
        for i, j, k in ti.ndrange((2, a), 3, (-b, b)):
            total[None] += i * j + k

    expected = 0
    for a, b in ((3, 1000), (1000, 3), (5, 5), (4, 5), (-20, 20)):
        add(a, b)
        expected += sum(range(a, b)) + sum(range(b, a, -3))
        expected += sum(i * j + k for i in range(2, a) for j in range(3) for k in range(-b, b)) if b < 1000 else 0
        if b == 1000:
            expected += sum(i * j * 2000 - 1000 for i in range(2, a) for j in range(3))
    assert total[None] == expected


def test_layouts_and_nested_loops(target: str) -> None:
    x, total = ti.field(ti.f32), ti.field(ti.f64, ())
    ti.root.dense(ti.ij, (5, 3)).dense(ti.ij, (7, 11)).place(x)
    numbers = np.random.default_rng(3).random((35, 33)).astype(np.float32)
    x.from_numpy(numbers)

    @ti.kernel
    def add():
        for i, j in x:
            for k in range(2):
                if (i + j + k) % 3 != 0:
                    total[None] += ti.cast(x[i, j], ti.f64) * k

    add()
    i, j = np.indices(numbers.shape)
    assert abs(total[None] - numbers[(i + j + 1) % 3 != 0].astype(np.float64).sum()) < 1e-9


def test_the_option_switches_it_off() -> None:
    for option in (True, False):
        ti.init(arch=ti.cpu, make_thread_local=option)
        total = ti.field(ti.f32, ())

        @ti.kernel
        def add(n: ti.i32):
            for i in range(n):
                total[None] += i

        add(10)
        assert total[None] == 45.0
        assert ("joined below" in add.source()) == option
    ti.reset()


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_deterministic_sums_have_the_same_bits_in_each_run(target: str) -> None:
    ti.init(arch=getattr(ti, target), deterministic=True, log_level=ti.WARN)
    count = 1000 if target == "python" else 200_003
    numbers = np.random.default_rng(5).standard_normal(count).astype(np.float32)
    x, total, v = ti.ndarray(ti.f32, count), ti.field(ti.f32, ()), ti.Vector.field(2, ti.f32, ())
    x.from_numpy(numbers)

    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            total[None] += x[i]
            v[None] += ti.Vector([x[i], 1.0])

    found = set()
    for _ in range(20):
        total[None], v[None] = 3.0, [3.0, 0.0]
        add(x)
        found.add((total[None], *v[None].to_numpy().tolist()))
    ((sum_of_x, first, second),) = found
    exact = 3.0 + numbers.astype(np.float64).sum()
    assert abs(sum_of_x - exact) < 1e-2 and first == sum_of_x and second == count
    for size in (0, 1, 5):  # the last block starts its count again
        few = ti.ndarray(ti.f32, size)
        few.fill(1.0)
        total[None] = 0.0
        add(few)
        assert total[None] == size


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_sum_that_stays_atomic_is_reported_if_it_shall_be_deterministic(target: str) -> None:
    ti.init(arch=getattr(ti, target), deterministic=True, log_level=ti.WARN)
    bins = ti.field(ti.f32, 4)

    @ti.kernel
    def scatter(n: ti.i32):
        for i in range(n):
            bins[i % 4] += 1.0

    if target == "python":
        scatter(8)
    else:
        with pytest.warns(ti.ShadesmithWarning, match="deterministic"):
            scatter(8)
    assert bins.to_numpy().tolist() == [2.0] * 4


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_returned_values_are_one_task(target: str) -> None:
    x = ti.ndarray(ti.f32, (40, 30))
    numbers = np.random.default_rng(6).random((40, 30)).astype(np.float32)
    x.from_numpy(numbers)

    @ti.kernel
    def mean(x: ti.types.ndarray(ti.f32, 2), start: ti.f32) -> ti.f32:
        s = start * 2.0
        for i, j in x:
            s += x[i, j]
        return s / (x.shape[0] * x.shape[1])

    @ti.kernel
    def several(x: ti.types.ndarray(ti.f32, 2)) -> ti.types.vector(3, ti.f32):
        least, greatest, count = 1e30, -1e30, 0
        for i, j in x:
            ti.atomic_min(least, x[i, j])
            ti.atomic_max(greatest, x[i, j])
            if x[i, j] < 0.5:
                count += 1
        return ti.Vector([least, greatest, ti.cast(count, ti.f32)])

    for _ in range(3):
        assert abs(mean(x, 3.0) - (numbers.astype(np.float64).sum() + 6.0) / 1200) < 1e-6
        assert several(x).to_numpy().tolist() == [numbers.min(), numbers.max(), np.count_nonzero(numbers < 0.5)]
    if target != "python":
        assert len(mean.inspect(x, 3.0).module.tasks) == len(several.inspect(x).module.tasks) == 1
    empty = ti.ndarray(ti.f32, (0, 30))
    assert several(empty).to_numpy().tolist() == [np.float32(1e30), np.float32(-1e30), 0.0]


BODIES = {
    "total[None] += x[i]": True,
    "y[i] = total[None]; total[None] += x[i]": False,
    "y[i] = ti.atomic_add(total[None], x[i])": False,
    "bins[i % 4] += x[i]": False,
    "bins[0] += x[i]; bins[1] -= x[i]": True,
    "bins[0] += x[i]; ti.atomic_max(bins[1], x[i])": True,
    "bins[0] += x[i]; ti.atomic_max(bins[k], x[i])": False,
    "bins[0] += x[i]; bins[2] = 0.0": True,
    "bins[0] += x[i]; bins[0] = 0.0": False,
    "bins[0] += x[i]; bins[k] = 0.0": False,
    "bins[0] += bins[1] / bins[2]": True,
    "bins[0] += bins[k]": False,
    "bins[0] += bins[i % 4]": False,
    "bins[0] += bins[1]; bins[1] += bins[2]": True,  # of `bins[0]`
    "bins[1] += x[i]; bins[0] += bins[1]; bins[0] -= bins[0]": False,
    "v[None][0] += v[None][1]": True,
    "v[None][0] += v[None].sum()": False,
    "bins[k] += x[i]": True,
    "bins[x_i[None]] += x[i]": False,
    "if x[i] > 0.0: bins[k] += 1.0": False,  # the place may be missing where no iteration adds to it
    "if x[i] > 0.0: bins[3] += 1.0": True,
    "for j in range(3): total[None] += x[i] * j": True,
    "for j in ti.static(range(4)): bins[j] += x[i] * j": True,
    "for j in ti.static(range(3)): v[None][j] -= x[i] * j": True,
    "for j in ti.static(range(4)): bins[(i + j) % 4] += x[i] * j": False,
    "ti.simt.block.sync(); total[None] += x[i]": False,
    "out[0] += b[i]": True,
    "out[0] += 1.0; y[i] = b[i]": False,  # `b` may be `out`
    "for j in range(3): out[0] += b[j]": False,
    "b[i] = 1.0; out[0] += 1.0": True,
    "sparse[2] += x[i]": False,
}


@pytest.mark.parametrize("body", BODIES)
def test_which_atomic_operations_are_reductions(define_kernel, body: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    total, bins, x_i = ti.field(ti.f32, ()), ti.field(ti.f32, 4), ti.field(ti.i32, ())
    x, y, sparse = ti.field(ti.f32, 64), ti.field(ti.f32, 64), ti.field(ti.f32)
    ti.root.pointer(ti.i, 4).place(sparse)
    N = ti.types.ndarray(ti.f32, 1)
    v = ti.Vector.field(3, ti.f32, ())
    text = f"def reduce(k: ti.i32, out: N, b: N):\n    for i in range(64):\n        {body}\n"
    kernel = define_kernel(text, total=total, bins=bins, x_i=x_i, x=x, y=y, sparse=sparse, N=N, v=v)
    a = ti.ndarray(ti.f32, 64)
    arch = ti.cuda if "sync" in body or "sparse" in body else ti.cpu
    assert ("joined below" in kernel.source(1, a, a, arch=arch)) == BODIES[body]
    ti.reset()


@pytest.mark.parametrize("name", ["i32", "f32"])
def test_what_follows_a_sum_reads_other_memory(target: str, name: str) -> None:
    """The last block of the loop runs the statements behind it (fuse_result): an array that they read stays one."""
    number = getattr(ti, name)
    f, v = ti.field(number, shape=()), ti.Vector.field(2, number, shape=3)

    @ti.kernel
    def k(x: ti.types.ndarray(dtype=number, ndim=1), start: number):
        s = start
        least = start
        for i in x:
            s += x[i]
            ti.atomic_min(least, x[i])
        f[None] += s
        v[1][0] = f[None] * 2 + v[2][1] - least

    f.fill(5)
    v.fill(1)
    k(np.arange(-1, 1000).astype(f"{'int' if name == 'i32' else 'float'}32"), 3)
    assert (f[None], v[1][0], v[0][0]) == (5 + 3 + 499499, 2 * (5 + 3 + 499499) + 1 + 1, 1)


@pytest.mark.parametrize("count", [100, 20_000])
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_a_sum_of_no_number_keeps_its_sign(name: str, count: int) -> None:
    ti.init(arch=ti.cpu, fast_math=False, log_level=ti.ERROR)
    x, total = (ti.field(getattr(ti, name), shape) for shape in (count, ()))

    @ti.kernel
    def add(least: ti.f32):
        for i in x:
            if x[i] > least:
                total[None] += x[i]

    total[None] = -0.0
    add(1.0)
    assert np.signbit(total[None])
    x.fill(2.0)
    add(1.0)
    assert total[None] == 2.0 * count


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 8_191, 8_192, 65_535, 65_536, 70_001])
def test_parts_of_short_iterations(count: int) -> None:
    """A part has some hundred iterations, so that 10,000 numbers are no 128 loops that are too short for vectors."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    x = np.random.default_rng(4).integers(-9, 9, count).astype(np.float32)

    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    @ti.kernel
    def greatest_of_some(x: ti.types.ndarray(ti.f32, 1), first: ti.i32) -> ti.f32:
        s = -100.0
        for i in range(first, x.shape[0]):
            ti.atomic_max(s, x[i])
        return s

    assert add(x) == x.sum()
    assert "part < part_count(args.x_n)" in add.source(x)
    for first in (0, 3, count, count + 700):
        assert greatest_of_some(x, first) == max([-100.0, *x[first:]])


def test_parts_of_rows() -> None:
    """Few iterations that take long keep their parts."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 2)) -> ti.f32:
        s = 0.0
        for i, j in x:
            s += x[i, j]
        return s

    x = np.ones((200, 3), np.float32)
    assert add(x) == 600 and "part < PARTS" in add.source(x)
