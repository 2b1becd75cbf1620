"""Two kernels to tune by hand: a Jacobi step and a matrix product. docs/hand-tuning.md goes through it.

The folder `edits` next to this file has their CUDA C and GLSL, edited to use vector loads and tiles in shared memory;
this program runs the edits. `python hand_tuning.py --arch cuda --size 4096` compares each with the generated source and
times both.
"""

from __future__ import annotations

import argparse

import numpy as np

import shadesmith as ti

matrix = ti.types.ndarray(ti.f32, ndim=2)


@ti.kernel(passes=["-wide_accesses"])  # which loads four numbers at a time by itself
def jacobi(a: matrix, b: matrix):
    n, m = a.shape[0], a.shape[1]
    for i, j in a:
        if 0 < i < n - 1 and 0 < j < m - 1:
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@ti.kernel(passes=["-register_tiles"])  # which makes such tiles by itself
def multiply(a: matrix, b: matrix, c: matrix):
    for i, j in c:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


def numbers(rows: int, columns: int) -> ti.ndarray:
    array = ti.ndarray(ti.f32, (rows, columns))
    array.from_numpy(np.random.default_rng(rows + columns).random((rows, columns), np.float32))
    return array


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--size", type=int, default=256, help="rows of a matrix; 4096 keeps a GPU busy")
    options = parser.parse_args()
    ti.init(arch=getattr(ti, options.arch))
    n = options.size
    a, b, c = numbers(n, n), numbers(n, n), ti.ndarray(ti.f32, (n, n))
    for kernel, arguments in ((jacobi, (a, b)), (multiply, (a, b, c))):
        kernel(*arguments)
        print(f"{kernel.__name__} of {n} x {n}: {kernel.last_launch}")
        if kernel.last_launch.variant != "generated":
            print(kernel.compare(*arguments))
            print(kernel.bench(*arguments))


if __name__ == "__main__":
    main()
