"""Pass `padded_rows`: which shared arrays have longer rows on GPUs; results are those without; conflicts are counted."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.ir.nodes import walk
from shadesmith.transpiler.ir.statements import GlobalStore
from shadesmith.transpiler.passes.tiles.parts.bank_conflicts import cycles
from shadesmith.transpiler.passes.tiles.parts.thread_values import ThreadValues

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
]

BLOCK = 128
MODULE = """\
import shadesmith as ti


def make(shape, dtype, options):
    a, b, c = ti.field(ti.f32, 1024), ti.field(ti.f32, 1024), ti.field(ti.i32, 1024)

    @ti.kernel(**options)
    def k(m: ti.i32):
        ti.loop_config(block_dim=BLOCK)
        for i in range(1024):
            tile = ti.simt.block.SharedArray(shape, dtype)
            t = ti.simt.block.thread_idx()
            STORE
            ti.simt.block.sync()
            LOAD

    return k
"""


@pytest.fixture
def kernel_of(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that makes a kernel of what threads store in a shared array and load from it."""

    def make(store: str, load: str, shape: Any = (32, 32), dtype: Any = ti.f32, **options: Any) -> Any:
        ti.init(arch=ti.python, log_level=ti.ERROR)
        text = MODULE.replace("BLOCK", str(BLOCK))
        for name, lines in (("STORE", store), ("LOAD", load)):
            text = text.replace(name, lines.replace("\n", "\n            "))
        path = tmp_path / f"shared_{len(list(tmp_path.iterdir()))}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.make(shape, dtype, options)

    return make


ROW, COLUMN = "tile[t // 32, t % 32] = a[i]", "b[i] = tile[t % 32, t // 32]"
READS = "for k in range(14):\n    b[i] += tile[k, t % 64]"


@pytest.mark.parametrize(
    ("declared", "store", "load", "shape", "dtype"),
    [
        ("[32][32 + 1]", ROW, COLUMN, (32, 32), ti.f32),  # 4 would leave four rows in each bank
        ("[32][32 + 1]", ROW, COLUMN, (32, 32), ti.i32),
        ("[32][32 + 1]", ROW, COLUMN, (32, 32), ti.f64),
        ("[32][32]", ROW, "b[i] = tile[t % 32, t // 32]", (32, 32), ti.f16),  # numbers of 2 bytes
        ("[32][32]", ROW, "b[i] = tile[3 - t // 32, t % 32]", (32, 32), ti.f32),  # rows
        ("[32][32]", ROW, "b[i] = tile[t // 32, 0] + tile[2, m % 8]", (32, 32), ti.f32),  # the same for all threads
        ("[32][33]", "tile[t // 32, t % 32] = a[i]", COLUMN, (32, 33), ti.f32),  # padded by hand
        ("[16][64 + 2]", "tile[t % 16, t // 16] = a[i]", "b[i] = tile[m % 16, t % 64]", (16, 64), ti.f32),
        # 4 takes 1.07 times the cycles of 2 here, and rows begin at multiples of 16 bytes
        ("[16][64 + 4]", "tile[t % 16, t // 16] = a[i]", READS, (16, 64), ti.f32),
        ("[8][4][32 + 1]", "tile[t % 8, t // 32, t // 8 % 4] = a[i]", "b[i] = tile[0, 1, t]", (8, 4, 32), ti.f32),
        ("[shape]", "tile[t * 8] = a[i]", "b[i] = tile[t * 8]", 1024, ti.f32),  # no rows
        ("[32][32]", ROW, "b[i] = tile[c[i], t // 32]", (32, 32), ti.f32),  # rows that threads load
        ("[32][32 + 1]", ROW, "b[i] = tile[t % 32, c[i]] + tile[t % 32, t // 32]", (32, 32), ti.f32),
        ("[32][32]", ROW, "b[i] = tile[t * m % 32, 0]", (32, 32), ti.f32),  # steps that only a launch tells
        ("[32][32 + 1]", ROW, "b[i] = tile[(t + m) % 32, m % 4]", (32, 32), ti.f32),
        ("[32][32]", ROW, "r = 0\nif a[i] > 0:\n    r = t\nb[i] = tile[r, 0]", (32, 32), ti.f32),
    ],
)
def test_declarations(kernel_of: Any, declared: str, store: str, load: str, shape: Any, dtype: Any) -> None:
    kernel = kernel_of(store, load, shape, dtype)
    for arch in (ti.cuda, ti.vulkan):
        source = kernel.source(1, arch=arch)
        assert f" tile{declared};" in source
        assert ("more: threads access different banks (padded_rows)" in source) == ("+" in declared)
    assert "(padded_rows)" not in kernel.source(1, arch=ti.x64)


def test_loops_weigh_accesses(kernel_of: Any) -> None:
    """An access to a column is worth a padding unless rows are read much more often."""
    rows = "for k in range({}):\n    b[i] += tile[k % 32, t % 32]"
    columns = "for e in range(t, 1024, 128):\n    b[i] += tile[e % 32, e // 32]"
    seen = [
        "[32 + " in kernel_of(ROW, f"{COLUMN}\n{rows.format(count)}").source(1, arch=ti.cuda)
        for count in (4, 64, 4096, "m")
    ]
    assert seen == [True, True, False, True]
    assert "[32 + " in kernel_of(ROW, f"{columns}\n{rows.format(256)}").source(1, arch=ti.cuda)
    static = "for p, q in ti.static(ti.ndrange(4, 64)):\n    b[i] += tile[p, t % 32]"
    assert "[32 + " in kernel_of(ROW, f"{COLUMN}\n{static}").source(1, arch=ti.cuda)  # four loads


def test_threads_that_skip_an_access_are_not_counted(kernel_of: Any) -> None:
    for condition, is_padded in (("t % 32 < 2", False), ("t % 32 >= 2", True), ("a[i] > 0", True)):
        source = kernel_of(ROW, f"if {condition}:\n    {COLUMN}").source(1, arch=ti.cuda)
        assert ("[32 + 1]" in source) == is_padded
        source = kernel_of(ROW, f"if {condition}:\n    pass\nelse:\n    {COLUMN}").source(1, arch=ti.cuda)
        assert ("[32 + 1]" in source) == (not is_padded or "a[i]" in condition)


def test_memory_of_a_block_is_enough(kernel_of: Any) -> None:
    largest = 48 * 1024 // 4 // 32
    for rows, is_padded in ((largest, False), (largest - 16, True)):
        source = kernel_of(ROW, COLUMN, (rows, 32)).source(1, arch=ti.cuda)
        assert f" tile[{rows}][32{' + 1' if is_padded else ''}];" in source
    both = f"other = ti.simt.block.SharedArray(({largest}, 32), ti.f32)\nother[t % 32, 0] = a[i]\n{ROW}"
    with pytest.raises(ti.TaichiCompilationError, match="take 53,248 bytes"):
        kernel_of(both, f"{COLUMN} + other[t % 32, 1]").source(1, arch=ti.cuda)


def test_it_can_be_left_out_and_is_in_the_ir(kernel_of: Any) -> None:
    plain = kernel_of(ROW, COLUMN, passes="-padded_rows")
    assert "tile[32][32];" in plain.source(1, arch=ti.cuda)
    kernel = kernel_of(ROW, COLUMN)
    assert "shared tile: array[f32, (32, 32), rows + 1]" in kernel.ir("final", 1, arch=ti.cuda)
    assert "shared tile: array[f32, (32, 32)]" in kernel.ir("final", 1, arch=ti.x64)


def test_extents_with_names_keep_them() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    multiply, *_ = product(64)
    assert "float sa[DEPTH][TILE + 4];" in multiply.source(arch=ti.cuda)
    assert "float sb[DEPTH][TILE];" in multiply.source(arch=ti.cuda)


# --- results ----------------------------------------------------------------------------------------------------------


def product(n: int) -> tuple[Any, ...]:
    """Return a product of matrices of n^2 floats by tiles, and its fields."""
    a, b, c = (ti.field(ti.f32, (n, n)) for _ in range(3))
    TILE, DEPTH = 64, 16

    @ti.kernel
    def multiply():
        ti.loop_config(block_dim=256)
        for thread in range(n * n // 16):
            sa = ti.simt.block.SharedArray((DEPTH, TILE), ti.f32)
            sb = ti.simt.block.SharedArray((DEPTH, TILE), ti.f32)
            block, lane = thread // 256, thread % 256
            ty, tx = lane // 16, lane % 16
            i0, j0 = block // (n // TILE) * TILE, block % (n // TILE) * TILE
            acc = ti.Matrix.zero(ti.f32, 4, 4)
            for k0 in range(n // DEPTH):
                for q in ti.static(range(4)):
                    e = lane + q * 256
                    sa[e % DEPTH, e // DEPTH] = a[i0 + e // DEPTH, k0 * DEPTH + e % DEPTH]
                    sb[e // TILE, e % TILE] = b[k0 * DEPTH + e // TILE, j0 + e % TILE]
                ti.simt.block.sync()
                for k in range(DEPTH):
                    for p in ti.static(range(4)):
                        for q in ti.static(range(4)):
                            acc[p, q] += sa[k, ty * 4 + p] * sb[k, tx * 4 + q]
                ti.simt.block.sync()
            for p in ti.static(range(4)):
                for q in ti.static(range(4)):
                    c[i0 + ty * 4 + p, j0 + tx * 4 + q] = acc[p, q]

    return multiply, a, b, c


@pytest.mark.parametrize("options", [{}, {"passes": "-padded_rows"}, {"debug": True}])
def test_product_of_matrices(target: str, options: dict[str, Any]) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, **options)
    n = 64
    multiply, a, b, c = product(n)
    random = np.random.default_rng(1)
    x, y = (random.integers(-4, 5, (n, n)).astype(np.float32) for _ in range(2))
    a.from_numpy(x)
    b.from_numpy(y)
    multiply()
    assert np.array_equal(c.to_numpy(), x @ y)


@pytest.mark.parametrize("dtype", [ti.f32, ti.i32, ti.f64])
def test_transposition(target: str, dtype: Any) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    n = 64
    x, y = ti.field(dtype, (n, n)), ti.field(dtype, (n, n))

    @ti.kernel
    def transpose():
        ti.loop_config(block_dim=256)
        for thread in range(n * n // 4):
            tile = ti.simt.block.SharedArray((32, 32), dtype)
            block, t = thread // 256, thread % 256
            i0, j0 = block // (n // 32) * 32, block % (n // 32) * 32
            for e in range(t, 1024, 256):
                tile[e // 32, e % 32] = x[i0 + e // 32, j0 + e % 32]
            ti.simt.block.sync()
            for e in range(t, 1024, 256):
                y[j0 + e // 32, i0 + e % 32] = tile[e % 32, e // 32]

    numbers = np.arange(n * n, dtype=np.int32).reshape(n, n)
    x.from_numpy(numbers.astype(y.to_numpy().dtype))
    assert "tile[32][32 + 1];" in transpose.source(arch=ti.cuda)
    transpose()
    assert np.array_equal(y.to_numpy(), numbers.T)


def test_atomic_operations_on_columns(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    sums = ti.field(ti.i32, 32)

    @ti.kernel
    def add():
        ti.loop_config(block_dim=64)
        for i in range(64):
            tile = ti.simt.block.SharedArray((32, 32), ti.i32)
            t = ti.simt.block.thread_idx()
            for k in range(32):
                if t < 32:
                    tile[t, k] = k
            ti.simt.block.sync()
            ti.atomic_add(tile[t % 32, 7], t)
            ti.simt.block.sync()
            if t < 32:
                sums[t] = tile[t, 7] + tile[t, 8]

    assert "tile[32][32 + 1];" in add.source(arch=ti.cuda)
    add()
    assert sums.to_numpy().tolist() == [7 + 8 + t + t + 32 for t in range(32)]


def test_an_index_in_the_padding_is_out_of_bounds(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.WARN)
    x = ti.field(ti.i32, 64)

    @ti.kernel
    def run(shift: ti.i32):
        ti.loop_config(block_dim=64)
        for i in x:
            tile = ti.simt.block.SharedArray((32, 32), ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t % 32, t // 32 + shift] = t
            ti.simt.block.sync()
            x[i] = tile[t % 32, t // 32 + shift]

    assert "tile[32][32 + 1];" in run.source(0, arch=ti.cuda)
    run(30)
    assert x.to_numpy().tolist() == list(range(64))
    with pytest.raises(
        ti.TaichiAssertionError, match=r"shared array \(tile\) of size \(32, 32\) with indices \(\d+, 32"
    ):
        run(31)
        ti.sync()


# --- what is counted --------------------------------------------------------------------------------------------------


def by_hand(elements: np.ndarray, size_bytes: int, active: np.ndarray) -> int:
    """Count the words in each bank: of as many threads at a time as read 128 bytes."""
    total, together = 0, 128 // size_bytes
    for first in range(0, len(elements), together):
        banks: dict[int, set[int]] = {}
        for element in elements[first : first + together][active[first : first + together]]:
            for word in range(int(element) * size_bytes // 4, (int(element) + 1) * size_bytes // 4):
                banks.setdefault(word % 32, set()).add(word)
        total += max(map(len, banks.values()), default=0)
    return total


@pytest.mark.parametrize("size_bytes", [4, 8, 16])
def test_cycles(size_bytes: int) -> None:
    random = np.random.default_rng(size_bytes)
    threads = np.arange(128)
    everyone = threads >= 0
    cases = [threads * step + threads // row * gap for step in range(40) for row in (4, 16, 32) for gap in (0, 1, 33)]
    cases += [random.integers(0, most, 128) for most in (1, 2, 40, 100, 1000, 100000) for _ in range(20)]
    for elements in cases:
        for active in (everyone, threads % 3 == 0, threads < 40, ~everyone, random.random(128) < 0.3):
            assert cycles(elements, size_bytes, active) == by_hand(elements, size_bytes, active)


def test_known_numbers_of_cycles() -> None:
    lanes = np.arange(32)
    counted = [cycles(lanes * step, 4, lanes >= 0) for step in (0, 1, 2, 3, 4, 16, 32, 33, 64)]
    assert counted == [1, 1, 2, 1, 4, 16, 32, 1, 32]
    assert [cycles(lanes * step, 8, lanes >= 0) for step in (0, 1, 2, 16, 17)] == [2, 2, 4, 32, 2]


KNOWN = {
    "t % 16": True, "t // 16": True, "(t ^ 5) & 31": True, "(t << 1) % 32": True, "31 - t % 32": True,
    "(t * 7 + 3) % 32": True, "i % 32": True, "(i >> 2) & 7": True, "ti.min(t, 20)": True, "ti.abs(t - 16) % 32": True,
    "(t - 40) // 8 % 32": True, "(t + m) % 32": True, "(t % 4 + m * 4) % 32": True, "ti.cast(ti.u8(t * 9), ti.i32) % 32": True,
    "t * m % 32": False, "t // ti.max(m, 1) % 32": False, "c[i]": False, "(t + c[i]) % 32": False,
}  # fmt: skip


@pytest.mark.parametrize("expression", KNOWN)
def test_numbers_in_threads(kernel_of: Any, expression: str) -> None:
    """Those of an expression are Python's, with 0 for an argument; some are not known."""
    seen: list[np.ndarray | None] = []

    def look(kernel: Any, context: Any) -> bool:
        values = ThreadValues(kernel.tasks[0])
        for store in (s for s in walk(kernel.tasks[0].body) if isinstance(s, GlobalStore)):
            if store.pointer.array.is_shared:
                found = values.of(store.pointer.indices[0])
                seen.append(values.threads)
                seen.append(None if found is None else found.values)
        return False

    kernel = kernel_of(
        f"tile[{expression}, 0] = a[i]", "b[i] = tile[t % 8, 1]", passes=ti.Pass(look, before="padded_rows")
    )
    kernel.source(1, arch=ti.cuda)
    threads, found = seen[-2:]
    assert (found is not None) == KNOWN[expression]
    if found is not None and "u8" not in expression:
        names = {"ti": type("ti", (), {"min": min, "abs": abs, "max": max}), "m": 0}
        assert list(map(int, found)) == [eval(expression, {**names, "t": t, "i": t}) for t in threads]
