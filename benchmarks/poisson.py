"""Poisson's equation on a square: sparse solvers of `ti.linalg`, and the same program with Taichi in the same run.

    python benchmarks/poisson.py                            # shadesmith
    python benchmarks/poisson.py --taichi PYTHON            # and Taichi, of the Python that has it

The equation is -laplace(u) = 1 in the unit square with u = 0 at its sides: A x = h * h, with h = 1 / (n + 1) and A of
4 and -1. Prints for each size, type and solver the seconds for building the matrix, for factors and for the solution,
and what is left of A x - b, computed in f64: its largest element, its length as a part of that of b, and the backward
error, its largest element as a part of |A| |x| + |b| in the norm of maxima. Rounding the exact x to its type leaves
about 1e-3 (f32) and 3e-12 (f64) of b's length for 512 x 512 points; no solver can have less but by luck.
"""

import argparse
import json
import os
import subprocess
import sys
import time


def solve(ti, n: int, dtype, kind: str) -> dict[str, float]:
    """Return times and residuals of -laplace(u) = 1 on n x n points inside of the unit square."""
    import numpy as np

    @ti.kernel
    def assemble(A: ti.types.sparse_matrix_builder(), n: ti.i32):
        for i, j in ti.ndrange(n, n):
            row = i * n + j
            A[row, row] += 4.0
            if i > 0:
                A[row, row - n] += -1.0
            if i < n - 1:
                A[row, row + n] += -1.0
            if j > 0:
                A[row, row - 1] += -1.0
            if j < n - 1:
                A[row, row + 1] += -1.0

    number = np.float32 if dtype == ti.f32 else np.float64
    builder = ti.linalg.SparseMatrixBuilder(n * n, n * n, max_num_triplets=5 * n * n, dtype=dtype)
    assemble(builder, 2)  # compiles
    builder = ti.linalg.SparseMatrixBuilder(n * n, n * n, max_num_triplets=5 * n * n, dtype=dtype)
    start = time.perf_counter()
    assemble(builder, n)
    matrix = builder.build(dtype=dtype)
    built = time.perf_counter()
    b = np.full(n * n, 1 / (n + 1) ** 2, number)
    if kind == "CG":
        solver = ti.linalg.SparseCG(matrix, b, max_iter=20 * n, atol=1e-6 if dtype == ti.f32 else 1e-12)
        factored = built
        x = solver.solve()[0]
    else:
        solver = ti.linalg.SparseSolver(dtype=dtype, solver_type=kind)
        solver.analyze_pattern(matrix)
        solver.factorize(matrix)
        factored = time.perf_counter()
        x = solver.solve(b)
    end = time.perf_counter()
    grid = np.pad(np.asarray(x, np.float64).reshape(n, n), 1)
    ax = 4 * grid[1:-1, 1:-1] - grid[:-2, 1:-1] - grid[2:, 1:-1] - grid[1:-1, :-2] - grid[1:-1, 2:]
    residual = ax - float(b[0])
    largest = np.abs(residual).max()
    return {
        "build": built - start, "factorize": factored - built, "solve": end - factored, "residual": largest,
        "relative": np.linalg.norm(residual) / np.linalg.norm(b.astype(np.float64)),
        "backward error": largest / (8 * np.abs(grid).max() + float(b[0])),
    }  # fmt: skip


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--taichi", metavar="PYTHON", help="a Python that has Taichi")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--kinds", nargs="+", default=["LLT", "LDLT", "LU", "CG"])
    parser.add_argument("--library", default="shadesmith", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library == "taichi":
        import taichi as ti
    else:
        import shadesmith as ti
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    for n in options.sizes:
        for dtype in (ti.f32, ti.f64):
            for kind in options.kinds:
                row = solve(ti, n, dtype, kind)
                name = "f32" if dtype == ti.f32 else "f64"
                shown = "  ".join(f"{key} {value:9.3g}" for key, value in row.items())
                print(f"{options.library:10} {n:4} x {n:<4} {name} {kind:4}  {shown}", flush=True)
                if "POISSON_JSON" in os.environ:
                    print(json.dumps({"n": n, "dtype": name, "kind": kind, **{k: float(v) for k, v in row.items()}}))
    if options.taichi:
        again = [options.taichi, __file__, "--library", "taichi", "--sizes", *map(str, options.sizes), "--kinds"]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run([*again, *options.kinds], env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main())
