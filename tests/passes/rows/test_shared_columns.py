"""Pass `shared_columns`: the threads of a block share loops over columns; results are those of plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.rows import shared_columns

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Plane, Floats = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.f32, 1)
COMMENT = "(shared_columns)"


@pytest.fixture(autouse=True)
def _short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let short columns be long enough, except where a source is looked at."""
    if "target" in request.fixturenames:
        monkeypatch.setattr(shared_columns, "LONG", 1)


@ti.kernel
def product(a: Plane, x: Floats, y: Floats):
    for j in y:
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i, j] * x[i]
        y[j] = s


def numbers(*shapes: Any, seed: int = 1) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.integers(-9, 9, shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (31, 40), (32, 32), (33, 33), (70, 1), (101, 65), (64, 0)])
def test_product_of_ndarrays(target, shape):
    a, x, y = numbers(shape, shape[0], shape[1])

    @ti.kernel
    def multiply(a: Plane, x: Floats, y: Floats):
        for j in y:
            s = 0.0
            for i in range(a.shape[0]):
                s += a[i, j] * x[i]
            y[j] = s

    multiply(a, x, y)
    assert np.array_equal(y, x @ a)


@pytest.mark.parametrize("shape", [(40, 40), (40, 100), (40, 101), (31, 100), (32, 0), (32, 1)])
def test_a_launch_starts_the_task_for_its_size(target, monkeypatch, shape):
    monkeypatch.setattr(shared_columns, "MANY", 100)

    @ti.kernel
    def multiply(a: Plane, x: Floats, y: Floats, n: ti.i32):
        for j in y:
            s = 0.0
            for i in range(n):
                s += a[i, j] * x[i]
            y[j] = s

    n, m = shape
    a, x, y = numbers(shape, n, m)
    for _ in range(3):
        multiply(a, x, y, n)
        assert np.array_equal(y, x @ a)
    if target in ("cuda", "vulkan"):
        counts = [task.iterations for task in multiply.launch_plan(a, x, y, n).tasks]
        assert counts == ([m, 0] if n < 32 or m > 100 else [0, -(-m // 32) * 1024])


KINDS = {"i32": ti.i32, "u32": ti.u32, "f32": ti.f32, "i64": ti.i64, "f64": ti.f64}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "columns"), [(32, 64), (16, 7), (9, 33), (45, 1)])
def test_fields(target, kind, rows, columns):
    """Several accumulators with initial values, an element before the loop, and a use of all after it."""
    dtype = KINDS[kind]
    a, b = ti.field(dtype, (rows, columns + 1)), ti.field(dtype, (rows, columns))
    bias, y = ti.field(dtype, columns), ti.field(dtype, (4, columns))
    random = np.random.default_rng(rows)
    left, right = random.integers(0, 50, (rows, columns + 1)), random.integers(0, 50, (rows, columns))
    first = random.integers(1000, 2000, columns)
    for field, values in ((a, left), (b, right), (bias, first)):
        field.from_numpy(values.astype(field.to_numpy().dtype))

    @ti.kernel
    def combine():
        for j in range(columns):
            total, least, greatest, count = bias[j], ti.cast(40, dtype), ti.cast(3, dtype), 7
            for i in range(1, rows):
                value = a[i, j + 1] + b[i, j]
                total += value * ti.cast(i, dtype)
                least = ti.min(least, value)
                if b[i, j] > a[i, 0]:
                    greatest = ti.max(greatest, value)
                    count -= 1
            y[0, j], y[1, j] = total + bias[j], least
            if greatest > bias[0] - 1990:
                y[2, j] = greatest
            y[3, j] += ti.cast(count + 100, dtype)

    if target != "python":
        assert COMMENT in combine.source(arch=ti.cuda)
    combine()
    value = (left[:, 1:] + right)[1:]
    is_more = (right > left[:, :1])[1:]
    greatest = np.max(np.where(is_more, value, 3), axis=0, initial=3)
    expected = [
        2 * first + np.arange(1, rows) @ value,
        np.min(value, axis=0, initial=40),
        np.where(greatest > np.array(first[0] - 1990).astype(y.to_numpy().dtype), greatest, 0),
        107 - is_more.sum(axis=0),
    ]
    assert np.array_equal(y.to_numpy(), np.array(expected).astype(y.to_numpy().dtype))


@pytest.mark.parametrize("shape", [(3, 40, 33), (1, 32, 32), (5, 33, 1), (2, 0, 4)])
def test_several_axes(target, shape):
    """Products of several vectors with a matrix each; names of the program's that the pass uses, too."""

    @ti.kernel
    def multiply(a: ti.types.ndarray(ti.f32, 3), x: Plane, y: Plane):
        for part, column in ti.ndrange(a.shape[0], (1, a.shape[2])):
            thread = x[0, 0] if x.shape[1] > 0 else 0.0
            for other in range(a.shape[1]):
                thread += a[part, other, column] * x[part, other]
            y[part, column] = thread

    batch, rows, columns = shape
    a, x, y = numbers(shape, (batch, rows), (batch, columns))
    expected = np.einsum("bij,bi->bj", a, x) + (x[0, 0] if rows else 0)
    expected[:, 0] = y[:, 0]
    multiply(a, x, y)
    assert np.array_equal(y, expected)
    source = multiply.source(a, x, y, arch=ti.vulkan)
    assert source.count(COMMENT) == 1 and "thread += a(part, other, column) * x(part, other);" in source


def test_elements_of_other_types(target):
    """Columns of halves and of vectors, in sums of floats."""

    @ti.kernel
    def add(a: ti.types.ndarray(ti.f16, 2), b: ti.types.ndarray(ti.math.vec2, 2), y: Floats):
        for j in y:
            s, t = 2.0, 0.0
            for i in range(a.shape[0]):
                s += a[i, j]
                t -= b[i, j].y
            y[j] = s + t

    a, b, y = numbers((40, 35), (40, 35, 2), 35)
    add(a.astype(np.float16), b, y)
    assert np.array_equal(y, 2 + a.sum(axis=0) - b[:, :, 1].sum(axis=0))


def test_in_place(target):
    """The sum of a column replaces an element of it, and all threads read the old one."""
    a = ti.field(ti.i32, (50, 37))
    (values,) = numbers((50, 37))
    a.from_numpy(values.astype(np.int32))

    @ti.kernel
    def add():
        for j in range(37):
            s = a[3, j]
            for i in range(50):
                s += a[i, j]
            a[3, j] = s
            a[0, j] -= s

    add()
    expected = values.astype(np.int32)
    total = expected.sum(axis=0) + expected[3]
    expected[3] = total
    expected[0] -= total
    assert np.array_equal(a.to_numpy(), expected)


def test_sources():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    given = ti.ndarray(ti.f32, (4, 4)), ti.ndarray(ti.f32, 4), ti.ndarray(ti.f32, 4)
    cuda, vulkan = product.source(*given, arch=ti.cuda), product.source(*given, arch=ti.vulkan)
    lines = [
        "__shared__ float s_parts[32][32];",
        "int part = thread / 32, column = thread % 32;",
        "int j = j_tile + min(column, args.y_n - j_tile - 1);",
        "// 32 threads share a column: the rows of each are 32 apart (shared_columns)",
        "for (int i = part; i < args.a_n0; i += 32) {",
        "s_parts[part][column] = s;",
        "__syncthreads();",
        "if (part == 0 && column < args.y_n - j_tile) {",
        "for (int other = 1; other < 32; other++) {",
        "s += s_parts[other][column];",
    ]
    places = [cuda.find(line) for line in lines]
    assert -1 not in places and places == sorted(places)
    assert "for more than 65,536 iterations, or fewer than 2,048 inside" in cuda
    assert "for up to 65,536 iterations, 2,048 and more inside" in cuda
    assert "int part = thread >> 5, column = thread & 31;" in vulkan
    for line in lines[2:]:
        assert line.replace("__syncthreads", "barrier") in vulkan
    assert "shared float s_parts[32][32];" in vulkan
    options: list[dict[str, Any]] = [
        {"fast_math": False}, {"passes": "-shared_columns"}, {"deterministic": True}, {"debug": True},
        {"default_gpu_block_dim": 256},
    ]  # fmt: skip
    for each in options:
        ti.init(arch=ti.python, log_level=ti.ERROR, **each)
        assert COMMENT not in product.source(*given, arch=ti.cuda), each


@pytest.mark.parametrize(
    ("rows", "columns", "parts"), [(511, 64, 0), (512, 64, 8), (1024, 50, 16), (2048, 1 << 16, 32), (2048, 65537, 0)]
)
def test_parts_of_fields(rows, columns, parts):
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)

    @ti.kernel
    def greatest(a: ti.template(), y: ti.template()):
        for j in y:
            most = -1.0
            for i in range(rows):
                most = ti.max(most, a[i, j])
            y[j] = most

    a, y = ti.field(ti.f32, (rows, columns)), ti.field(ti.f32, columns)
    source = greatest.source(a, y, arch=ti.cuda)
    assert source.count(COMMENT) == (parts > 0)
    if parts:
        assert f"i += {parts}" in source and f"#define BLOCK {parts * 32}" in source
        assert ("j = j_tile + min(column, y_n0 - j_tile - 1);" in source) == (columns == 50)
        assert ("if (part == 0) {" in source) == (columns != 50)


def test_what_is_not_shared():
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def others(case: ti.template(), a: Plane, x: Floats, y: Floats, n: ti.i32):
        ti.loop_config(block_dim=128 if ti.static(case == 0) else None)
        for j in y:
            s, t = 0.0, 0.0
            if ti.static(case == 0):  # blocks of the program's
                for i in range(n):
                    s += a[i, j]
            if ti.static(case == 1):  # rows
                for i in range(n):
                    s += a[j, i]
            if ti.static(case == 2):  # rows and columns
                for i in range(n):
                    s += a[i, j] * a[j, i]
            if ti.static(case == 3):  # a sum that others read
                for i in range(n):
                    s += a[i, j]
                    t += s
            if ti.static(case == 4):  # a store
                for i in range(n):
                    s += a[i, j]
                    x[i] = s
            if ti.static(case == 5):  # an end by its values
                for i in range(n):
                    if a[i, j] > 3.0:
                        break
                    s += a[i, j]
            if ti.static(case == 6):  # every second column
                for i in range(n):
                    s += a[i, 2 * j]
            if ti.static(case == 7):  # a diagonal
                for i in range(n):
                    s += a[i + j, j]
            if ti.static(case == 8):  # the same of all rows
                for i in range(n):
                    s += y[j] * x[i]
            if ti.static(case == 9):  # an end that differs
                for i in range(j):
                    s += a[i, j]
            if ti.static(case == 10):  # every second row
                for i in range(n // 2):
                    s += a[2 * i, j]
                for i in range(n):
                    s += a[i, j]
            if ti.static(case == 11):  # few rows
                for i in range(300):
                    s += a[i, j]
            if ti.static(case == 12):  # columns backwards
                for i in range(n):
                    s += a[i, n - j]
            y[j] = s + t

    given = ti.ndarray(ti.f32, (4, 4)), ti.ndarray(ti.f32, 4), ti.ndarray(ti.f32, 4)
    for case in range(13):
        assert COMMENT not in others.source(case, *given, 3, arch=ti.cuda), case


def test_products_of_matrices_are_not_shared():
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def multiply(a: Plane, b: Plane, c: Plane):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    given = [ti.ndarray(ti.f32, (4, 4)) for _ in range(3)]
    assert COMMENT not in multiply.source(*given, arch=ti.cuda)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(512, 1), (700, 33), (2048, 64), (1024, 100)])
@pytest.mark.parametrize("in_place", [False, True])
def test_columns_are_normalized(target: str, shape: tuple[int, int], in_place: bool) -> None:
    if target == "python":
        pytest.skip("slow")
    x, y, mean = ti.field(ti.f32, shape), ti.field(ti.f32, shape), ti.field(ti.f32, shape[1])
    to = x if in_place else y

    @ti.kernel
    def normalize():
        for j in range(shape[1]):
            total, squares = 0.0, 0.0
            for i in range(shape[0]):
                total += x[i, j]
                squares += x[i, j] ** 2
            average = total / shape[0]
            scale = 1 / ti.sqrt(squares / shape[0] - average * average + 1e-5)
            for i in range(shape[0]):
                to[i, j] = (x[i, j] - average) * scale
            mean[j] = average

    numbers = np.random.default_rng(4).random(shape, np.float32)
    x.from_numpy(numbers)
    normalize()
    expected = (numbers - numbers.mean(0)) / np.sqrt(numbers.var(0) + 1e-5)
    np.testing.assert_allclose(to.to_numpy(), expected, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(mean.to_numpy(), numbers.mean(0), rtol=1e-5)
    source = normalize.source(arch=ti.cuda)
    assert "threads share a column" in source and source.count("__syncthreads();") == 1


@pytest.mark.parametrize("columns", [8, 33])
def test_few_sums_of_products_of_columns(target: str, columns: int) -> None:
    """Each block reads the same elements as others, as in a covariance: there are too few sums for a GPU."""
    rows = 1031
    x, c = ti.field(ti.f32, (rows, columns)), ti.field(ti.f32, (columns, columns))
    values = np.random.default_rng(columns).integers(-4, 5, (rows, columns)).astype(np.float32)
    x.from_numpy(values)

    @ti.kernel
    def products():
        for p, q in c:
            s = 0.0
            for i in range(rows):
                s += x[i, p] * x[i, q]
            c[p, q] = s

    products()
    assert np.array_equal(c.to_numpy(), values.T @ values)
    assert "(shared_columns)" in products.source(arch=ti.cuda)


@pytest.mark.parametrize("columns", [5, 64])
def test_few_long_columns_have_narrow_blocks(target: str, columns: int) -> None:
    rows = 4200
    x, mean = ti.field(ti.f32, (rows, columns)), ti.field(ti.f32, columns)
    values = np.random.default_rng(columns).integers(-4, 5, (rows, columns)).astype(np.float32)
    x.from_numpy(values)

    @ti.kernel
    def means():
        for c in mean:
            s = 0.0
            for i in range(rows):
                s += x[i, c]
            mean[c] = s

    means()
    assert np.array_equal(mean.to_numpy(), values.sum(0))
    source = means.source(arch=ti.cuda)  # of `LONG` rows a thread, 1 here, up to 1,024 threads
    assert "128 threads share a column" in source and "[128][8];" in source


@pytest.mark.parametrize("columns", [1, 33, 64])
def test_columns_that_add_to_a_total(target, columns):
    """What is behind the columns is a task of its own, for which the first one stores what it has found."""
    a, found = ti.field(ti.i32, (600, columns)), ti.field(ti.i32, columns)
    total, least = ti.field(ti.i32, ()), ti.field(ti.i32, ())
    values = (np.arange(600 * columns, dtype=np.int32) * 7919 % 1009).reshape(600, columns)
    a.from_numpy(values)

    @ti.kernel
    def sums():
        for j in found:
            greatest, s = 0, 5
            for i in range(600):
                greatest = ti.max(greatest, a[i, j])
            for i in range(600):
                s += greatest - a[i, j]
            found[j] = s
            total[None] += s * (j + 1)
            ti.atomic_min(least[None], greatest - a[j, j])

    sums()
    expected = 5 + (values.max(0) - values).sum(0)
    assert np.array_equal(found.to_numpy(), expected)
    assert total[None] == (expected * np.arange(1, columns + 1)).sum()
    own = np.arange(columns)
    assert least[None] == min(0, (values.max(0) - values[own, own]).min())
    source = sums.source(arch=ti.cuda)
    assert "threads share a column" in source and "s_of_rows" in source and "greatest_of_rows" in source


@pytest.mark.targets("cuda")
def test_a_product_of_arguments_is_no_end_that_is_compared(target: str) -> None:
    """Indices of several threads would be more than the greatest number behind the end."""
    b, y = np.ones((8, 64), np.float32), np.zeros(64, np.float32)

    @ti.kernel
    def sums(n: ti.i32, m: ti.i32, b: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 1)):
        for j in range(64):
            s = 0.0
            for k in range(2147483500, n * m):
                s += b[k & 7, j]
            y[j] = s

    sums(2147483647, 1, b, y)
    assert np.array_equal(y, np.full(64, 147, np.float32))
