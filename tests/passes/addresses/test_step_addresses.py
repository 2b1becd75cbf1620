"""Pass `step_addresses`: loads of tiles of ndarrays by numbers that are counted up; results stay."""

import sys
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Grid = ti.types.ndarray(ti.f32, 2)
TILES = [
    sys.modules[f"shadesmith.transpiler.passes.tiles.{name}"] for name in ("parts.register_plan", "register_tiles")
]


@pytest.fixture(autouse=True)
def _of_blocks(request: pytest.FixtureRequest) -> None:
    """Leave out the interpreter, which has no blocks, and takes seconds for a product."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")


@pytest.fixture(autouse=True)
def _tiles_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TILES[0], "SHORT", 1)
    for module in TILES:
        monkeypatch.setattr(module, "FEWEST", 1)
        monkeypatch.setattr(module, "THIN", 1)


@ti.kernel
def shifted(a: Grid, b: Grid, c: Grid, first: ti.i32):
    for i, j in c:
        s = 0.0
        for k in range(2, a.shape[1]):
            s += a[i, k - 2] * b[j + first, k - 1]
        c[i, j] = s


@ti.kernel
def product(a: Grid, b: Grid, c: Grid):
    for i, j in c:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


def arrays(*shapes: tuple[int, int]) -> list[np.ndarray]:
    random = np.random.default_rng(5)
    return [random.integers(-9, 9, shape).astype(np.float32) for shape in shapes]


def test_a_pointer_steps_through_each_factor() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = product.source(*arrays((4, 4), (4, 4), (4, 4)), arch=ti.cuda)
    for line in (
        "const float *a_from = &a_at(((int64_t)i_tile + a_i) * args.a_n1 + a_k);",
        "a_from[a_step * load]",
        "a_from += 16",
        "b_from += b_advance;",
    ):
        assert line in source


def test_a_number_is_counted_where_there_are_no_pointers() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = product.source(*arrays((4, 4), (4, 4), (4, 4)), arch=ti.vulkan)
    for line in ("a_at(a_from + ", "a_from += 16;", "b_from += 16 * args.b_n1;"):
        assert line in source


@pytest.mark.sampled(4)
@pytest.mark.parametrize("passes", [[], ["-step_addresses"], ["+lower_access"]])
@pytest.mark.parametrize(("n", "m", "w"), [(64, 32, 64), (70, 31, 5), (1, 3, 1), (130, 17, 66)])
def test_shifted_indices(target: str, passes: list[str], n: int, m: int, w: int) -> None:
    ti.init(arch=getattr(ti, target), passes=passes, log_level=ti.ERROR)
    a, b, c = arrays((n, m), (w + 3, m), (n, w))
    shifted(a, b, c, 3)
    assert np.array_equal(c, a[:, : m - 2] @ b[3:, 1 : m - 1].T)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [ti.f64, ti.i32, ti.u32, ti.i64])
def test_other_numbers(target: str, dtype: Any) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    kind = ti.types.ndarray(dtype, 3)

    @ti.kernel
    def of_batches(a: kind, b: kind, c: kind):
        for h, i, j in c:
            s = dtype(0)
            for k in range(b.shape[1]):
                s += a[h, i, k] * b[h, k, j]
            c[h, i, j] = s

    random = np.random.default_rng(1)
    kinds = {ti.f64: np.float64, ti.i32: np.int32, ti.u32: np.uint32, ti.i64: np.int64}
    a, b, c = (random.integers(0, 9, shape).astype(kinds[dtype]) for shape in ((3, 66, 19), (3, 19, 65), (3, 66, 65)))
    of_batches(a, b, c)
    assert np.array_equal(c, a @ b)


def test_a_part_of_an_array_keeps_its_indices(target: str) -> None:
    """A view has strides, which come with the launch."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    (whole,) = arrays((80, 90))
    a, c = whole[5:75, 3:63], np.zeros((70, 70), np.float32)

    @ti.kernel
    def gram(a: Grid, c: Grid):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * a[j, k]
            c[i, j] = s

    gram(a, c)
    assert np.array_equal(c, a @ a.T)


def test_other_loops_of_users_stay(target: str) -> None:
    """`continue` leaves out what follows it in an iteration, and so would a step at its end."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def weigh(x: Grid, y: ti.types.ndarray(ti.f32, 1)):
        for i in y:
            s = 0.0
            for k in range(x.shape[1] - 6):
                if (k + i) % 3 == 0:
                    continue
                for m in ti.static(range(6)):
                    s += x[i, k + m] * (m + 1)
            y[i] = s

    (x,) = arrays((40, 50))
    y, expected = np.zeros(40, np.float32), np.zeros(40, np.float32)
    weigh(x, y)
    for i in range(40):
        windows = (x[i, k : k + 6] @ np.arange(1, 7) for k in range(44) if (k + i) % 3)
        expected[i] = sum(windows)
    assert np.array_equal(y, expected)
    assert "x_from" not in weigh.source(x, y, arch=ti.cuda)
