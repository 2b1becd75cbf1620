"""Pass `transposed_tiles` where only the launch knows the lengths: which task it starts, and that each iteration runs once."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.tiles import transposed_tiles as tiles

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

Ints = ti.types.ndarray(ti.i32, 2)
Grid = ti.types.ndarray(ti.i32, 3)
Vectors = ti.types.ndarray(ti.math.vec3, 2)
MOST = 2**31 - 1


@pytest.fixture(autouse=True)
def _of_blocks(request: pytest.FixtureRequest) -> None:
    """Leave out the interpreter, which has no tiles, and takes seconds for 65,536 iterations."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let loops of any length have tiles."""
    monkeypatch.setattr(tiles, "FEWEST", 1)
    monkeypatch.setattr(tiles, "THIN", 1)


def transpose_of(bounds: str) -> Any:
    """Return a kernel that transposes, and counts its iterations."""

    @ti.kernel
    def over_array(x: Ints, y: Ints, count: Ints, n: ti.i32, m: ti.i32):
        for i, j in x:
            y[j, i] = x[i, j]
            count[i, j] += 1

    @ti.kernel
    def to_lengths(x: Ints, y: Ints, count: Ints, n: ti.i32, m: ti.i32):
        for i, j in ti.ndrange(x.shape[0], y.shape[0]):
            y[j, i] = x[i, j]
            count[i, j] += 1

    @ti.kernel
    def to_numbers(x: Ints, y: Ints, count: Ints, n: ti.i32, m: ti.i32):
        for i, j in ti.ndrange(n, m):
            y[j, i] = x[i, j]
            count[i, j] += 1

    return {"over_array": over_array, "to_lengths": to_lengths, "to_numbers": to_numbers}[bounds]


@pytest.mark.parametrize("bounds", ["over_array", "to_lengths", "to_numbers"])
def test_each_iteration_runs_once(target: str, bounds: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    transpose = transpose_of(bounds)
    sizes = [
        (1, 1),
        (7, 5),
        (256, 256),
        (257, 263),
        (300, 219),
        (65536, 1),
        (1, 65536),
        (16, 4097),
        (4097, 17),
        (15, 6000),
    ]
    for n, m in sizes:
        x = np.arange(n * m, dtype=np.int32).reshape(n, m)
        y, count = np.full((m, n), -1, np.int32), np.zeros((n, m), np.int32)
        transpose(x, y, count, n, m)
        assert np.array_equal(y, x.T) and (count == 1).all()


@pytest.mark.all_targets
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("bounds", ["over_array", "to_numbers"])
def test_small_and_odd_lengths(target: str, bounds: str) -> None:
    """Also of loops that would run in rows."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    transpose = transpose_of(bounds)
    random = np.random.default_rng(5)
    for n, m in [(1, 1), (32, 8), (33, 9), (31, 7), *random.integers(1, 90, (20, 2)).tolist()]:
        x = random.integers(-9, 9, (n, m)).astype(np.int32)
        y, count = np.full((m, n), -1, np.int32), np.zeros((n, m), np.int32)
        counts = [task.iterations for task in transpose.launch_plan(x, y, count, n, m).tasks]
        assert counts == ([n * m] if target == "cpu" else [0, -(-n // 32) * -(-m // 8) * 256])
        transpose(x, y, count, n, m)
        assert np.array_equal(y, x.T) and (count == 1).all()


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("axes", list(permutations(range(3))))
def test_three_axes(target: str, axes: tuple[int, int, int]) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    a, b, c = axes

    @ti.kernel
    def permute(x: Grid, y: Grid):
        for i, j, k in x:
            index = ti.Vector([i, j, k])
            y[index[a], index[b], index[c]] += x[i, j, k]

    random = np.random.default_rng(6)
    for shape in [(1, 1, 1), (2, 32, 8), (3, 33, 9), *random.integers(1, 45, (8, 3)).tolist()]:
        x = random.integers(-9, 9, shape).astype(np.int32)
        y = np.zeros([shape[axis] for axis in axes], np.int32)
        assert ("(transposed_tiles)" in permute.source(x, y, arch=ti.cuda)) == (c != 2)
        permute(x, y)
        assert np.array_equal(y, x.transpose(axes))


@pytest.mark.usefixtures("always")
def test_vectors_and_parts_of_arrays(target: str) -> None:
    """Elements are vectors, one length is a constant that tiles exceed, and indices have numbers added."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def shift(x: Vectors, y: Vectors, n: ti.i32):
        for i, j in ti.ndrange(n - 1, 21):
            y[j, i + 1] = 2 * x[i, j + 1]

    for n in (0, 1, 2, 33, 70):
        x = np.random.default_rng(7).random((71, 22, 3), dtype=np.float32)
        y = np.zeros((21, 71, 3), np.float32)
        shift(x, y, n)
        expected = np.zeros_like(y)
        expected[:, 1 : max(n, 1)] = 2 * x[: max(n - 1, 0), 1:].transpose(1, 0, 2)
        assert np.array_equal(y, expected)


@pytest.mark.usefixtures("always")
def test_no_iteration_runs_where_a_length_is_none(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def fill(x: Ints, n: ti.i32, m: ti.i32):
        for i, j in ti.ndrange(n, m):
            x[j, i] = 1

    x = np.zeros((40, 40), np.int32)
    for n, m in ((0, 0), (0, 40), (40, 0), (-1, 40), (40, -9), (-400, -400)):
        fill(x, n, m)
    assert not x.any()
    fill(x, 33, 9)
    assert x[:9, :33].all() and x.sum() == 9 * 33


WHICH = [
    ((255, 257), False),
    ((256, 256), True),
    ((4096, 16), True),
    ((15, 1 << 20), False),
    ((1 << 20, 15), False),
    ((32768, 32768), True),
    ((46300, 46300), True),
    ((46340, 46340), False),  # whole tiles have 46368 * 46344
    ((1 << 25, 31), True),
    ((1 << 26, 31), False),  # whole tiles have 2^31
    ((17, 126322567), False),
    ((0, 1 << 20), False),
    ((-(1 << 15), -(1 << 15)), False),
]


@pytest.mark.all_targets
@pytest.mark.parametrize(("shape", "has_tiles"), WHICH)
def test_a_launch_starts_the_task_for_its_size(target: str, shape: tuple[int, int], has_tiles: bool) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def fill(x: Ints, n: ti.i32, m: ti.i32):
        for i, j in ti.ndrange(n, m):
            x[j, i] = 1

    n, m = shape
    counts = [task.iterations for task in fill.launch_plan(np.zeros((1, 1), np.int32), n, m).tasks]
    plain, whole = max(n, 0) * max(m, 0), -(-n // 32) * -(-m // 8) * 256
    assert counts == ([plain] if target == "cpu" else [0, whole] if has_tiles else [plain, 0])
    assert plain <= MOST and has_tiles <= (whole <= MOST)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros((8, 8), np.int32)
    transpose = transpose_of("over_array")
    cuda, vulkan = (transpose.source(x, x, x, 8, 8, arch=arch) for arch in (ti.cuda, ti.vulkan))
    for line in (
        "    int extent_i_tile = (unsigned(args.x_n0) + 31) / 32;",
        "    int extent_j_tile = (unsigned(args.x_n1) + 7) / 8;",
        "    if (index >= unsigned(extent_i_tile) * unsigned(extent_j_tile) * 256) return;",
        "    int i_tile = index / 256 / extent_j_tile * 32, j_tile = index / 256 % extent_j_tile * 8,",
        "        in_tile = index % 256;",
        "    int i = i_tile + in_tile / 8, j = j_tile + in_tile % 8;",
        "    if (i < args.x_n0 && j < args.x_n1) {",
        "        // tiles of 32 x 8: arrays are accessed along i and j (transposed_tiles)",
    ):
        assert f"{line}\n" in cuda
    assert "fewer than 65,536 iterations, or 16 along an axis, or too many" in cuda
    assert "int i = i_tile + (in_tile >> 3), j = j_tile + (in_tile & 7);" in vulkan
    assert "tile" not in transpose.source(x, x, x, 8, 8, arch=ti.x64)


def test_threads_follow_memory_where_all_arrays_are_transposed() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def paint(image: Ints, n: ti.i32):
        for i, j in ti.ndrange(n, 512):
            image[j, i] = i % 3 + j

    source = paint.source(np.zeros((8, 8), np.int32), 8, arch=ti.cuda)
    assert "int i = i_tile + in_tile % 32, j = j_tile + in_tile / 32;" in source
    assert "if (i < args.n) {" in source  # whole tiles are 512 long
    assert source.count("i % 3 + j") + source.count("i % 3) + j") == 2  # Python's, since i is not negative


def test_which_loops_stay_in_rows() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def from_one(x: Ints, y: Ints):
        for i, j in ti.ndrange((1, x.shape[0]), x.shape[1]):
            y[j, i] = x[i, j]

    @ti.kernel
    def coordinates(x: Ints, y: Ints):
        for i, j in ti.ndrange(x.shape[0], 3):
            y[j, i] = x[i, j]

    @ti.kernel
    def strided(x: Ints, y: Ints):
        ti.loop_config(grid_stride=True)
        for i, j in x:
            y[j, i] = x[i, j]

    @ti.kernel
    def printed(x: Ints, y: Ints):
        for i, j in x:
            y[j, i] = x[i, j]
            print(i, j)

    @ti.kernel
    def to_element(x: Ints, y: Ints):
        for i, j in ti.ndrange(x[0, 0], x.shape[1]):
            y[j, i] = x[i, j]

    x = np.zeros((8, 8), np.int32)
    for kernel in (from_one, coordinates, strided, printed, to_element):
        assert "i_tile" not in kernel.source(x, x, arch=ti.cuda)
