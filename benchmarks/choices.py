"""Each choice of the compiler on GPUs against the source without it, in the same run.

usage: python benchmarks/choices.py [--targets cuda,vulkan] [--rows NAME,NAME] [--scale 0]      a minute on an H200
Each row: time of a launch [ms] without and with the pass, and the ratio as median [lowest, highest] of interleaved
rounds. Results with and without it are compared. --scale: sizes are divided by 2 ** scale, to try a row on a CPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import shadesmith as ti

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from handwritten import running
from handwritten.table import PROGRAMS

ROUNDS, ROUND_SECONDS = 7, 0.02
Made = tuple[Callable[[], Any], Callable[[], np.ndarray]]


@dataclass(frozen=True)
class Row:
    """make: returns a launch and what reads the result. passes: that are compared. tolerance: 0 for equal bits."""

    name: str
    make: Callable[[int], Made]
    passes: str
    targets: tuple[str, ...] = ("cuda", "vulkan")
    tolerance: float = 0.0


@cache
def random_numbers(n: int, end: int) -> np.ndarray:
    """Return n numbers from 0 to end - 1."""
    return np.random.default_rng(1).integers(0, end, n, dtype=np.int32)


def histogram(dtype: Any, bins: int) -> Callable[[int], Made]:
    """Count or sum 2^26 numbers in bins."""

    def make(scale: int) -> Made:
        n = (1 << 26) >> scale
        x, h = ti.field(ti.i32, n), ti.field(dtype, bins)
        x.from_numpy(random_numbers(n, bins))

        @ti.kernel
        def count():
            for i in x:
                h[x[i]] += 1

        return count, h.to_numpy

    return make


def moving(what: str) -> Callable[[int], Made]:
    """Fill, copy or combine fields of 2^27 floats (saxpy: 2^26)."""

    def make(scale: int) -> Made:
        n = ((1 << 26) if what == "saxpy" else 1 << 27) >> scale
        x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)
        x.from_numpy(np.arange(n, dtype=np.float32))

        @ti.kernel
        def fill():
            for i in y:
                y[i] = 3.0

        @ti.kernel
        def copy():
            for i in x:
                y[i] = x[i]

        @ti.kernel
        def saxpy():
            for i in x:
                y[i] = 2.0 * x[i] + y[i]

        return {"fill": fill, "copy": copy, "saxpy": saxpy}[what], y.to_numpy

    return make


def given(what: str, is_aligned: bool) -> Callable[[int], Made]:
    """Combine ndarrays of 2^26 floats. is_aligned: they start at multiples of 16 bytes; if not, 4 bytes after one."""

    def make(scale: int) -> Made:
        n = (1 << 26) >> scale
        x, y = ti.ndarray(ti.f32, n), ti.ndarray(ti.f32, n)
        x.from_numpy(np.arange(n, dtype=np.float32))
        offset = 0 if is_aligned else 4

        @ti.kernel
        def copy(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), n: ti.i32):
            for i in range(n):
                y[i] = x[i]

        @ti.kernel
        def saxpy(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), n: ti.i32):
            for i in range(n):
                y[i] = 2.0 * x[i] + y[i]

        kernel = copy if what == "copy" else saxpy
        x.allocation.address += offset

        def launch() -> None:
            y.allocation.address += offset
            kernel(x, y, n - 1)
            y.allocation.address -= offset

        return launch, y.to_numpy

    return make


def grid_copy(scale: int) -> Made:
    """Copy a field of 8192 x 8192 floats."""
    n = 8192 >> scale
    x, y = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))
    x.from_numpy(np.random.default_rng(1).random((n, n), dtype=np.float32))

    @ti.kernel
    def copy():
        for i, j in x:
            y[i, j] = x[i, j]

    return copy, y.to_numpy


def stencil(ndim: int) -> Callable[[int], Made]:
    """Add the neighbours of 8192 x 8192 or of 384 x 384 x 384 numbers."""

    def make(scale: int) -> Made:
        n = (8192 if ndim == 2 else 384) >> min(scale, 4)
        x, y = ti.field(ti.f32, (n,) * ndim), ti.field(ti.f32, (n,) * ndim)
        x.from_numpy(np.random.default_rng(1).random((n,) * ndim, dtype=np.float32))

        @ti.kernel
        def flat():
            for i, j in x:
                if 0 < i < n - 1 and 0 < j < n - 1:
                    y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

        @ti.kernel
        def cube():
            for i, j, k in x:
                if 0 < i < n - 1 and 0 < j < n - 1 and 0 < k < n - 1:
                    y[i, j, k] = (
                        x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k]
                        + x[i, j, k - 1] + x[i, j, k + 1] - 6.0 * x[i, j, k]
                    )  # fmt: skip

        return (flat if ndim == 2 else cube), y.to_numpy

    return make


def inner_stencil(scale: int) -> Made:
    """Average the four neighbours of the inner elements of a field."""
    n = 8192 >> scale
    x, y = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))
    x.from_numpy(np.random.default_rng(0).random((n, n), dtype=np.float32))

    @ti.kernel
    def average():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

    return average, y.to_numpy


def tested_window(reach: int) -> Callable[[int], Made]:
    """Weight the neighbours of 4096 x 8192 floats along rows, by a loop that tests whether they are in the row."""

    def make(scale: int) -> Made:
        n, m, count = 4096 >> scale, 8192 >> scale, 2 * reach + 1
        x, y, w = ti.ndarray(ti.f32, (n, m)), ti.ndarray(ti.f32, (n, m)), ti.ndarray(ti.f32, count)
        x.from_numpy(np.random.default_rng(0).random((n, m), dtype=np.float32))
        w.from_numpy(np.random.default_rng(1).random(count, dtype=np.float32))

        @ti.kernel
        def convolve(x: ti.types.ndarray(ti.f32, 2), w: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 2)):
            for i, j in y:
                s = 0.0
                for c in range(count):
                    jj = j + c - reach
                    if 0 <= jj < x.shape[1]:
                        s += w[c] * x[i, jj]
                y[i, j] = s

        return lambda: convolve(x, w, y), y.to_numpy

    return make


def cube_of_ndarrays(scale: int) -> Made:
    """Diffuse heat in a cube of 1024^3 floats."""
    n = 1024 >> scale
    x, y = ti.ndarray(ti.f32, (n, n, n)), ti.ndarray(ti.f32, (n, n, n))
    x.fill(1.5)

    @ti.kernel
    def diffuse(old: ti.types.ndarray(ti.f32, 3), new: ti.types.ndarray(ti.f32, 3)):
        for i, j, k in ti.ndrange((1, old.shape[0] - 1), (1, old.shape[1] - 1), (1, old.shape[2] - 1)):
            around = old[i - 1, j, k] + old[i + 1, j, k] + old[i, j - 1, k] + old[i, j + 1, k]
            new[i, j, k] = 0.4 * old[i, j, k] + 0.1 * (around + old[i, j, k - 1] + old[i, j, k + 1])

    return lambda: diffuse(x, y), y.to_numpy


def products(are_ndarrays: bool, of_columns: bool = False) -> Callable[[int], Made]:
    """Multiply a matrix of 8192 x 8192 floats and a vector, or a vector and such a matrix."""

    def make(scale: int) -> Made:
        n = 8192 >> scale
        array = ti.ndarray if are_ndarrays else ti.field
        a, x, y = array(ti.f32, (n, n)), array(ti.f32, n), array(ti.f32, n)
        a.from_numpy(np.random.default_rng(1).random((n, n), dtype=np.float32))
        x.fill(0.5)

        @ti.kernel
        def multiply(a: ti.template(), x: ti.template(), y: ti.template()):
            for i in range(a.shape[0]):
                s = 0.0
                for k in range(a.shape[1]):
                    s += (a[k, i] if ti.static(of_columns) else a[i, k]) * x[k]
                y[i] = s

        return lambda: multiply(a, x, y), y.to_numpy

    return make


def sums_of_rows(scale: int) -> Made:
    """Add all elements of 8192 x 8192 floats to those of their rows."""
    n = 8192 >> scale
    a, s = ti.field(ti.f32, (n, n)), ti.field(ti.f32, n)
    a.from_numpy(np.random.default_rng(1).random((n, n), dtype=np.float32))

    @ti.kernel
    def add():
        for i in s:
            s[i] = 0.0
        for i, k in a:
            s[i] += a[i, k]

    return add, s.to_numpy


def knapsacks(scale: int) -> Made:
    """Fill 600 knapsacks of 1,000 with the best of 64 things."""
    rows, size, things = 600 >> scale, 1000, 64
    best, values = ti.field(ti.i32, (rows, 2, size + 1)), ti.field(ti.i32, rows)
    weight, value = ti.field(ti.i32, (rows, things)), ti.field(ti.i32, (rows, things))
    for array in (weight, value):
        array.from_numpy(1 + random_numbers(rows * things, 60).reshape(rows, things))

    @ti.kernel
    def fill():
        for b in range(rows):
            for w in range(size + 1):
                best[b, 0, w] = 0
            for k in range(things):
                for w in range(size + 1):
                    v = best[b, k % 2, w]
                    if w >= weight[b, k]:
                        v = ti.max(v, best[b, k % 2, w - weight[b, k]] + value[b, k])
                    best[b, (k + 1) % 2, w] = v
            values[b] = best[b, things % 2, size]

    return fill, values.to_numpy


def polynomial(scale: int) -> Made:
    """Evaluate a polynomial of 8 coefficients at 2^26 points; the number is an argument."""
    n = (1 << 26) >> scale
    x, y, c = ti.field(ti.f32, n), ti.field(ti.f32, n), ti.field(ti.f32, 64)
    x.from_numpy(np.linspace(-1, 1, n, dtype=np.float32))
    c.from_numpy(np.linspace(1, 2, 64, dtype=np.float32))

    @ti.kernel
    def evaluate(count: ti.i32):
        for i in x:
            s = 0.0
            for k in range(count):
                s = s * x[i] + c[k]
            y[i] = s

    return lambda: evaluate(8), y.to_numpy


def bodies(scale: int) -> Made:
    """Return the forces between 65,536 bodies."""
    n = 65536 >> scale
    position, velocity = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)
    position.from_numpy(np.random.default_rng(1).random((n, 3), dtype=np.float32))

    @ti.kernel
    def attract():
        for i in position:
            force = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = position[j] - position[i]
                inverse = ti.rsqrt(d.dot(d) + 1e-4)
                force += d * inverse**3
            velocity[i] = 0.01 * force

    return attract, velocity.to_numpy


def scatter(in_cells: bool) -> Callable[[int], Made]:
    """Add the mass and momentum of 2^21 particles to 27 nodes each of a grid of 128^3."""

    def make(scale: int) -> Made:
        n, grid = (1 << 21) >> scale, 128
        x = ti.Vector.field(3, ti.f32, n)
        v, m = ti.Vector.field(3, ti.f32), ti.field(ti.f32)
        if in_cells:
            ti.root.dense(ti.ijk, grid).place(v, m)
        else:
            ti.root.dense(ti.ijk, grid).place(v)
            ti.root.dense(ti.ijk, grid).place(m)
        places = np.random.default_rng(1).random((n, 3)) * 120 + 2
        x.from_numpy(places[np.lexsort(places.astype(int).T)].astype(np.float32))

        @ti.kernel
        def add():
            for p in x:
                base = int(x[p] - 0.5)
                f = x[p] - base
                w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
                for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                    weight = w[i].x * w[j].y * w[k].z
                    v[base + ti.Vector([i, j, k])] += weight * f
                    m[base + ti.Vector([i, j, k])] += weight

        return add, v.to_numpy

    return make


def product(scale: int) -> Made:
    n = 4096 >> scale
    a, b, c = (ti.field(ti.f32, (n, n)) for _ in range(3))
    for field, values in zip((a, b), np.random.default_rng(1).random((2, n, n), np.float32), strict=True):
        field.from_numpy(values)

    @ti.kernel
    def multiply():
        for i, j in c:
            s = 0.0
            for k in range(n):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    return multiply, c.to_numpy


def program(name: str) -> Callable[[int], Made]:
    """One of the programs of tests/handwritten, at its large size."""

    def make(scale: int) -> Made:
        found = PROGRAMS[name]
        sizes = found.small if scale else found.large
        folder = tempfile.mkdtemp(prefix="choices-")
        module = running.load(found, sizes, Path(folder))
        running.fill(module, found.start(running.constants(found, sizes), np.random.default_rng(1)))
        kernel, arguments = running.call(found, module)
        return lambda: kernel(*arguments), vars(module)[found.results[0]].to_numpy

    return make


ROWS = (
    Row("fill", moving("fill"), "wide_accesses"),
    Row("copy", moving("copy"), "wide_accesses"),
    Row("saxpy", moving("saxpy"), "wide_accesses"),
    Row("copy, two axes", grid_copy, "wide_accesses"),
    Row("ndarrays, copy", given("copy", True), "wide_accesses"),
    Row("ndarrays, saxpy", given("saxpy", True), "wide_accesses"),
    Row("ndarrays, not aligned", given("saxpy", False), "wide_accesses"),
    Row("stencil, two axes", stencil(2), "wide_accesses"),
    Row("stencil, three axes", stencil(3), "wide_accesses"),
    Row("inner elements", inner_stencil, "wide_accesses"),
    Row("window, 9 columns tested", tested_window(4), "wide_accesses"),
    Row("window, 17 columns tested", tested_window(8), "wide_accesses"),
    Row("cube of ndarrays", cube_of_ndarrays, "blocks_in_order"),
    Row("matrix and vector", products(False), "shared_rows", tolerance=1e-4),
    Row("the same, ndarrays", products(True), "shared_rows", tolerance=1e-4),
    Row("vector and matrix", products(False, True), "shared_columns", tolerance=1e-4),
    Row("with ndarrays", products(True, True), "shared_columns", tolerance=1e-4),
    Row("knapsacks", knapsacks, "shared_steps"),
    Row("sums of rows", sums_of_rows, "shared_rows", tolerance=1e-4),
    Row("polynomial", polynomial, "block_tiles", tolerance=1e-5),
    Row("histogram i32, 256 bins", histogram(ti.i32, 256), "block_sums"),
    Row("histogram i32, 16 bins", histogram(ti.i32, 16), "block_sums"),
    Row("histogram i32, 2048 bins", histogram(ti.i32, 2048), "block_sums"),
    Row("histogram f32, 256 bins", histogram(ti.f32, 256), "block_sums", tolerance=1.0),
    Row("histogram f32, 16 bins", histogram(ti.f32, 16), "block_sums", tolerance=1.0),
    Row("n-body", bodies, "block_tiles", tolerance=1e-4),
    Row("product", product, "register_tiles", tolerance=1e-4),
    Row("product in tiles", program("sgemm"), "padded_rows", tolerance=1e-4),
    Row("scatter, one cell", scatter(True), "vector_atomics", ("cuda",), 1e-4),
    Row("scatter, two fields", scatter(False), "vector_atomics", ("cuda",), 1e-4),
    Row("mpm88", program("mpm88"), "vector_atomics", ("cuda",), 1.0),
    Row("mpm99", program("mpm99"), "vector_atomics", ("cuda",), 1.0),
)


def launches_for(launch: Callable[[], Any]) -> int:
    """Return how many launches take as long as a round."""
    ti.sync()
    start = time.perf_counter()
    launch()
    ti.sync()
    return max(1, min(200, int(ROUND_SECONDS / (time.perf_counter() - start))))


def seconds(launch: Callable[[], Any], launches: int) -> float:
    """Return the time of a launch among several in a row."""
    ti.sync()
    start = time.perf_counter()
    for _ in range(launches):
        launch()
    ti.sync()
    return (time.perf_counter() - start) / launches


def measured(row: Row, target: str, scale: int, disabled: str) -> tuple[list[float], np.ndarray]:
    """Return the times of a launch and the result of the first one."""
    ti.init(
        arch=getattr(ti, target),
        enable_fallback=False,
        offline_cache=False,
        log_level=ti.ERROR,
        passes=disabled,
    )
    launch, result = row.make(scale)
    launch()
    first = result().astype(np.float64)
    count = launches_for(launch)
    times = [seconds(launch, count) for _ in range(ROUNDS)]
    ti.reset()
    return times, first


def run(row: Row, target: str, scale: int) -> None:
    """Print a row."""
    (without, plain), (times, found) = (measured(row, target, scale, disabled) for disabled in (f"-{row.passes}", ""))
    difference = float(np.max(np.abs(found - plain), initial=0.0)) / max(
        float(np.max(np.abs(plain), initial=0.0)), 1e-30
    )
    remark = "" if difference <= row.tolerance else f"   DIFFERS by {difference:.1e}"
    before, after = (statistics.median(each) * 1e3 for each in (without, times))
    spread = f"[{min(times) / max(without):.3f}, {max(times) / min(without):.3f}]"
    label = f"{target:7}{row.name:26}{row.passes:16}"
    print(f"{label}{before:10.4f} ->{after:10.4f} ms   {after / before:6.3f} {spread}{remark}", flush=True)


def main() -> None:
    """Run the rows that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", default="cuda,vulkan")
    parser.add_argument("--rows", default="", help="parts of names of rows or passes")
    parser.add_argument("--scale", type=int, default=0)
    options = parser.parse_args()
    wanted = options.rows.split(",") if options.rows else [""]
    for target in options.targets.split(","):
        for row in ROWS:
            if target in row.targets and any(part in row.name or part in row.passes for part in wanted):
                try:
                    run(row, target, options.scale)
                except Exception as error:  # the other rows are still worth their time
                    print(f"{target:7}{row.name:26}{row.passes:16}{type(error).__name__}: {error}", flush=True)
                    ti.reset()


if __name__ == "__main__":
    main()
