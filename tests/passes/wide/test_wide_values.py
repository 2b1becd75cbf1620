"""Pass `wide_accesses`: what each of several iterations computes by itself, ends of rows, and windows."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.transpiler.passes.wide.parts import widenable

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
]

WIDE = "iterations at a time, by accesses of 16 bytes"
Vector = ti.types.ndarray(ti.f32, 1)
Grid = ti.types.ndarray(ti.f32, 2)
Integers = ti.types.ndarray(ti.i32, 2)


@pytest.fixture(autouse=True)
def _short_loops(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Let loops over small fields be widened, too."""
    monkeypatch.setattr(widenable, "FEW", 1)
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, enable_fallback=False, offline_cache=False, fast_math=False)


def some(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) * 37 % 97 - 40).astype(np.float32)


def is_wide(kernel: object, *args: object) -> bool:
    found = {WIDE in kernel.source(*args, arch=arch) for arch in (ti.cuda, ti.vulkan)}
    assert len(found) == 1
    return found.pop()


# --- the ends of rows -------------------------------------------------------------------------------------------------

COLUMNS = {
    "(j + {s}) % m": lambda j, s, m: (j + s) % m,
    "ti.min(ti.max(j + {s}, 0), m - 1)": lambda j, s, m: np.clip(j + s, 0, m - 1),
    "ti.max(ti.min(m - 1, j + {s}), 0)": lambda j, s, m: np.clip(j + s, 0, m - 1),
    "(j + {s} if 0 <= j + {s} and j + {s} < m else 0)": lambda j, s, m: np.where((j + s >= 0) & (j + s < m), j + s, 0),
    "ti.select(j + {s} >= m, 0, ti.max(j + {s}, 0))": lambda j, s, m: np.where(j + s >= m, 0, np.maximum(j + s, 0)),
}


@pytest.mark.sampled(48)
@pytest.mark.parametrize("m", [1, 3, 4, 8, 20, 21])
@pytest.mark.parametrize("shift", [-4, -3, -1, 0, 1, 2, 3, 5])
@pytest.mark.parametrize("column", COLUMNS)
def test_neighbours_beyond_the_ends_of_rows(target: str, column: str, shift: int, m: int, tmp_path) -> None:
    text = column.format(s=shift)
    program = written_programs.write(
        tmp_path / "ends.py",
        "@ti.kernel\n"
        "def given(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 2)):\n"
        "    for i, j in x:\n"
        "        m = x.shape[1]\n"
        f"        y[i, j] = x[i, j] - 2 * x[i, {text}]\n"
        "def of_fields(x, y, m):\n"
        "    @ti.kernel\n"
        "    def run():\n"
        "        for i, j in x:\n"
        f"            y[i, j] = x[i, j] - 2 * x[i, {text}]\n"
        "    return run\n",
    )
    x, y = some(5, m), np.zeros((5, m), np.float32)
    expected = x - 2 * x[:, COLUMNS[column](np.arange(m), shift, m)]
    program.given(x, y)
    np.testing.assert_array_equal(y, expected)
    a, b = ti.field(ti.f32, (5, m)), ti.field(ti.f32, (5, m))
    a.from_numpy(x)
    run = program.of_fields(a, b, m)
    run()
    np.testing.assert_array_equal(b.to_numpy(), expected)
    if m % 4 == 0 and abs(shift) < 4 and "and" not in column:
        assert is_wide(run)


def test_forms_of_choices(target: str) -> None:
    """A comparison decides in any of its forms; one that decides too early is no neighbour, and is computed right."""
    n = 16
    x, y = ti.field(ti.f32, (3, n)), ti.field(ti.f32, (9, 3, n))

    @ti.kernel
    def run(k: ti.template()):
        for i, j in x:
            if ti.static(k == 0):
                y[k, i, j] = x[i, j + 1 if j < n - 1 else 0]
            if ti.static(k == 1):
                y[k, i, j] = x[i, j - 1 if j > 0 else n - 1]
            if ti.static(k == 2):
                y[k, i, j] = x[i, n - 1 if j == 0 else j - 1]
            if ti.static(k == 3):
                y[k, i, j] = x[i, 0 if j + 1 == n else j + 1]
            if ti.static(k == 4):
                y[k, i, j] = x[i, j + 2 if n - 2 > j else j]
            if ti.static(k == 5):
                y[k, i, j] = x[i, j + 1 if j < n - 2 else 3]
            if ti.static(k == 6):
                y[k, i, j] = x[i, j - 1 if j > 2 else 5]
            if ti.static(k == 7):
                y[k, i, j] = x[i, ti.min(j + 1, n - 2)]
            if ti.static(k == 8):
                y[k, i, j] = x[i, (j + 1) % (n - 1)]

    x.from_numpy(some(3, n))
    j = np.arange(n)
    columns = [
        (j + 1) % n, (j - 1) % n, (j - 1) % n, (j + 1) % n, np.where(j < n - 2, j + 2, j), np.where(j < n - 2, j + 1, 3),
        np.where(j > 2, j - 1, 5), np.minimum(j + 1, n - 2), (j + 1) % (n - 1),
    ]  # fmt: skip
    for k, column in enumerate(columns):
        run(k)
        np.testing.assert_array_equal(y.to_numpy()[k], some(3, n)[:, column])
    assert [is_wide(run, k) for k in range(9)] == [True] * 5 + [False] * 4


def test_sums_up_to_the_end_do_not_wrap() -> None:
    @ti.kernel
    def next_one(x: Grid, y: Grid):
        for i, j in x:
            y[i, j] = x[i, (j + 1) % x.shape[1]] - x[i, ti.max(j - 1, 0)]

    x = some(3, 8)
    source = next_one.source(x, x, arch=ti.cuda)
    assert "mod_near_i32(j + 4, args.x_n1)" in source and "max(jj - 1, 0)" in source and "unsigned(j" not in source


CONDITIONS = {
    "j % 2 < 1": lambda j, x: j % 2 < 1,
    "abs(j - 3) <= 1": lambda j, x: abs(j - 3) <= 1,
    "(i + j) % 2 < 1 and j > 2": lambda j, x: ((np.arange(len(x))[:, None] + j) % 2 < 1) & (j > 2),
    "j < (i + j) // 2": lambda j, x: j < (np.arange(len(x))[:, None] + j) // 2,
    "ti.floor(x[i, j]) < 0": lambda j, x: x < 0,
    "(x[i, j] if j > 2 else -x[i, j]) < 0": lambda j, x: np.where(j > 2, x, -x) < 0,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_on_what_each_iteration_computes(target: str, condition: str, tmp_path) -> None:
    """No outcome for the first of the iterations, or for the last, is that of the others."""
    program = written_programs.write(
        tmp_path / "conditions.py",
        "def of_fields(x, y):\n"
        "    @ti.kernel\n"
        "    def run():\n"
        "        for i, j in x:\n"
        f"            if {condition}:\n"
        "                y[i, j] = x[i, j] * 2\n"
        "    return run\n",
    )
    x, y = ti.field(ti.f32, (3, 16)), ti.field(ti.f32, (3, 16))
    x.from_numpy(some(3, 16))
    program.of_fields(x, y)()
    expected = np.where(CONDITIONS[condition](np.arange(16), some(3, 16)), 2 * some(3, 16), 0)
    np.testing.assert_array_equal(y.to_numpy(), expected)


# --- values of each iteration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 4, 7, 130, 4096])
def test_comparisons_functions_and_indices(target: str, n: int) -> None:
    @ti.kernel
    def run(x: Vector, y: Vector, z: Vector, limit: ti.f32):
        for i in x:
            kept = x[i] if x[i] > limit else -1.0
            y[i] = kept + ti.floor(x[i] * 0.5) - i
            z[i] = (i * 3) % 7 + ti.cast(x[i] != kept, ti.f32) + ti.sqrt(ti.cast(i * i, ti.f32))

    x, y, z = some(n), np.zeros(n, np.float32), np.zeros(n, np.float32)
    run(x, y, z, 3.0)
    i = np.arange(n)
    np.testing.assert_array_equal(y, np.where(x > 3, x, -1) + np.floor(x * 0.5) - i)
    np.testing.assert_array_equal(z, i * 3 % 7 + (x <= 3) * (x != -1) + i)
    assert is_wide(run, x, y, z, 3.0)


def test_transcendental_functions(target: str) -> None:
    @ti.kernel
    def run(x: Vector, y: Vector):
        for i in x:
            y[i] = 1 / (1 + ti.exp(-x[i])) + ti.sin(x[i])

    x = np.linspace(-8, 8, 4099, dtype=np.float32)
    y = np.zeros_like(x)
    run(x, y)
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-x.astype(np.float64))) + np.sin(x.astype(np.float64)), atol=2e-6)
    assert is_wide(run, x, y)


def test_variables_of_an_iteration(target: str) -> None:
    n = 24
    x, y = ti.field(ti.i32, (3, n)), ti.field(ti.i32, (3, n))

    @ti.kernel
    def run():
        for i, j in x:
            count = -x[i, j]
            count += x[i, (j + 1) % n] * 2
            small = ti.min(count, 3)
            count -= small if x[i, j] > 0 else j
            y[i, j] = count * small

    values = some(3, n).astype(np.int32)
    x.from_numpy(values)
    run()
    count = -values + 2 * np.roll(values, -1, 1)
    small = np.minimum(count, 3)
    np.testing.assert_array_equal(y.to_numpy(), (count - np.where(values > 0, small, np.arange(n))) * small)
    assert is_wide(run)


def test_numbers_of_8_bytes(target: str) -> None:
    n = 18
    x, y = ti.field(ti.f64, (3, n)), ti.field(ti.f64, (3, n))

    @ti.kernel
    def run():
        for i, j in x:
            y[i, j] = x[i, (j + 1) % n] if x[i, j] > 0 else x[i, ti.max(j - 1, 0)] + j

    x.from_numpy(some(3, n))
    run()
    v, j = some(3, n).astype(np.float64), np.arange(n)
    expected = np.where(v > 0, np.roll(v, -1, 1), v[:, np.maximum(j - 1, 0)] + j)
    np.testing.assert_array_equal(y.to_numpy(), expected)


def test_loads_that_only_some_iterations_need(target: str) -> None:
    """They are of vectors if all iterations load the row, or its array and there is an element for each."""
    n = 16
    x, y, z = (ti.field(ti.f32, (3, n)) for _ in range(3))

    @ti.kernel
    def run(k: ti.template()):
        for i, j in x:
            if ti.static(k == 0):
                z[i, j] = x[i, j] if x[i, (j + 1) % n] > 0 else 0.0
            if ti.static(k == 1):
                z[i, j] = x[i, j] if x[(i + 1) % 3, j] > 0 else 0.0
            if ti.static(k == 2):
                z[i, j] = y[i, j] if x[i, j] > 0 else 0.0  # `y` may be loaded for a few alone
            if ti.static(k == 3):
                z[i, j] = x[(i + 1) % 3, j] if x[i, j] > 0 else 0.0  # so may this row

    values = some(3, n)
    x.from_numpy(values)
    y.from_numpy(values * 2)
    expected = [
        np.where(np.roll(values, -1, 1) > 0, values, 0), np.where(np.roll(values, -1, 0) > 0, values, 0),
        np.where(values > 0, 2 * values, 0), np.where(values > 0, np.roll(values, -1, 0), 0),
    ]  # fmt: skip
    for k, each in enumerate(expected):
        run(k)
        np.testing.assert_array_equal(z.to_numpy(), each)
    assert [is_wide(run, k) for k in range(4)] == [True, True, False, False]


def test_elements_outside_are_not_loaded_for_others(target: str) -> None:
    @ti.kernel
    def run(x: Vector, y: Vector, n: ti.i32):
        for i in range(n):
            y[i] = x[i] if i < x.shape[0] else -1.0

    x, y = some(6), np.zeros(16, np.float32)
    run(x, y, 16)
    np.testing.assert_array_equal(y, [*some(6), *[-1.0] * 10])
    assert "i < args.x_n - 3" in run.source(x, y, 16, arch=ti.cuda).partition(WIDE)[2]


def test_elements_of_a_vector_that_was_stored(target: str) -> None:
    """lavapipe reads the first element if memory is read for the others."""
    n = 16
    x, y, z = (ti.field(ti.f32, (3, n)) for _ in range(3))

    @ti.kernel
    def run():
        for i, j in x:
            y[i, j] = abs(x[i, j])
            z[i, j] = ti.select(j % 4 == 3, y[i, j], 0)

    x.from_numpy(some(3, n))
    run()
    np.testing.assert_array_equal(z.to_numpy(), np.where(np.arange(n) % 4 == 3, abs(some(3, n)), 0))
    assert is_wide(run)


def test_many_operations_stay_those_of_one_iteration() -> None:
    @ti.kernel
    def run(x: Vector, y: Vector, count: ti.template()):
        for i in x:
            total = 0.0
            for k in ti.static(range(count)):
                total += ti.floor(x[i] * k) if ti.static(k > 0) else 0.0
            y[i] = total

    x = some(8)
    assert is_wide(run, x, x, 3)
    assert not is_wide(run, x, x, widenable.MOST_BY_LANE + 2)


# --- windows ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [4, 5, 12])
@pytest.mark.parametrize("form", ["static", "plain", "ndrange"])
def test_windows(target: str, form: str, m: int) -> None:
    n = 6

    @ti.kernel
    def blur(x: Grid, y: Grid, w: Grid):
        for i, j in x:
            total = 0.0
            if ti.static(form == "static"):
                for p in ti.static(range(-1, 2)):
                    for q in ti.static(range(-1, 2)):
                        total += w[p + 1, q + 1] * x[(i + p) % x.shape[0], (j + q) % x.shape[1]]
            if ti.static(form == "plain"):
                for p in range(-1, 2):
                    for q in range(-1, 2):
                        total += w[p + 1, q + 1] * x[(i + p) % x.shape[0], (j + q) % x.shape[1]]
            if ti.static(form == "ndrange"):
                for p, q in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                    total += w[p + 1, q + 1] * x[(i + p) % x.shape[0], (j + q) % x.shape[1]]
            y[i, j] = total - x[i, j]

    x, y, w = some(n, m), np.zeros((n, m), np.float32), np.arange(9, dtype=np.float32).reshape(3, 3)
    blur(x, y, w)
    sides = [(p, q) for p in (-1, 0, 1) for q in (-1, 0, 1)]
    expected = sum(w[p + 1, q + 1] * np.roll(x, (-p, -q), (0, 1)) for p, q in sides) - x
    np.testing.assert_array_equal(y, expected)
    source = blur.source(x, y, w, arch=ti.cuda)
    wide = source.partition(WIDE)[2]
    assert "for (int p = -1; p < 2; p++)" in wide and "int q =" not in wide


def test_windows_inside_borders(target: str) -> None:
    n, m = 7, 16
    x, y = ti.field(ti.f32, (n, m)), ti.field(ti.f32, (n, m))

    @ti.kernel
    def sharpen():
        for i, j in x:
            if 0 < i < n - 1 and 0 < j < m - 1:
                least = x[i, j]
                for p in ti.static(range(-1, 2)):
                    for q in ti.static(range(-1, 2)):
                        least = ti.min(least, x[i + p, j + q])
                y[i, j] = least

    x.from_numpy(some(n, m))
    sharpen()
    expected = np.zeros((n, m), np.float32)
    sides = [(p, q) for p in (0, 1, 2) for q in (0, 1, 2)]
    expected[1:-1, 1:-1] = np.min([some(n, m)[p : n - 2 + p, q : m - 2 + q] for p, q in sides], 0)
    np.testing.assert_array_equal(y.to_numpy(), expected)
    source = sharpen.source(arch=ti.cuda)
    assert WIDE in source and "x(i + p, j - 1)" in source and "iteration(args, i, jj)" in source


@pytest.mark.parametrize("m", [3, 4, 9, 16])
def test_windows_of_ndarrays_inside_borders(target: str, m: int) -> None:
    @ti.kernel
    def blur(x: Grid, y: Grid):
        for i, j in x:
            if i > 0 and j > 0 and i < x.shape[0] - 1 and j < x.shape[1] - 1:
                total = 0.0
                for p, q in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                    total += x[i + p, j + q] * (2 * p + q + 3)
                y[i, j] = total

    n = 6
    x, y, expected = some(n, m), np.zeros((n, m), np.float32), np.zeros((n, m), np.float32)
    blur(x, y)
    sides = [(p, q) for p in (0, 1, 2) for q in (0, 1, 2)]
    expected[1:-1, 1:-1] = sum(x[p : n - 2 + p, q : m - 2 + q] * (2 * p + q) for p, q in sides)
    np.testing.assert_array_equal(y, expected)
    assert is_wide(blur, x, y)


def test_loops_that_stay(target: str) -> None:
    """Windows with columns outside rows, wide ones, ones that end early, and loops without rows."""
    n = 16
    x, y = ti.field(ti.f32, (4, n)), ti.field(ti.f32, (4, n))

    @ti.kernel
    def run(k: ti.template()):
        for i, j in x:
            total = 0.0
            if ti.static(k == 0):
                for q in ti.static(range(-1, 2)):
                    for p in ti.static(range(2)):
                        total += x[(i + p) % 4, (j + q) % n]
            if ti.static(k == 1):
                for q in range(-4, 5):
                    total += x[i, (j + q) % n]
            if ti.static(k == 2):
                for q in range(3):
                    if x[i, j] > 0:
                        break
                    total += x[i, (j + q) % n]
            if ti.static(k == 3):
                value = x[i, j]
                for q in range(3):
                    total = total * value + q
            y[i, j] = total

    values = some(4, n)
    x.from_numpy(values)
    expected = [
        sum(np.roll(values, (-p, -q), (0, 1)) for q in (-1, 0, 1) for p in (0, 1)),
        sum(np.roll(values, -q, 1) for q in range(-4, 5)),
        np.where(values > 0, 0, sum(np.roll(values, -q, 1) for q in range(3))),
        values + 2,
    ]
    for k, each in enumerate(expected):
        run(k)
        np.testing.assert_array_equal(y.to_numpy(), each)
        assert not is_wide(run, k)


@pytest.mark.parametrize(("n", "row"), [(20, "mod_near_i32(i + p, n)"), (16, "(i + p) & (n - 1)")])
def test_game_of_life(target: str, n: int, row: str) -> None:
    cells, after = ti.field(ti.i32, (n, n)), ti.field(ti.i32, (n, n))

    @ti.kernel
    def step():
        for i, j in cells:
            alive = 0
            for p in range(-1, 2):
                for q in range(-1, 2):
                    alive += cells[(i + p) % n, (j + q) % n]
            alive -= cells[i, j]
            after[i, j] = 1 if alive == 3 or (alive == 2 and cells[i, j] == 1) else 0

    board = np.random.default_rng(0).integers(0, 2, (n, n), dtype=np.int32)
    cells.from_numpy(board)
    step()
    alive = sum(np.roll(board, (p, q), (0, 1)) for p in (-1, 0, 1) for q in (-1, 0, 1)) - board
    np.testing.assert_array_equal(after.to_numpy(), (alive == 3) | ((alive == 2) & (board == 1)))
    source = step.source(arch=ti.cuda)
    assert f"ivec4 cells_row = cells4({row}, j)" in source
    assert "alive.w == 3 || (alive.w == 2 && cells_ij.w == 1) ? 1 : 0" in source


def test_what_all_iterations_share_is_computed_after_its_loads(target: str) -> None:
    """A sum of what is loaded moves in front of the wide iteration with its load, unless something is stored before."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, enable_fallback=False, offline_cache=False, debug=True)
    x, y, z, factor = ti.field(ti.f32, (4, 8)), ti.field(ti.f32, (4, 8)), ti.field(ti.f32, (4, 8)), ti.field(ti.f32, 2)

    @ti.kernel
    def run():
        for i, j in x:
            t = factor[0] * 2 + 1
            y[i, j] = x[i, j] * t + t
            s = (factor[1] if t > 3 else factor[0]) - 1
            z[i, j] = x[i, j] + s

    @ti.kernel
    def where():
        for i, j in x:
            if factor[0] < 4 and j > 1:
                y[i, j] = x[i, j] + 1

    x.from_numpy(some(4, 8))
    factor.from_numpy(np.array([3, 5], np.float32))
    run()
    np.testing.assert_array_equal(y.to_numpy(), some(4, 8) * 7 + 7)
    np.testing.assert_array_equal(z.to_numpy(), some(4, 8) + 4)
    where()
    np.testing.assert_array_equal(y.to_numpy(), np.where(np.arange(8) > 1, some(4, 8) + 1, some(4, 8) * 7 + 7))
    assert is_wide(run) and is_wide(where)


@pytest.mark.parametrize("m", [8, 9])
def test_neighbours_that_decide_about_themselves(target: str, m: int) -> None:
    """A neighbour of a choice, which its condition has loaded, is no element at the index itself."""

    @ti.kernel
    def run(x: Grid, y: Grid):
        for i, j in x:
            a = x[i, (j + 1) % x.shape[1]] if x[i, (j + 1) % x.shape[1]] > 0 else x[i, j]
            y[i, j] = x[i, ti.max(j - 1, 0)] if x[i, ti.max(j - 1, 0)] < a else a + 100

    x, y = some(3, m), np.zeros((3, m), np.float32)
    run(x, y)
    after, before = x[:, (np.arange(m) + 1) % m], x[:, np.maximum(np.arange(m) - 1, 0)]
    a = np.where(after > 0, after, x)
    np.testing.assert_array_equal(y, np.where(before < a, before, a + 100))
    assert is_wide(run, x, y)


def test_greatest_of_a_window_by_choices(target: str) -> None:
    n, m = 5, 12
    x, y = ti.field(ti.f32, (n, m)), ti.field(ti.f32, (n, m))

    @ti.kernel
    def dilate():
        for i, j in x:
            best = x[i, j]
            for p in ti.static(range(-1, 2)):
                for q in ti.static(range(-1, 2)):
                    best = x[(i + p) % n, (j + q) % m] if x[(i + p) % n, (j + q) % m] > best else best
            y[i, j] = best

    x.from_numpy(some(n, m))
    dilate()
    expected = np.max([np.roll(some(n, m), (p, q), (0, 1)) for p in (-1, 0, 1) for q in (-1, 0, 1)], 0)
    np.testing.assert_array_equal(y.to_numpy(), expected)
    assert is_wide(dilate)
