"""Sparse products and solutions for vectors on a GPU against the same on the host, for Poisson's equation.

    python benchmarks/sparse_on_device.py --arch cuda --sizes 64 512 1024

Prints for each size and type the seconds, medians of several, of a product A @ x, of a solution from factors and of a
hundred iterations of conjugate gradients: for an ndarray (on CUDA by cuSPARSE) and for a NumPy array (by SciPy). The
last column is the largest element of the difference of both results.
"""

import argparse
import statistics
import sys
import time

import numpy as np

import shadesmith as ti


def median(run, vector, count: int) -> float:
    """Return the median of seconds, after one call that is not counted."""
    seconds = []
    for _ in range(count + 1):
        start = time.perf_counter()
        run(vector)
        ti.sync()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def actions(matrix, solver):
    """Return names, how often each is measured, and functions of a vector."""
    return (
        ("product", 20, lambda x: matrix @ x),
        ("solution", 5, solver.solve),
        ("100 iterations", 3, lambda x: ti.linalg.SparseCG(matrix, x, max_iter=100, atol=1e-30).solve()[0]),
    )


def matrix_of(n: int, dtype):
    """Return the matrix of Poisson's equation on n x n points."""
    from scipy import sparse

    line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), dtype=np.float64)
    one = sparse.eye_array(n)
    return ti.linalg.SparseMatrix(sm=sparse.kron(one, line) + sparse.kron(line, one), dtype=dtype)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="cuda")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 512])
    options = parser.parse_args()
    ti.init(arch=getattr(ti, options.arch), log_level=ti.ERROR)
    for n in options.sizes:
        for dtype in (ti.f32, ti.f64):
            matrix, host = matrix_of(n, dtype), np.full(n * n, 1 / (n + 1) ** 2, dtype.numpy)
            device = ti.ndarray(dtype, n * n)
            device.from_numpy(host)
            solver = ti.linalg.SparseSolver(dtype, "LLT")
            start = time.perf_counter()
            solver.compute(matrix)
            print(f"{n:5} x {n:<5} {dtype}  factors on the host {time.perf_counter() - start:8.3f} s", flush=True)
            for name, count, run in actions(matrix, solver):
                found, expected = run(device), run(host)
                found = found if isinstance(found, np.ndarray) else found.to_numpy()
                there, here = median(run, device, count), median(run, host, count)
                row = f"ndarray {there:9.6f} s  NumPy {here:9.6f} s  ratio {here / there:7.2f}"
                print(f"    {name:16} {row}  difference {np.abs(found - expected).max():.2g}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
