"""Pass `peel_borders` (C): iterations at the ends of rows are another task; results stay, of short rows too."""

import importlib.util
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

MODULE = sys.modules["shadesmith.transpiler.passes.loops.peel_borders"]
NOTE = "(peel_borders)"
Grid = ti.types.ndarray(ti.f32, 2)


@pytest.fixture(autouse=True)
def _of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "FEWEST", 1)
    monkeypatch.setattr(MODULE, "MOST_OF_ROW", 1)


INDICES = {
    "clamped": ("ti.min(ti.max(j + 2, 0), n - 1)", lambda j, n: np.clip(j + 2, 0, n - 1)),
    "clamp": ("ti.math.clamp(j - 3, 0, n - 1)", lambda j, n: np.clip(j - 3, 0, n - 1)),
    "only above": ("ti.min(j + 1, n - 1)", lambda j, n: np.minimum(j + 1, n - 1)),
    "only below": ("ti.max(0, j - 1)", lambda j, n: np.maximum(j - 1, 0)),
    "next": ("(j + 1) % n", lambda j, n: (j + 1) % n),
    "before": ("(j - 1) % n", lambda j, n: (j - 1) % n),
    "before, never negative": ("(j - 1 + n) % n", lambda j, n: (j - 1) % n),
    "around twice": ("(j + 2 * n + 1) % n", lambda j, n: (j + 1) % n),
    "chosen": ("(j + 1 if j < n - 1 else 0)", lambda j, n: (j + 1) % n),
    "selected": ("ti.select(j == 0, n - 1, j - 1)", lambda j, n: (j - 1) % n),
    "mirrored": ("ti.max(n - 2 - j, 0)", lambda j, n: np.maximum(n - 2 - j, 0)),
    "mirrored at the border": ("ti.abs(j - 1)", lambda j, n: abs(j - 1)),
    "other numbers": ("ti.min(ti.max(j - 1, 1), n - 2)", lambda j, n: np.minimum(np.maximum(j - 1, 1), n - 2)),
}
NAMES = [name for name in INDICES if name != "other numbers"]


def of_source(tmp_path: Path, source: str) -> Any:
    path = tmp_path / "of_index.py"
    path.write_text("import shadesmith as ti\nGrid = ti.types.ndarray(ti.f32, 2)\n\n" + source)
    spec = importlib.util.spec_from_file_location(f"of_index_{id(path)}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(x: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    n = x.shape[1]
    j = np.arange(n)
    return sum(((k + 1) * x[:, INDICES[name][1](j, n)] for k, name in enumerate(names)), np.zeros_like(x))


LOOPS = {
    "extent": ("u: Grid, v: Grid", "for i, j in v:\n        n = u.shape[1]"),
    "argument": ("u: Grid, v: Grid, n: ti.i32", "for i, j in ti.ndrange(u.shape[0], n):"),
    "both": ("u: Grid, v: Grid, n: ti.i32", "for i, j in v:"),
}


@pytest.mark.sampled(15)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("names", [(name,) for name in NAMES] + list(itertools.combinations(NAMES, 2))[::5])
def test_ndarrays(target: str, tmp_path: Path, names: tuple[str, ...], loop: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    parameters, head = LOOPS[loop]
    terms = " + ".join(f"{k + 1} * u[i, {INDICES[name][0]}]" for k, name in enumerate(names))
    module = of_source(tmp_path, f"@ti.kernel\ndef f({parameters}):\n    {head}\n        v[i, j] = {terms}\n")
    for n in (2, 3, 4, 5, 8, 33, 300):
        x = np.random.default_rng(n).integers(-9, 9, (5, n)).astype(np.float32)
        y = np.zeros_like(x)
        module.f(x, y, *([] if loop == "extent" else [n]))
        assert np.array_equal(y, expected(x, names)), (n, names)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("n", [3, 4, 16, 33, 300])
@pytest.mark.parametrize("names", [(name,) for name in INDICES] + list(itertools.combinations(NAMES, 3))[::29])
def test_fields(target: str, tmp_path: Path, names: tuple[str, ...], n: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    terms = " + ".join(f"{k + 1} * u[i, {INDICES[name][0]}]" for k, name in enumerate(names))
    body = f"    for i, j in v:\n            v[i, j] = {terms}\n"
    module = of_source(tmp_path, f"def made(u, v, n):\n    @ti.kernel\n    def f():\n    {body}    return f\n")
    x = np.random.default_rng(n).integers(-9, 9, (5, n)).astype(np.float32)
    u, v = ti.field(ti.f32, x.shape), ti.field(ti.f32, x.shape)
    u.from_numpy(x)
    module.made(u, v, n)()
    assert np.array_equal(v.to_numpy(), expected(x, names))


@pytest.mark.all_targets
def test_serial_loops_add_to_the_index(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def blur(u: Grid, v: Grid):
        for i, j in v:
            s = 0.0
            for k in range(-3, 5):
                for m in ti.static(range(-1, 2)):
                    s += u[ti.math.clamp(i + m, 0, u.shape[0] - 1), ti.min(ti.max(j + k - 2 * m, 0), u.shape[1] - 1)]
            v[i, j] = s

    for n in (1, 2, 7, 40):
        x = np.random.default_rng(n).integers(-9, 9, (6, n)).astype(np.float32)
        y, total = np.zeros_like(x), np.zeros_like(x)
        blur(x, y)
        rows, columns = np.arange(6), np.arange(n)
        for k, m in itertools.product(range(-3, 5), range(-1, 2)):
            total += x[np.clip(rows + m, 0, 5)][:, np.clip(columns + k - 2 * m, 0, n - 1)]
        assert np.array_equal(y, total)
    assert (NOTE in blur.source(x, y)) == (target == "cpu")


def test_the_inner_loop_has_neighbours() -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    n = 2000
    life, after = ti.field(ti.i32, (n, n)), ti.field(ti.i32, (n, n))

    @ti.kernel
    def count():
        for i, j in life:
            after[i, j] = life[i, (j + 1) % n] + life[i, (j - 1 + n) % n]

    source = count.source()
    assert "after(i, j) = life(i, j + 1) + life(i, j - 1);" in source
    assert "for (int j = 1; j < 1999; j++) {" in source
    assert "int j = border < 1 ? border : border + 1998;" in source


def unsuitable() -> dict[str, Any]:
    """Return kernels that stay one task, as functions of two grids."""

    @ti.kernel
    def in_place(u: Grid, v: Grid):
        for i, j in u:
            u[i, j] = u[i, ti.min(j + 1, u.shape[1] - 1)] + v[i, j]

    @ti.kernel
    def total(u: Grid, v: Grid) -> ti.f32:
        s = 0.0
        for i, j in u:
            s += u[i, ti.min(j + 1, u.shape[1] - 1)] * v[i, j]
        return s

    @ti.kernel
    def of_rows(u: Grid, v: Grid):
        for i, j in u:
            v[i, j] = u[ti.min(i + 1, u.shape[0] - 1), j]

    @ti.kernel
    def of_what_is_loaded(u: Grid, v: Grid):
        for i, j in u:
            v[i, j] = u[i, ti.max(ti.cast(u[i, j], ti.i32), 0) % u.shape[1]]

    @ti.kernel
    def diagonal(u: Grid, v: Grid):
        for i, j in u:
            v[i, j] = u[i, (i + j) % u.shape[1]]

    @ti.kernel
    def halves(u: Grid, v: Grid):
        for i, j in u:
            v[i, j] = u[i, j if j < u.shape[1] // 2 else j - 1]

    @ti.kernel
    def random(u: Grid, v: Grid):
        for i, j in u:
            v[i, j] = u[i, ti.min(j + 1, u.shape[1] - 1)] * ti.random()

    return {
        kernel.__name__: kernel for kernel in (in_place, total, of_rows, of_what_is_loaded, diagonal, halves, random)
    }


@pytest.mark.parametrize("name", [
    "in_place", "total", "of_rows", "of_what_is_loaded", "diagonal", "halves", "random"
])  # fmt: skip
def test_what_stays_one_task(name: str) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    x = np.ones((4, 40), np.float32)
    assert NOTE not in unsuitable()[name].source(x, x.copy())


def test_it_can_be_switched_off() -> None:
    ti.init(arch=ti.cpu, passes=["-peel_borders"], log_level=ti.ERROR)

    @ti.kernel
    def f(u: Grid, v: Grid):
        for i, j in v:
            v[i, j] = u[i, ti.min(j + 1, u.shape[1] - 1)]

    assert NOTE not in f.source(np.ones((4, 4), np.float32), np.ones((4, 4), np.float32))


@pytest.mark.parametrize("n", [-(2**31), -5, 0, 1, 2, 5])
def test_arguments_that_are_no_lengths(n: int) -> None:
    """A loop up to an argument has no iterations if that is negative."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def f(u: ti.types.ndarray(ti.f32, 1), v: ti.types.ndarray(ti.f32, 1), n: ti.i32):
        for j in range(n):
            v[j] = u[(j + 1) % n] + u[ti.max(j - 2, 0)]

    x, y = np.arange(8, dtype=np.float32), np.full(8, -1, np.float32)
    assert NOTE in f.source(x, y, n)
    f(x, y, n)
    j = np.arange(max(n, 0))
    wanted = np.full(8, -1, np.float32)
    wanted[: len(j)] = x[(j + 1) % max(n, 1)] + x[np.maximum(j - 2, 0)]
    assert np.array_equal(y, wanted)


def first_or_before(j: Any, n: int) -> Any:
    return np.where(j < 1, 1, j - 1)


@pytest.mark.parametrize("first", [
    "ti.select(j < 1, j + 1, j - 1)", "ti.max(j - 1 if j >= 1 else j + 1, 0)", "(j + 1 if j != 1 else j - 1) % n",
])  # fmt: skip
def test_two_iterations_at_one_end(target: str, tmp_path: Path, first: str) -> None:
    """gcc 12 computes wrong numbers in a marked loop of two iterations: such loops are not marked."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    rows, n = 40, 70
    terms = f"u[i, {first}] + u[i, ti.max(j - 2, 0)]"
    loops = ("i, j in v", "i, j in ti.ndrange(40, 2)")
    bodies = "".join(
        f"    @ti.kernel\n    def f{k}():\n        for {loop}:\n            v[i, j] = {terms}\n"
        for k, loop in enumerate(loops)
    )
    module = of_source(tmp_path, f"def made(u, v, n):\n{bodies}    return f0, f1\n")
    x = np.random.default_rng(0).integers(-99, 99, (rows, n)).astype(np.int32)
    u, v = ti.field(ti.i32, (rows, n)), ti.field(ti.i32, (rows, n))
    u.from_numpy(x)
    j = np.arange(n)
    chosen = (j + 1) % n if "!= 1" in first else first_or_before(j, n)
    chosen = np.where(j == 1, 0, chosen)
    expected = x[:, chosen] + x[:, np.maximum(j - 2, 0)]
    whole, two = module.made(u, v, n)
    whole()
    assert np.array_equal(v.to_numpy(), expected)
    v.fill(0)
    two()
    assert np.array_equal(v.to_numpy()[:, :2], expected[:, :2])


def test_many_limits_of_one_extent(target: str) -> None:
    """The least of them is the limit: as many minima in one expression were refused by Python."""
    ti.init(arch=getattr(ti, target), unrolling_limit=0, log_level=ti.ERROR)
    reach = 150

    @ti.kernel
    def total(u: ti.types.ndarray(ti.i32, 1), v: ti.types.ndarray(ti.i32, 1), w: ti.types.ndarray(ti.i32, 1)):
        for j in w:
            s = 0
            for k in ti.static(range(-30, reach)):
                s += u[ti.math.clamp(j + k, 0, u.shape[0] - 1)] - v[ti.min(j + ti.max(k, 0), v.shape[0] - 1)]
            w[j] = s

    for n in (1, 7, 400 if target == "cpu" else 50):
        x, y = np.random.default_rng(n).integers(-99, 99, (2, n)).astype(np.int32)
        w, j = np.zeros(n, np.int32), np.arange(n)
        total(x, y, w)
        assert np.array_equal(
            w, sum(x[np.clip(j + k, 0, n - 1)] - y[np.minimum(j + max(k, 0), n - 1)] for k in range(-30, reach))
        )


def test_sums_that_wrap_are_not_compared(target: str) -> None:
    """A difference of two sums is known where each of them is."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def cancel(u: ti.types.ndarray(ti.i32, 1), v: ti.types.ndarray(ti.i32, 1), a: ti.i32):
        n = u.shape[0]
        for j in v:
            v[j] = u[ti.min(j + a, n - 1 + a) - a]

    @ti.kernel
    def products(u: ti.types.ndarray(ti.i32, 1), v: ti.types.ndarray(ti.i32, 1)):
        for j in range(12):
            v[j] = u[j if j * 1073741824 < j * 1073741823 + 1 else 0]

    x, y = np.arange(100, 112).astype(np.int32), np.zeros(12, np.int32)
    cancel(x, y, 2**31 - 6)
    assert np.array_equal(y, [111, 111, 111, 111, 111, 111, 106, 107, 108, 109, 110, 111])
    products(x, y)
    assert np.array_equal(y, [100, 100, 102, 100, 100, 100, 106, 100, 100, 100, 110, 100])


def test_rows_that_are_mostly_ends_stay_whole() -> None:
    """Colours, windows as wide as rows, limits that are no ends: the other task would have most iterations."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def wide(u: Grid, v: Grid):
        for i, j in v:
            v[i, j] = u[i, ti.min(j + 1000, u.shape[1] - 1)]

    @ti.kernel
    def of_a_table(u: Grid, v: Grid):
        for i, j in v:
            v[i, j] = u[i, j % 16] + u[i, ti.min(j, 10)]

    x = np.ones((4, 40), np.float32)
    assert NOTE not in wide.source(x, x.copy()) and NOTE not in of_a_table.source(x, x.copy())
