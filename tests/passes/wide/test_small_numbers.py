"""Pass `wide_accesses`: numbers of 8 and 16 bits, and loops over arrays of several types."""

from __future__ import annotations

import importlib.util
import os
import random

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.wide.parts import widenable

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
    pytest.mark.filterwarnings("ignore:.*lose precision"),
]

WIDE = "iterations at a time, by accesses of"
TYPES = {name: getattr(np, kind) for name, kind in [
    ("u8", "uint8"), ("i8", "int8"), ("u16", "uint16"), ("i16", "int16"), ("f16", "float16"), ("i32", "int32"),
    ("u32", "uint32"), ("f32", "float32"),
]}  # fmt: skip
SEEDS = range(int(os.environ.get("SEEDS", "12")))


@pytest.fixture(autouse=True)
def _short_loops(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Let loops over small fields be widened, too."""
    monkeypatch.setattr(widenable, "FEW", 1)
    start(target)


def start(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, enable_fallback=False, offline_cache=False, fast_math=False)


def some(kind: str, *shape: int) -> np.ndarray:
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape) * 37 % 251
    return (numbers if kind.startswith("u") else numbers - 120).astype(TYPES[kind])


def made(kind: str, values: np.ndarray) -> ti.Ndarray:
    array = ti.ndarray(getattr(ti, kind), values.shape)
    array.from_numpy(values)
    return array


# --- random loops -----------------------------------------------------------------------------------------------------


def number(chance: random.Random, depth: int) -> str:
    """Return an expression of an element, whose floats fit all types of integers."""
    if depth == 0:
        return chance.choice(["x[{at}]", "x[{at}]", "y[{at}]", "y[{at}]", "3", "0.5", "k"])
    inner = [number(chance, depth - 1) for _ in range(3)]
    form = chance.choice([
        "({0} + {1})", "({0} - {1})", "({0} * {1})", "ti.max({0}, {1})", "ti.min({0}, {1})", "abs({0})",
        "({0} if {1} > {2} else {2})", "ti.cast({0}, ti.f32)", "WHOLE", "ti.cast(WHOLE, ti.u8)", "ti.cast(WHOLE, ti.i16)",
        "-{0}",
    ])  # fmt: skip
    return form.replace("WHOLE", "ti.cast(ti.min(ti.max({0}, -9000), 9000), ti.i32)").format(*inner)


def source(seed: int) -> tuple[str, list[str], int]:
    """Return a module with a kernel and a function that makes one of fields, the types of its arrays, and the axes."""
    chance = random.Random(seed)
    kinds = [chance.choice([*TYPES]) for _ in range(3)]
    axes = chance.choice([1, 1, 2])
    at, last = ("i", "i") if axes == 1 else ("i, j", "j")
    near = chance.choice(["", "", f"+ x[{'' if axes == 1 else 'i, '}ti.min({last} + 1, x.shape[{axes - 1}] - 1)]"])
    text = f"{number(chance, chance.choice([1, 2, 2, 3])).replace('{at}', at)} {near}"
    if kinds[2] not in ("f16", "f32"):
        text = f"ti.cast(ti.min(ti.max(ti.cast({text}, ti.f32), 0.0), 100.0), ti.{kinds[2]})"
    elif kinds[2] == "f16":
        text = f"ti.min(ti.max({text}, -1000.0), 1000.0)"
    again = chance.choice(["", f"        z[{at}] += ti.cast(ti.cast(x[{at}], ti.i32), ti.{kinds[2]})\n"])
    lines = f"    for {at} in x:\n        z[{at}] = {text}\n{again}"
    given = ", ".join(f"{name}: ti.types.ndarray(ti.{kind}, {axes})" for name, kind in zip("xyz", kinds))
    inner = lines.replace("\n    ", "\n        ")
    made = f"import shadesmith as ti\n@ti.kernel\ndef given({given}, k: ti.i32):\n{lines}\n"
    made += f"def of_fields(x, y, z):\n    @ti.kernel\n    def run(k: ti.i32):\n    {inner}    return run\n"
    return made, kinds, axes


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_loops(target: str, seed: int, tmp_path) -> None:
    text, kinds, axes = source(seed)
    path = tmp_path / f"loops_{seed}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shapes = [(1,), (4,), (7,), (130,)] if axes == 1 else [(3, 8), (2, 5), (5, 1), (1, 20)]
    results = []
    for arch in ("python", target):
        start(arch)
        results.append([])
        for shape in shapes:
            given = [made(kind, some(kind, *shape)) for kind in kinds]
            module.given(*given, 5)
            results[-1].append(given[2].to_numpy())
            fields = [ti.field(getattr(ti, kind), shape) for kind in kinds]
            for field, kind in zip(fields, kinds):
                field.from_numpy(some(kind, *shape))
            module.of_fields(*fields)(5)
            results[-1].append(fields[2].to_numpy())
    if os.environ.get("SEEDS"):
        print(seed, WIDE in module.given.source(*given, 5, arch=ti.cuda))
    for expected, found in zip(*results):
        np.testing.assert_array_equal(found, expected, err_msg=text)


# --- which accesses ---------------------------------------------------------------------------------------------------

Image, Floats = ti.types.ndarray(ti.u8, 2), ti.types.ndarray(ti.f32, 2)


@ti.kernel
def lightness(image: Image, y: Floats):
    for i, j in image:
        y[i, j] = image[i, j] / 256.0


@pytest.mark.parametrize(
    ("kind", "wide", "bytes"),
    [
        ("u8", "u8", "4"),
        ("u8", "f32", "4 and 16"),
        ("f16", "f32", "8 and 16"),
        ("i16", "u8", "4 and 8"),
        ("u8", "f64", ""),
    ],
)
def test_bytes_of_accesses(target: str, kind: str, wide: str, bytes: str) -> None:
    x, y = (ti.field(getattr(ti, name), 1003) for name in (kind, wide))

    @ti.kernel
    def copy():
        for i in x:
            y[i] = ti.cast(x[i], y.dtype)

    values = np.arange(1003) % 100
    x.from_numpy(values.astype(x.to_numpy().dtype))
    copy()
    assert np.array_equal(y.to_numpy(), values)
    for arch in (ti.cuda, ti.vulkan):
        text = copy.source(arch=arch)
        assert f"{WIDE} {bytes} bytes" in text if bytes else WIDE not in text


@pytest.mark.parametrize("columns", [4, 7, 132])
@pytest.mark.parametrize("by", [0, 1, 2, 4])
def test_images_that_are_not_aligned(target: str, by: int, columns: int) -> None:
    if target == "python":
        pytest.skip("it has no addresses")
    image, y = made("u8", some("u8", 5, columns)), made("f32", some("f32", 4, columns))
    below = ti.ndarray(ti.u8, (4, columns))
    own = below.allocation
    below.allocation = image.allocation
    below.allocation.address += by
    lightness(below, y)
    below.allocation.address -= by
    below.allocation = own
    expected = some("u8", 5, columns).ravel()[by:][: 4 * columns].reshape(4, columns) / 256
    assert np.array_equal(y.to_numpy(), expected.astype(np.float32))


@ti.kernel
def darkest(x: Image, y: Image):
    for i, j in x:
        m = 255
        for k in range(ti.max(i - 2, 0), ti.min(i + 4, x.shape[0])):
            m = ti.min(m, ti.cast(x[k, j], ti.i32))
        y[i, j] = ti.cast(m, ti.u8)


@pytest.mark.parametrize("columns", [3, 8])
@pytest.mark.parametrize("rows", [1, 4, 13])
def test_windows_along_columns(target: str, rows: int, columns: int) -> None:
    x, y = some("u8", rows, columns), np.zeros((rows, columns), np.uint8)
    darkest(x, y)
    expected = [x[max(i - 2, 0) : i + 4].min(axis=0) for i in range(rows)]
    assert np.array_equal(y, expected)
    assert all(f"{WIDE} 4 bytes" in darkest.source(x, y, arch=arch) for arch in (ti.cuda, ti.vulkan))


def test_ndarrays_of_images_with_channels_are_not_widened(target: str) -> None:
    @ti.kernel
    def inverted(x: ti.types.ndarray(ti.u8, 3), y: ti.types.ndarray(ti.u8, 3)):
        for i, j, k in x:
            y[i, j, k] = 255 - x[i, j, k]

    x, y = some("u8", 5, 7, 3), np.zeros((5, 7, 3), np.uint8)
    inverted(x, y)
    assert np.array_equal(y, 255 - x)
    assert WIDE not in inverted.source(x, y, arch=ti.cuda)
