"""Pass `shared_rows`: several loops over a row, which store to it too; results are those of plain loops."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Plane, Line = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.f32, 1)
REMARK = "(shared_rows)"


@ti.kernel
def softmax(x: Plane, y: Plane):
    for i in range(x.shape[0]):
        greatest = -1e9
        for j in range(x.shape[1]):
            greatest = ti.max(greatest, x[i, j])
        total = 0.0
        for j in range(x.shape[1]):
            total += ti.exp(x[i, j] - greatest)
        for j in range(x.shape[1]):
            y[i, j] = ti.exp(x[i, j] - greatest) / total


def expected_softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(1, keepdims=True, initial=-1e9))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("shape", [(0, 7), (1, 1), (7, 33), (5, 128), (3, 300), (33, 129)])
def test_softmax_of_ndarrays(target: str, shape: tuple[int, int]) -> None:
    x, y = np.random.default_rng(1).random(shape, np.float32), np.zeros(shape, np.float32)
    softmax(x, y)
    np.testing.assert_allclose(y, expected_softmax(x), rtol=1e-5)
    in_place = x.copy()
    softmax(in_place, in_place)
    np.testing.assert_allclose(in_place, expected_softmax(x), rtol=1e-5)


@ti.kernel
def layernorm(x: ti.template(), weight: ti.template(), y: ti.template(), mean: ti.template()):
    for i in range(x.shape[0]):
        total, squares = 0.0, 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
            squares += x[i, j] * x[i, j]
        average = total / x.shape[1]
        scale = 1 / ti.sqrt(squares / x.shape[1] - average * average + 1e-5)
        for j in range(x.shape[1]):
            y[i, j] = (x[i, j] - average) * scale * weight[j]
        mean[i] = average


@pytest.mark.parametrize("shape", [(1, 64), (9, 130), (37, 16)])
def test_layernorm_of_fields(target: str, shape: tuple[int, int]) -> None:
    numbers, weights = np.random.default_rng(2).random(shape, np.float32), np.arange(shape[1], dtype=np.float32)
    x, y, weight, mean = (ti.field(ti.f32, s) for s in (shape, shape, shape[1], shape[0]))
    x.from_numpy(numbers)
    weight.from_numpy(weights)
    layernorm(x, weight, y, mean)
    average = numbers.mean(1, keepdims=True)
    expected = (numbers - average) / np.sqrt(numbers.var(1, keepdims=True) + 1e-5) * weights
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(mean.to_numpy(), average[:, 0], rtol=1e-5)
    source = layernorm.source(x, weight, y, mean, arch=ti.cuda)
    assert (
        REMARK in source and source.count("j += 32" if shape[1] > 127 else "j += ") == 2 and "if (lane == 0)" in source
    )


@ti.kernel
def copy_on(x: Plane, y: Plane):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1] - 1):
            total += x[i, j]
        for j in range(x.shape[1] - 1):
            y[i, j] = x[i, j] + 1.0
        y[i, x.shape[1] - 1] = total


@pytest.mark.parametrize("columns", [40, 200])
def test_arrays_that_overlap_take_a_thread_for_each_row(target: str, columns: int) -> None:
    """The next element of a row is what the last iteration stored."""
    found, expected = np.zeros((2, 4 * columns + 1), np.float32)
    copy_on(found[:-1].reshape(4, columns), found[1:].reshape(4, columns))
    x, y = expected[:-1].reshape(4, columns), expected[1:].reshape(4, columns)
    for i in range(4):
        for j in range(columns - 1):
            y[i, j] = x[i, j] + 1
    inner = [k for k in range(4 * columns) if (k + 1) % columns and k % columns]  # others are of two rows
    np.testing.assert_array_equal(found[inner], expected[inner])


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.ndarray(ti.f32, (4, 4))
    source = softmax.source(x, x, arch=ti.cuda)
    assert "for other rows of 128 and more if y and x do not overlap" in source and source.count(REMARK) == 2
    assert "for shorter rows or if y and x overlap" in source and source.count("j += 32") == source.count("j++") == 3
    assert REMARK not in softmax.source(x, x, arch=ti.x64)
    for options in ({"fast_math": False}, {"passes": "-shared_rows"}, {"deterministic": True}):
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        assert REMARK not in softmax.source(x, x, arch=ti.cuda)


def test_what_is_not_shared() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, b = ti.field(ti.f32, (64, 256)), ti.field(ti.f32, (64, 256))
    bits, line = ti.field(ti.u8, (64, 256)), ti.field(ti.f32, 64)

    @ti.kernel
    def others(case: ti.template()):
        for i in range(64):
            s = 0.0
            for j in range(1, 255):
                s += a[i, j]
                if ti.static(case == 0):  # a neighbour, which another thread stores
                    b[i, j] = b[i, j - 1] + 1.0
                if ti.static(case == 1):  # stored by several
                    b[i, j // 2] = a[i, j]
                if ti.static(case == 2):  # the elements of several threads
                    bits[i, j % 3] = ti.u8(j)
                if ti.static(case == 3):  # the sum so far
                    b[i, j] = s
                if ti.static(case >= 4):
                    b[i, j] = a[i, j]
            if ti.static(case == 4):  # an element of another thread
                s += b[i, 3]
            if ti.static(case == 5):  # what one thread has stored, and all of them load
                line[i] = s
                s += line[i // 2]
            for j in range(1 if ti.static(case != 6) else 2, 255):
                a[i, j] = b[i, j] * s  # case 6: the threads have other elements
            line[i] += s

    assert REMARK in others.source(7, arch=ti.cuda)
    for case in range(7):
        assert REMARK not in others.source(case, arch=ti.cuda), case


def program(seed: int, of_columns: bool) -> tuple[str, int]:
    """Return a kernel of loops over rows or columns, and the length of these."""
    choose = random.Random(seed)
    length = choose.choice([512, 600, 2048] if of_columns else [16, 17, 64, 128, 130])
    first = choose.choice([0, 0, 1, 3])
    lines = ["s = ti.cast(i, ti.i32)", "t = 5"]
    for number in range(choose.randint(1, 4)):
        if choose.random() < 0.3:
            between = ["s = s % 13", "t = t + a[i, 2] % 3", "t = 0", "s += t"]
            lines.append(choose.choice(between if of_columns else [*between, "d[i] += t", "d[i] -= s"]))
        lines.append(f"for j in range({first}, {choose.choice(['m', 'm - 1'])}):")
        value = choose.choice(["a[i, j]", "b[i, j] + j", "a[i, j] * s" if number else "j", "c[j] - a[i, j]"])
        lines += choose.choice([
            [f"    t += {value.replace('s', '2')}"],
            [f"    t = ti.max(t, {value})"],
            [f"    b[i, j] = {value} + t", "    s += 1" if "s" not in value else "    pass"],
            [f"    if a[i, j] > 4: b[i, j] = {value}", f"    t -= {value}"],
        ])  # fmt: skip
    body = "\n".join("        " + line for line in [*lines, "d[i] += s + t"])
    if of_columns:
        body = body.replace("[i, j]", "[j, i]").replace("[i, 2]", "[2, i]")
    kind = "ti.types.ndarray(ti.i32, 2)" if choose.random() < 0.5 - 0.3 * of_columns else "ti.template()"
    line = "ti.types.ndarray(ti.i32, 1)" if "ndarray" in kind else "ti.template()"
    head = f"import shadesmith as ti\n\n@ti.kernel\ndef k(a: {kind}, b: {kind}, c: {line}, d: {line}):\n"
    shape = "m, n" if of_columns else "n, m"
    return f"{head}    {shape} = a.shape\n    for i in range(n):\n{body}\n", length


@pytest.mark.sampled(8)
@pytest.mark.parametrize("of_columns", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_random_loops(target: str, seed: int, of_columns: bool, tmp_path: Path) -> None:
    if of_columns and target == "python":
        pytest.skip("slow")
    text, length = program(seed, of_columns)
    path = tmp_path / "loops.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"loops_{seed}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generator = np.random.default_rng(seed)
    count = (6, 33, 64)[seed % 3] if of_columns else 6
    a, b = generator.integers(-9, 9, (2, length, count) if of_columns else (2, count, length), np.int32)
    c, d = generator.integers(-9, 9, length, np.int32), np.zeros(count, np.int32)
    make = ti.ndarray if "ndarray" in text else ti.field
    given = [make(ti.i32, numbers.shape) for numbers in (a, b, c, d)]
    for array, numbers in zip(given, (a, b, c, d), strict=True):
        array.from_numpy(numbers)
    module.k(*given)
    with np.errstate(over="ignore"):
        in_python(text, a, b, c, d)
    np.testing.assert_array_equal(given[1].to_numpy(), b, err_msg=text)
    np.testing.assert_array_equal(given[3].to_numpy(), d, err_msg=text)


def in_python(text: str, *arrays: np.ndarray) -> None:
    """Run a kernel as the Python that it is, on NumPy's arrays."""
    plain = text.replace("import shadesmith as ti\n\n@ti.kernel\n", "").replace("ti.cast(i, ti.i32)", "i")
    head, _, body = plain.partition("\n")
    space: dict[str, object] = {}
    exec(f"def k(a, b, c, d):\n{body.replace('ti.max', 'max')}", space)
    space["k"](*arrays)  # type: ignore[operator]


@ti.kernel
def scaled_rows(x: Plane, y: Plane, scale: Line):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * scale[i] + total
        scale[i] = 1.0
        x[i, 7] = -1.0


def test_threads_wait_for_each_other_before_one_stores_what_all_load(target: str) -> None:
    random = np.random.default_rng(3)
    for shape in ((9, 150), (5, 30)):
        x, scale = random.integers(0, 9, shape).astype(np.float32), random.integers(0, 9, shape[0]).astype(np.float32)
        y, expected = np.zeros_like(x), x * scale[:, None] + x.sum(1, keepdims=True)
        source = scaled_rows.source(x, y, scale, arch=ti.cuda)
        block, shared, alone = source.split(" of 3: ")[1:]
        assert "__syncthreads();\n    if (thread == 0) {" in block and "__syncwarp" not in block
        assert "__syncwarp(lanes);\n    if (lane == 0) {" in shared and "__syncwarp" not in alone
        scaled_rows(x, y, scale)
        assert np.array_equal(y, expected) and np.all(scale == 1) and np.all(x[:, 7] == -1)
    assert "__syncwarp" not in softmax.source(x, y, arch=ti.cuda)


@pytest.mark.parametrize("shape", [(4096, 65), (5, 64), (7, 130)])
def test_rows_of_short_vectors(target: str, shape: tuple[int, int]) -> None:
    if target == "python" and shape[0] > 1000:
        pytest.skip("slow")
    x, sums, longest = ti.Vector.field(3, ti.i32, shape), ti.field(ti.i32, shape[0]), ti.field(ti.i32, shape[0])

    @ti.kernel
    def add():
        for i, j in x:
            sums[i] += x[i, j].x - 2 * x[i, j].z

    @ti.kernel
    def find():
        for i in longest:
            most = -1
            for j in range(shape[1]):
                most = ti.max(most, x[i, j].dot(x[i, j]))
            longest[i] = most

    numbers = np.random.default_rng(7).integers(-9, 9, (*shape, 3)).astype(np.int32)
    x.from_numpy(numbers)
    add()
    find()
    np.testing.assert_array_equal(sums.to_numpy(), (numbers[..., 0] - 2 * numbers[..., 2]).sum(1))
    np.testing.assert_array_equal(longest.to_numpy(), (numbers**2).sum(-1).max(1))
    assert REMARK in find.source(arch=ti.cuda)
    assert (REMARK in add.source(arch=ti.cuda)) == (shape[0] > 1000)


Counts = ti.types.ndarray(ti.i32, 2)


@ti.kernel
def add_products_of_rows(x: Counts, y: Counts, z: Counts):
    for i, j in ti.ndrange(x.shape[0], y.shape[0]):
        total = 0
        for k in range(x.shape[1]):
            total += x[i, k] * y[j, k]
        z[i, j] += total


def test_a_launch_of_tiles_shares_no_rows(target: str) -> None:
    """The tasks for small matrices are two; neither starts with the one of tiles for large ones."""
    random = np.random.default_rng(2)
    for rows, columns, length in ((310, 300, 40), (300, 305, 130), (20, 30, 130)):
        if target == "python":  # which has one task, and would take a minute
            rows, columns = rows // 15, columns // 15
        x, y = (random.integers(0, 5, (n, length)).astype(np.int32) for n in (rows, columns))
        z = np.ones((rows, columns), np.int32)
        add_products_of_rows(x, y, z)
        assert np.array_equal(z, 1 + x @ y.T)
    assert "for rows of 128 and more" in " ".join(add_products_of_rows.source(x, y, z, arch=ti.cuda).split("\n//     "))


@ti.kernel
def rows_that_a_field_counts(count: ti.template(), x: Plane, y: Plane):
    for i in range(count[None]):
        greatest = -1e9
        for j in range(x.shape[1]):
            greatest = ti.max(greatest, x[i, j])
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] - greatest


@ti.kernel
def sums_of_rows_that_a_field_counts(count: ti.template(), x: Plane, y: Line):
    for i in range(count[None]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
        y[i] = total


def test_only_the_device_knows_how_many_rows_there_are(target: str) -> None:
    count, x = ti.field(ti.i32, ()), np.random.default_rng(4).integers(0, 9, (9, 140)).astype(np.float32)
    count[None] = 5
    y, sums = np.zeros_like(x), np.zeros(9, np.float32)
    rows_that_a_field_counts(count, x, y)
    assert np.array_equal(y[:5], x[:5] - x[:5].max(1, keepdims=True)) and not y[5:].any()
    rows_that_a_field_counts(count, x, x)
    assert np.array_equal(x[:5], y[:5])
    sums_of_rows_that_a_field_counts(count, x, sums)
    assert np.array_equal(sums[:5], x[:5].sum(1)) and not sums[5:].any()
    assert "8 threads share" in sums_of_rows_that_a_field_counts.source(count, x, sums, arch=ti.cuda).replace(
        "eight", "8"
    )


@ti.kernel
def never_reads_z(x: Plane, y: Plane, z: Plane):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + total + (z[i, j] if j < 0 else 0.0)


def test_an_array_whose_accesses_are_removed(target: str) -> None:
    x = np.random.default_rng(5).integers(0, 9, (7, 150)).astype(np.float32)
    y = np.zeros_like(x)
    never_reads_z(x, y, x)
    assert np.array_equal(y, x + x.sum(1, keepdims=True))
    assert "share a row" in never_reads_z.source(x, y, x, arch=ti.cuda)
