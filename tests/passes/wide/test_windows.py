"""Pass `wide_accesses`: windows with tests of rows and columns inside, and windows of other arrays."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.wide.parts import inside_rows, widenable

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
]

WIDE = "iterations at a time, by accesses of 16 bytes"
Vector = ti.types.ndarray(ti.f32, 1)
Grid = ti.types.ndarray(ti.f32, 2)


@pytest.fixture(autouse=True)
def _short_loops(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Let loops over small fields be widened, too."""
    monkeypatch.setattr(widenable, "FEW", 1)
    monkeypatch.setattr(inside_rows, "SHORTEST", 1)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, enable_fallback=False, offline_cache=False, fast_math=False)


def some(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) * 37 % 97 - 40).astype(np.float32)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("m", [12, 13])
def test_arrays_that_only_a_loop_inside_loads_may_start_anywhere(target: str, m: int, first: int) -> None:
    """Neither the address of `x` nor the length of its rows says anything about `y`."""

    @ti.kernel
    def blur(x: Grid, y: Grid):
        for i, j in y:
            if i > 0 and j > 0 and i < y.shape[0] - 1 and j < y.shape[1] - 1:
                total = 0.0
                for p, q in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                    total += x[i + p, j + q]
                y[i, j] = total

    x, y, expected = some(5 * m + first)[first:].reshape(5, m), np.zeros((5, 12), np.float32), np.zeros((5, 12))
    blur(x, y)
    expected[1:-1, 1:-1] = sum(x[p : 3 + p, q : 10 + q] for p in range(3) for q in range(3))
    np.testing.assert_array_equal(y, expected)
    for arch in (ti.cuda, ti.vulkan):
        source = blur.source(x, y, arch=arch)
        assert WIDE in source and source.count("% 16") == 2 and "args.x_n1 % 4 == 0" in source


INSIDE = "all columns in the row (wide_accesses)"


def wide_part(kernel: object, *args: object) -> str:
    """Return the source of what runs four iterations as one, the same for both targets but for names of types."""
    found = []
    for arch in (ti.cuda, ti.vulkan):
        source = kernel.source(*args, arch=arch)
        assert INSIDE in source
        found.append(source.partition(INSIDE)[2].partition("} else {")[0])
    return found[0]


# --- along rows -------------------------------------------------------------------------------------------------------


@ti.kernel
def convolve(x: Grid, w: Vector, y: Grid):
    m = x.shape[1]
    for i, j in y:
        s = 0.0
        for c in range(9):
            jj = j + c - 4
            if 0 <= jj < m:
                s += w[c] * x[i, jj]
        y[i, j] = s


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("m", [1, 3, 4, 7, 8, 11, 12, 13, 16, 40])
def test_windows_whose_loop_tests_columns(target: str, m: int, first: int) -> None:
    x, w, y = some(3 * m + first)[first:].reshape(3, m), some(9), np.zeros((3, m), np.float32)
    convolve(x, w, y)
    around = np.pad(x, ((0, 0), (4, 4)))
    np.testing.assert_array_equal(y, sum(w[c] * around[:, c : c + m] for c in range(9)))


def test_the_source_has_one_test_and_a_loop_for_single_iterations() -> None:
    x, w = some(8, 8), some(9)
    wide = wide_part(convolve, x, w, x)
    assert "if (aligned && j >= 4 && j < args.m - 7) {" in wide and "jj <" not in wide
    assert "s += w(1) * vec4{x_before.y, x_before.z, x_before.w, x_ij.x};" in wide and "s += w(8) * x_after;" in wide
    single = convolve.source(x, w, x, arch=ti.cuda).partition("iteration(")[2].partition("extern")[0]
    assert "for (int c = 0; c < 9; c++) {" in single and "if (0 <= jj && jj < args.m) {" in single
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-wide_accesses")
    assert WIDE not in convolve.source(x, w, x, arch=ti.cuda)


TESTS = {
    "0 <= jj and jj < m": (0, 0),
    "jj > -1 and jj <= m - 1": (0, 0),
    "0 < jj and m - 1 > jj": (1, 1),
    "not (jj < 2 or jj >= m)": (2, 0),
    "jj >= 0 and jj < n": (0, 3),
    "jj >= 1 and jj <= n - 2": (1, 4),
}


@pytest.mark.sampled(2, each="test")
@pytest.mark.parametrize("m", [4, 9, 24])
@pytest.mark.parametrize("test", TESTS)
def test_bounds(target: str, test: str, m: int, tmp_path) -> None:
    """Tests by lengths and by arguments, which leave out elements at either end."""
    path = tmp_path / "bounds.py"
    path.write_text(
        "import shadesmith as ti\n"
        "@ti.kernel\n"
        "def run(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 2), n: ti.i32):\n"
        "    for i, j in y:\n"
        "        m = x.shape[1]\n"
        "        s, count = 0.0, 0\n"
        "        for c in range(-3, 3):\n"
        "            jj = j + c\n"
        f"            if {test}:\n"
        "                s += x[i, jj]\n"
        "                count += 1\n"
        "        y[i, j] = s * 8 + count\n"
    )
    run = load(path)
    x, y = some(2, m), np.zeros((2, m), np.float32)
    run(x, y, m - 3)
    low, high = TESTS[test]
    expected = np.zeros((2, m), np.float32)
    for j in range(m):
        columns = [jj for jj in range(j - 3, j + 3) if low <= jj < m - high]
        expected[:, j] = x[:, columns].sum(1) * 8 + len(columns)
    np.testing.assert_array_equal(y, expected)
    assert "count += 1" in wide_part(run, x, y, m - 3)


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run


def test_what_happens_outside_is_left_out_inside(target: str) -> None:
    @ti.kernel
    def run(x: Grid, y: Grid):
        for i, j in y:
            s = 0.0
            for c in range(-1, 2):
                if j + c < 0 or j + c >= x.shape[1]:
                    s += 100.0
                else:
                    s += x[i, j + c]
            s += x[i, j + 5] if j + 5 < x.shape[1] else 1000.0
            y[i, j] = s

    x, y = some(3, 16), np.zeros((3, 16), np.float32)
    run(x, y)
    around = np.pad(x, ((0, 0), (1, 1)), constant_values=100)
    after = np.pad(x[:, 5:], ((0, 0), (0, 5)), constant_values=1000)
    np.testing.assert_array_equal(y, around[:, :-2] + around[:, 1:-1] + around[:, 2:] + after)
    wide = wide_part(run, x, y)
    assert "100.0f" not in wide and "1000.0f" not in wide


def test_vectors_of_two_numbers_and_arrays_that_end_within_a_vector(target: str) -> None:
    n = 37
    x, y = ti.field(ti.f64, n), ti.field(ti.f64, n)

    @ti.kernel
    def run():
        for i in y:
            s, count = ti.cast(0, ti.f64), 0
            for c in range(-3, 4):
                if 0 <= i + c < n:
                    s += x[i + c]
                    count += 1
            y[i] = s * count

    x.from_numpy(some(n).astype(np.float64))
    run()
    around = [slice(max(i - 3, 0), i + 4) for i in range(n)]
    expected = [float(some(n)[s].sum(dtype=np.float64)) * len(some(n)[s]) for s in around]
    np.testing.assert_array_equal(y.to_numpy(), expected)
    wide = wide_part(run)
    assert "i >= 3 && i + 4 < n" in wide and "{x(i - 3), x_before.x}" in wide


# --- rows and columns -------------------------------------------------------------------------------------------------


@ti.kernel
def of_pairs(x: Grid, y: Grid):
    n, m = x.shape
    for i, j in y:
        s, t = 0.0, 0
        for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
            if 0 <= i + di < n and 0 <= j + dj < m:
                s += x[i + di, j + dj]
                t += 1
        y[i, j] = s * 8 + t


@ti.kernel
def of_loops(x: Grid, y: Grid):
    n, m = x.shape
    for i, j in y:
        s, t = 0.0, 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                if 0 <= j + dj < m and 0 <= i + di < n:
                    s += x[i + di, j + dj]
                    t += 1
        y[i, j] = s * 8 + t


@ti.kernel
def by_continue(x: Grid, y: Grid):
    n, m = x.shape
    for i, j in y:
        s, t = 0.0, 0
        for di in range(-1, 2):
            ii = i + di
            if ii < 0 or ii >= n:
                continue
            for dj in range(-1, 2):
                jj = j + dj
                if jj < 0 or jj >= m:
                    continue
                s += x[ii, jj]
                t += 1
        y[i, j] = s * 8 + t


@ti.kernel
def after_continue(x: Grid, y: Grid):
    """A `continue` in a branch also leaves out what follows that branch; this one stays as it is."""
    n, m = x.shape
    for i, j in y:
        s, t = 0.0, 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                if 0 <= i + di < n:
                    if j + dj < 0 or j + dj >= m:
                        continue
                    s += x[i + di, j + dj]
                t += 1
        y[i, j] = s * 8 + t


@pytest.mark.parametrize("m", [3, 8])
def test_continue_in_a_branch(target: str, m: int) -> None:
    x, y = some(3, m), np.zeros((3, m), np.float32)
    after_continue(x, y)
    sides = [(p, q) for p in (0, 1, 2) for q in (0, 1, 2)]
    # only columns that are outside of rows that are inside do not count
    outside = np.zeros((3, m), np.float32)
    outside[:, 0] += [2, 3, 2]
    outside[:, -1] += [2, 3, 2]
    total = sum(np.pad(x, 1)[p : p + 3, q : q + m] for p, q in sides)
    np.testing.assert_array_equal(y, total * 8 + 9 - outside)
    assert INSIDE not in after_continue.source(x, y, arch=ti.cuda)


def test_what_happens_before_continue(target: str) -> None:
    @ti.kernel
    def run(x: Grid, y: Grid):
        for i, j in y:
            s = 0.0
            for c in range(-1, 2):
                if j + c < 0 or j + c >= x.shape[1]:
                    s += 100.0
                    continue
                s += x[i, j + c]
            y[i, j] = s

    x, y = some(3, 12), np.zeros((3, 12), np.float32)
    run(x, y)
    around = np.pad(x, ((0, 0), (1, 1)), constant_values=100)
    np.testing.assert_array_equal(y, around[:, :-2] + around[:, 1:-1] + around[:, 2:])
    assert "100.0f" not in wide_part(run, x, y)


@ti.kernel
def nested(x: Grid, y: Grid):
    n, m = x.shape
    for i, j in y:
        s, t = 0.0, 0
        for di in ti.static(range(-1, 2)):
            if 0 <= i + di < n:
                for dj in ti.static(range(-1, 2)):
                    if 0 <= j + dj < m:
                        s += x[i + di, j + dj]
                        t += 1
        y[i, j] = s * 8 + t


@pytest.mark.sampled(12)
@pytest.mark.parametrize("m", [1, 3, 8, 9, 20])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("kernel", [of_pairs, of_loops, by_continue, nested], ids=lambda k: k.__name__)
def test_windows_that_test_rows_and_columns(target: str, kernel: object, n: int, m: int) -> None:
    x, y = some(n, m), np.zeros((n, m), np.float32)
    kernel(x, y)
    sides = [(p, q) for p in (0, 1, 2) for q in (0, 1, 2)]
    total, count = (sum(np.pad(v, 1)[p : p + n, q : q + m] for p, q in sides) for v in (x, np.ones_like(x)))
    np.testing.assert_array_equal(y, total * 8 + count)
    wide = wide_part(kernel, x, y)
    assert "j >= 1 && j < args.m - 4" in wide and "int t = 0" in wide
    assert wide.count("if (") == 2 and "continue" not in wide  # the columns of a row are under one test


def test_elements_that_only_some_rows_load_decide_nothing(target: str) -> None:
    """A load under a condition does not say that all iterations may load that row."""

    @ti.kernel
    def run(x: Grid, y: Grid):
        for i, j in y:
            s = 0.0
            if i > 0:
                for c in range(-1, 2):
                    if 0 <= j + c < x.shape[1]:
                        s += x[i - 1, j + c]
            y[i, j] = x[i - 1, j] if s > 0 else 0.0

    x, y = abs(some(3, 8)) + 1, np.zeros((3, 8), np.float32)
    run(x, y)
    np.testing.assert_array_equal(y, np.concatenate([np.zeros((1, 8)), x[:-1]]))
    assert INSIDE not in run.source(x, y, arch=ti.cuda)


def test_windows_of_parts_of_rows(target: str) -> None:
    @ti.kernel
    def run(x: Grid, y: Grid):
        for i, j in ti.ndrange(y.shape[0], (1, y.shape[1] - 2)):
            s = 0.0
            for c in range(-2, 3):
                if 0 <= j + c < x.shape[1]:
                    s += x[i, j + c]
            y[i, j] = s

    x, y = some(3, 20), np.zeros((3, 20), np.float32)
    run(x, y)
    around = np.pad(x, ((0, 0), (2, 2)))
    expected = sum(around[:, c : c + 20] for c in range(5))
    expected[:, :1] = expected[:, -2:] = 0
    np.testing.assert_array_equal(y, expected)
    assert "j >= 2" in wide_part(run, x, y)


def test_tests_of_something_else_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    ti.init(arch=ti.python, log_level=ti.ERROR)
    field, out = ti.field(ti.f32, (1024, 64)), ti.field(ti.f32, (1024, 64))

    @ti.kernel
    def run(x: Grid, y: Grid, k: ti.template()):
        if ti.static(k < 4):
            for i, j in y:
                s = 0.0
                for c in range(-1, 2):
                    if ti.static(k == 0):  # half of a row
                        if j + c < x.shape[1] // 2:
                            s += x[i, j + c]
                    if ti.static(k == 1):  # an element
                        if 0 <= j + c < x.shape[1] and x[i, j] > 0:
                            s += x[i, j + c]
                    if ti.static(k == 2):  # a multiple
                        if 0 <= 2 * j + c < x.shape[1]:
                            s += x[i, 2 * j + c]
                    if ti.static(k == 3):  # too far away
                        if 0 <= j + 9 * c < x.shape[1]:
                            s += x[i, j + 9 * c]
                y[i, j] = s
        else:
            for i, j in out:  # in rows as short as these, each warp would run single iterations, too
                s = 0.0
                for c in range(-1, 2):
                    if 0 <= j + c < 64:
                        s += field[i, j + c]
                out[i, j] = s

    x = some(8, 8)
    for k in range(5):
        assert WIDE not in run.source(x, x, k, arch=ti.cuda), k
