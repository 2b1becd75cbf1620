"""Further programs of the comparison with all peers (`rows.py`), written as those of `programs.py`, whose note on
annotations holds here too."""

from typing import Any

import numpy as np
from programs import Program


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


MORE = {"copy": copy, "vec3": vec3, "sgemm": sgemm, "unroll256": unroll256, "spmv": spmv}
