"""Further programs of the comparison with all peers (`rows.py`), written as those of `programs.py`, whose note on
annotations holds here too."""

from typing import Any

import numpy as np
from programs import Program, mpm


def copy(ti: Any, n: int = 1 << 22) -> Program:
    """y = x for n floats."""
    x, y = ti.ndarray(ti.f32, n), ti.ndarray(ti.f32, n)
    x.from_numpy(np.arange(n, dtype=np.float32))

    @ti.kernel
    def duplicate(x: ti.types.ndarray(dtype=ti.f32, ndim=1), y: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in y:
            y[i] = x[i]

    return Program(lambda: duplicate(x, y), lambda: y.to_numpy()[:: max(1, n // 1000)])


def vec3(ti: Any, n: int = 1 << 20) -> Program:
    """Positions advance by velocities: n vectors of three floats each."""
    x, v = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)
    v.from_numpy(np.random.default_rng(0).random((n, 3), dtype=np.float32))

    @ti.kernel
    def advance(dt: ti.f32):
        for i in x:
            x[i] += dt * v[i]

    return Program(lambda: advance(0.5), lambda: x.to_numpy()[:: max(1, n // 1000)])


def sgemm(ti: Any, n: int = 256) -> Program:
    """c = a b for n x n floats, one thread an element."""
    a, b, c = (ti.ndarray(ti.f32, (n, n)) for _ in range(3))
    values = np.random.default_rng(0).random((2, n, n), dtype=np.float32)
    a.from_numpy(values[0])
    b.from_numpy(values[1])

    @ti.kernel
    def multiply(
        a: ti.types.ndarray(dtype=ti.f32, ndim=2),
        b: ti.types.ndarray(dtype=ti.f32, ndim=2),
        c: ti.types.ndarray(dtype=ti.f32, ndim=2),
    ):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    return Program(lambda: multiply(a, b, c), lambda: c.to_numpy()[:: max(1, n // 16), :: max(1, n // 16)])


def unroll256(ti: Any, n: int = 1 << 16) -> Program:
    """256 dependent multiplications and divisions of each of n floats, unrolled by the frontend."""
    x = ti.field(ti.f32, n)
    x.from_numpy(np.random.default_rng(0).random(n, dtype=np.float32) + 1)
    y = ti.field(ti.f32, n)

    @ti.kernel
    def iterate():
        for i in x:
            s = x[i]
            for k in ti.static(range(256)):
                s = s * 0.5 + 1.0 / (s + k)
            y[i] = s

    return Program(iterate, lambda: y.to_numpy()[:: max(1, n // 1000)])


def spmv(ti: Any, n: int = 32) -> Program:
    """A sparse matrix of n^3 rows of 27 entries times a vector, in compressed rows."""
    rows, given = n**3, sparse_data(n)
    arrays = [ti.ndarray(ti.i32 if data.dtype == np.int32 else ti.f32, data.size) for data in given]
    for array, data in zip(arrays, given, strict=True):
        array.from_numpy(data)
    starts, columns, values, x = arrays
    y = ti.ndarray(ti.f32, rows)

    @ti.kernel
    def multiply(
        starts: ti.types.ndarray(dtype=ti.i32, ndim=1),
        columns: ti.types.ndarray(dtype=ti.i32, ndim=1),
        values: ti.types.ndarray(dtype=ti.f32, ndim=1),
        x: ti.types.ndarray(dtype=ti.f32, ndim=1),
        y: ti.types.ndarray(dtype=ti.f32, ndim=1),
    ):
        for i in y:
            s = 0.0
            for k in range(starts[i], starts[i + 1]):
                s += values[k] * x[columns[k]]
            y[i] = s

    return Program(lambda: multiply(starts, columns, values, x, y), lambda: y.to_numpy()[:: max(1, rows // 1000)])


def sparse_data(n: int = 32) -> tuple[Any, Any, Any, Any]:
    """Return the starts of rows, columns and values of a matrix of n^3 rows of 27 entries, and a vector."""
    rows, entries = n**3, 27
    columns = (np.arange(rows)[:, None] + np.arange(-13, 14)[None, :] * n) % rows
    values = np.random.default_rng(0).random(rows * entries, dtype=np.float32)
    x = np.random.default_rng(1).random(rows, dtype=np.float32)
    return np.arange(rows + 1, dtype=np.int32) * entries, columns.astype(np.int32).ravel(), values, x


def sgemm_tiled(ti: Any, n: int = 256) -> Program:
    """c = a b for n x n floats, by tiles of 16 x 16 in memory that a block shares; on GPUs only."""
    tile = 16
    a, b, c = (ti.field(ti.f32, (n, n)) for _ in range(3))
    values = np.random.default_rng(0).random((2, n, n), dtype=np.float32)
    a.from_numpy(values[0])
    b.from_numpy(values[1])

    @ti.kernel
    def multiply():
        ti.loop_config(block_dim=256)
        for thread in range(n * n):
            left, right = ti.simt.block.SharedArray((16, 16), ti.f32), ti.simt.block.SharedArray((16, 16), ti.f32)
            block, lane = thread // 256, thread % 256
            y, x = lane // tile, lane % tile
            i, j = block // (n // tile) * tile + y, block % (n // tile) * tile + x
            s = 0.0
            for k in range(n // tile):
                left[y, x] = a[i, k * tile + x]
                right[y, x] = b[k * tile + y, j]
                ti.simt.block.sync()
                for m in range(tile):
                    s += left[y, m] * right[m, x]
                ti.simt.block.sync()
            c[i, j] = s

    return Program(multiply, lambda: c.to_numpy()[:: max(1, n // 16), :: max(1, n // 16)])


def sgemm_register(ti: Any, n: int = 256) -> Program:
    """c = a b for n x n floats, by tiles of 64 x 64 that a block shares, 4 x 4 results a thread; on GPUs only."""
    a, b, c = (ti.field(ti.f32, (n, n)) for _ in range(3))
    values = np.random.default_rng(0).random((2, n, n), dtype=np.float32)
    a.from_numpy(values[0])
    b.from_numpy(values[1])

    @ti.kernel
    def multiply():
        ti.loop_config(block_dim=256)
        for thread in range(n * n // 16):
            left, right = ti.simt.block.SharedArray((16, 64), ti.f32), ti.simt.block.SharedArray((16, 64), ti.f32)
            block, lane = thread // 256, thread % 256
            y, x = lane // 16 * 4, lane % 16 * 4
            i, j = block // (n // 64) * 64, block % (n // 64) * 64
            s = ti.Matrix.zero(ti.f32, 4, 4)
            for tile in range(n // 16):
                for part in ti.static(range(4)):
                    e = lane + part * 256
                    left[e % 16, e // 16] = a[i + e // 16, tile * 16 + e % 16]
                    right[e // 64, e % 64] = b[tile * 16 + e // 64, j + e % 64]
                ti.simt.block.sync()
                for k in range(16):
                    for p, q in ti.static(ti.ndrange(4, 4)):
                        s[p, q] += left[k, y + p] * right[k, x + q]
                ti.simt.block.sync()
            for p, q in ti.static(ti.ndrange(4, 4)):
                c[i + y + p, j + x + q] = s[p, q]

    return Program(multiply, lambda: c.to_numpy()[:: max(1, n // 16), :: max(1, n // 16)])


def fma_peak(ti: Any, n: int = 1 << 14, turns: int = 256) -> Program:
    """Four chains of dependent multiply-adds for each of n floats. With fast math a chain is one step: Taichi's
    compiler folds eight at a time, `fold_recurrences` all."""
    x = ti.field(ti.f32, n)
    y = ti.field(ti.f32, n)
    x.from_numpy(np.random.default_rng(0).random(n, dtype=np.float32))

    @ti.kernel
    def iterate():
        for i in x:
            a, b = x[i], x[i] + 0.25
            c, d = x[i] + 0.5, x[i] + 0.75
            for _ in range(turns):
                a, b = a * 0.999 + 0.5, b * 0.998 + 0.5
                c, d = c * 0.997 + 0.5, d * 0.996 + 0.5
            y[i] = a + b + c + d

    return Program(iterate, lambda: y.to_numpy()[:: max(1, n // 1000)])


def sparse(ti: Any, n: int = 1024) -> Program:
    """Half of the elements of a bitmasked tree of n x n floats are active; each is increased."""
    x = ti.field(ti.f32)
    ti.root.dense(ti.ij, n // 8).bitmasked(ti.ij, 8).place(x)

    @ti.kernel
    def activate():
        for i, j in ti.ndrange(n, n):
            if (i + j) % 2 == 0:
                x[i, j] = 1.0

    @ti.kernel
    def increase():
        for i, j in x:
            x[i, j] = x[i, j] * 0.5 + 1.0

    activate()
    return Program(increase, lambda: x.to_numpy()[:: max(1, n // 40), :: max(1, n // 40)])


def wave(ti: Any, n: int = 128, steps: int = 10) -> Program:
    """The wave equation for some steps on n x n elements, and its gradient by all steps backward."""
    p = ti.field(ti.f32, (steps + 2, n, n), needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def advance(t: ti.i32):
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            laplacian = p[t, i - 1, j] + p[t, i + 1, j] + p[t, i, j - 1] + p[t, i, j + 1] - 4 * p[t, i, j]
            p[t + 1, i, j] = 2 * p[t, i, j] - p[t - 1, i, j] + 0.2 * laplacian

    @ti.kernel
    def measure():
        for i, j in ti.ndrange(n, n):
            loss[None] += p[steps + 1, i, j] ** 2

    start = np.zeros((steps + 2, n, n), np.float32)
    start[:2] = np.random.default_rng(0).random((n, n), dtype=np.float32)
    p.from_numpy(start)

    def step() -> None:
        for t in range(1, steps + 1):
            advance(t)
        measure()
        p.grad.fill(0)
        loss.grad.fill(1)
        measure.grad()
        for t in reversed(range(1, steps + 1)):
            advance.grad(t)

    return Program(step, lambda: p.grad.to_numpy()[1, ::9, ::9])


def mpm_frame(ti: Any, particles: int = 8192, grid: int = 128) -> Program:
    """A frame of 50 substeps of `mpm`: 200 tasks."""
    substep = mpm(ti, particles, grid)

    def step() -> None:
        for _ in range(50):
            substep.step()

    return Program(step, substep.result)


def life(ti: Any, n: int = 2000) -> Program:
    """A step of the game of life on n x n cells of a torus."""
    cells, after = ti.field(ti.i32, (n, n)), ti.field(ti.i32, (n, n))
    cells.from_numpy(np.random.default_rng(0).integers(0, 2, (n, n), dtype=np.int32))

    @ti.kernel
    def step():
        for i, j in cells:
            count = -cells[i, j]
            for a in ti.static(range(-1, 2)):
                for b in ti.static(range(-1, 2)):
                    count += cells[(i + a) % n, (j + b) % n]
            after[i, j] = 1 if count == 3 or (count == 2 and cells[i, j] == 1) else 0

    return Program(step, lambda: after.to_numpy()[::31, ::31])


def blur17(ti: Any, n: int = 2048) -> Program:
    """Means of 17 neighbours along the rows of n x n floats; at the ends the outermost one is repeated."""
    u, w = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))
    u.from_numpy(np.random.default_rng(0).random((n, n), dtype=np.float32))

    @ti.kernel
    def blur():
        for i, j in u:
            total = 0.0
            for k in range(-8, 9):
                total += u[i, ti.min(ti.max(j + k, 0), n - 1)]
            w[i, j] = total / 17

    return Program(blur, lambda: w.to_numpy()[::31, ::31])


MORE = {
    made.__name__: made
    for made in (
        copy,
        vec3,
        sgemm,
        sgemm_tiled,
        sgemm_register,
        unroll256,
        fma_peak,
        spmv,
        sparse,
        wave,
        mpm_frame,
        life,
        blur17,
    )
}
