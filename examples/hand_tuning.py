"""Two kernels to tune by hand: a Jacobi step and a matrix product. docs/hand-tuning.md goes through it.

The folder `edits` beside this file holds their emitted CUDA and GLSL with vector loads and tiles in shared memory: they
run as soon as this program does, on ti.cuda and ti.vulkan. `python examples/hand_tuning.py cuda 4096` compares each
with the generated text and times both.
"""

from __future__ import annotations

import sys

import numpy as np

import shadesmith as ti

matrix = ti.types.ndarray(ti.f32, ndim=2)


@ti.kernel
def jacobi(a: matrix, b: matrix):
    n, m = a.shape[0], a.shape[1]
    for i, j in a:
        if 0 < i < n - 1 and 0 < j < m - 1:
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@ti.kernel
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


def main(arch: str = "gpu", size: str = "1024") -> None:
    ti.init(arch=arch)
    n = int(size)
    a, b, c = numbers(n, n), numbers(n, n), ti.ndarray(ti.f32, (n, n))
    for kernel, arguments in ((jacobi, (a, b)), (multiply, (a, b, c))):
        kernel(*arguments)
        print(f"\n{kernel.__name__} of {n} x {n}: {kernel.last_launch}")
        if kernel.last_launch.variant != "generated":
            print(kernel.compare(*arguments))
            print(kernel.bench(*arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
