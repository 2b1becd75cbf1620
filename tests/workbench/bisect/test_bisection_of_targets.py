"""`kernel.bisect` on mistakes in passes that choose how a target runs a loop, or which launches there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from seeded_mistakes import lost_store, swapped_operands, wrong_constant, wrong_operation

import shadesmith as ti

pytestmark = pytest.mark.wide

cube = ti.types.ndarray(ti.f32, 3)
floats, vectors = ti.types.ndarray(ti.f32, 1), ti.types.ndarray(ti.math.vec3, 1)
grids, integers = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.i32, 1)
total = other = grid = result = rows = places = other_sums = weights = loss_of = loss = None


@ti.kernel
def diffused(a: cube, b: cube):
    for i, j, k in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1), (1, a.shape[2] - 1)):
        b[i, j, k] = a[i + 1, j, k] + a[i - 1, j, k] + a[i, j + 1, k] + a[i, j - 1, k] - 4.0 * a[i, j, k]


@ti.kernel
def scaled(x: floats, y: floats):
    for i in x:
        y[i] = x[i] * 2.0 + y[i]


@ti.kernel
def product():
    for i, j in rows:
        s = 1.0
        for k in range(16):
            s += grid[i % 12, k] * grid[k % 12, j] * 2.0
        rows[i, j] = s


@ti.kernel
def kept(n: ti.i32):
    for i, j in result:
        for k in range(n):
            result[i, j] += grid[i, k] * 2.0


@ti.kernel
def around(x: floats):
    other[None] = 3
    for i in x:
        x[i] = x[i] * 2.0 + 1.0
    total[None] = 4.0 + x.shape[0]


@ti.kernel
def pairs(x: floats, y: floats):
    for i in y:
        s = 0.0
        for j in range(x.shape[0]):
            s += x[j] / (2.0 + i)
        y[i] = s


@ti.kernel
def histogram(x: floats):
    for i in x:
        places[ti.cast(x[i], ti.i32) % 16] += i + 2


@ti.kernel
def components(m: vectors):
    for i in m:
        s = ti.Vector([0.0, 0.0, 0.0])
        for k in ti.static(range(3)):
            s[k] = ti.min(m[i][k] * 2.0, 5.0 - m[i][k])
        m[i] = s


@ti.kernel
def copied():
    for i, j in grid:
        result[i, j] = grid[i, (j * 3) % 32] + 1.0


@ti.kernel
def distances(m: vectors, y: floats):
    for i in m:
        y[i] = ti.rsqrt(m[i].dot(m[i]) + 0.5) + 3.0


@ti.kernel
def row_sums(starts: integers, columns: integers, x: floats, y: floats):
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += x[columns[k]] * 2.0
        y[i] = s + 1.0


@ti.kernel
def forces(m: vectors, out: vectors):
    for i in out:
        f = ti.Vector([0.0, 0.0, 0.0])
        for j in range(m.shape[0]):
            d = m[j] - m[i]
            r2 = d.dot(d) + 0.5
            f += d * 3.0 / (r2 * ti.sqrt(r2))
        out[i] = f


@ti.kernel
def shares(m: vectors, y: floats):
    for i in m:
        v = ti.Vector([0.0, 0.0, 0.0])
        for j in range(4):
            v += m[i] / (y[j] + 2.0)
        m[i] = v


@ti.kernel
def product_of_arrays(a: grids, b: grids, c: grids):
    for i, j in c:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@ti.kernel
def counts(c: grids):
    for i, j in c:
        x, n = 0.0, 0
        while x < 4.0 and n < 50:
            x = x * x + 0.3 + 0.05 * i + 0.01 * j
            n += 1
        c[i, j] = n + x * 2.0


@ti.kernel
def component_sums(m: vectors):
    for i in m:
        for k in ti.static(range(3)):
            other_sums[k] += m[i][k] * 3.0


@ti.kernel
def tiled():
    ti.block_local(grid)
    for i, j in ti.ndrange((1, 11), (1, 31)):
        result[i, j] = grid[i - 1, j] * 2.0 + grid[i + 1, j] + grid[i, j - 1]


@ti.kernel
def smoothed():
    for i in ti.ndrange((1, 63)):
        loss_of[i] = weights[i - 1] * 0.5 + weights[i + 1] * 2.0


@ti.kernel
def energy():
    for i in weights:
        loss[None] += ti.sin(weights[i]) * 2.0 * (weights[i] * 0.5)


def arrays() -> dict[str, Any]:
    global total, other, grid, result, rows, places, other_sums, weights, loss_of, loss
    total, other = ti.field(ti.f32, ()), ti.field(ti.i32, ())
    grid, result = ti.field(ti.f32, (12, 32)), ti.field(ti.f32, (12, 32))
    rows, places = ti.field(ti.f32, (16, 16)), ti.field(ti.i32, 16)
    other_sums, loss = ti.field(ti.f32, 4), ti.field(ti.f32, (), needs_grad=True)
    weights, loss_of = ti.field(ti.f32, 64, needs_grad=True), ti.field(ti.f32, 64, needs_grad=True)
    found: dict[str, Any] = {
        "x": ti.ndarray(ti.f32, 42), "y": ti.ndarray(ti.f32, 42), "m": ti.ndarray(ti.math.vec3, 9),
        "a": ti.ndarray(ti.f32, (8, 8, 8)), "b": ti.ndarray(ti.f32, (8, 8, 8)), "out": ti.ndarray(ti.math.vec3, 9),
        "g": ti.ndarray(ti.f32, (24, 24)), "h": ti.ndarray(ti.f32, (24, 24)), "c": ti.ndarray(ti.f32, (24, 24)),
        "starts": ti.ndarray(ti.i32, 43), "columns": ti.ndarray(ti.i32, 500),
    }  # fmt: skip
    found["starts"].from_numpy(np.arange(43, dtype=np.int32) * 11)
    found["columns"].from_numpy(np.arange(500, dtype=np.int32) * 7 % 42)
    for name in "gh":
        found[name].from_numpy((np.arange(576, dtype=np.float32) % 13).reshape(24, 24))
    weights.from_numpy(np.linspace(0.1, 2.0, 64, dtype=np.float32))
    weights.grad.fill(0.5)
    loss.grad.fill(1.5)
    loss_of.grad.from_numpy(np.linspace(1.0, 3.0, 64, dtype=np.float32))
    for k in range(42):  # no multiple of four: the last ones are taken one by one
        found["x"][k], found["y"][k] = 1.0 + k, 3.0
    for k in range(512):
        found["a"][k // 64, k // 8 % 8, k % 8] = k % 5
    for k in range(9):
        found["m"][k] = [k, 2.0, 0.5 * k]
    grid.fill(1.25)
    for k in range(12):
        grid[k, 2 * k] = 3.0 + k
    return found


SEEDED: list[tuple[str, str, Callable[[Any], bool], Any, str]] = [
    ("blocks_in_order", "vulkan", wrong_operation, diffused, "a b"),
    ("wide_accesses", "cuda", wrong_operation, scaled, "x y"),
    ("wide_accesses", "cuda", wrong_constant, diffused, "a b"),  # whole rows
    ("vector_lanes", "cpu", wrong_operation, product, ""),
    ("keep_elements", "cpu", lost_store, kept, "7"),
    ("keep_elements", "vulkan", lost_store, kept, "7"),
    ("merge_serial", "cpu", wrong_constant, around, "x"),
    ("merge_serial", "vulkan", lost_store, around, "x"),
    ("block_tiles", "vulkan", wrong_operation, pairs, "x y"),
    ("normal_numbers", "cuda", wrong_operation, distances, "m y"),
    ("block_tiles", "cuda", wrong_operation, pairs, "x y"),
    ("block_sums", "vulkan", wrong_operation, histogram, "x"),
    ("private_sums", "cpu", wrong_constant, histogram, "x"),
    ("unroll_components", "cpu", swapped_operands, components, "m"),
    ("overlap_loads", "vulkan", wrong_operation, copied, ""),
    ("wide_accesses", "vulkan", wrong_operation, scaled, "x y"),
    ("shared_rows", "cuda", wrong_operation, row_sums, "starts columns x y"),
    ("short_vectors", "cpu", wrong_operation, row_sums, "starts columns x y"),
    ("inverse_roots", "cuda", wrong_operation, forces, "m out"),
    ("inverse_roots", "vulkan", wrong_operation, forces, "m out"),
    ("expand_vectors", "cpu", wrong_operation, forces, "m out"),
    ("reciprocals", "cuda", wrong_operation, shares, "m y"),
    ("lane_loops", "cpu", wrong_operation, product_of_arrays, "g h c"),
    ("lane_whiles", "cpu", wrong_operation, counts, "c"),
    ("unroll_components", "vulkan", wrong_operation, component_sums, "m"),
    ("reduce_atomics", "vulkan", wrong_operation, component_sums, "m"),
    ("block_local", "vulkan", wrong_operation, tiled, ""),
    ("block_local", "cuda", wrong_operation, tiled, ""),
    ("gather_adjoints", "cpu", wrong_operation, smoothed, "grad"),
    ("gather_adjoints", "vulkan", wrong_operation, smoothed, "grad"),
    ("tidy_adjoints", "cpu", wrong_operation, energy, "grad"),
    ("demote_atomics", "vulkan", wrong_operation, energy, "grad"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", SEEDED, ids=[f"{row[0]}-{row[3].__name__}" for row in SEEDED])
def test_bisect_names_the_pass(
    row: tuple[str, str, Any, Any, str], target: str, seeded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, arch, mistake, kernel, names = row
    if arch != target:
        pytest.skip(f"a choice for {arch}")
    ti.init(arch=getattr(ti, arch))
    given = arrays()
    if names == "grad":
        kernel, names = kernel.grad, ""
    arguments = [given[word] if word in given else int(word) for word in names.split()]
    done = seeded(name, mistake)
    found = kernel.bisect(*arguments, in_process=True)
    assert done, "the pass changed nothing"
    assert found.verdict == "pass" and found.pass_name == name, str(found)
