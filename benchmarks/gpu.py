"""Bandwidth of emitted kernels on a GPU against the same kernels written by hand in CUDA C, timed in the same run.

usage: python benchmarks/gpu.py [--repeat N]     needs an NVIDIA GPU with CuPy; Vulkan rows need a driver and glslang
Each row: GB/s by hand, GB/s of shadesmith, ratio as median [lowest, highest] of interleaved rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time

import cupy

import shadesmith as ti

HAND = r"""
extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void jacobi(const float *a, float *b, float w, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (0 < i && i < n - 1 && 0 < j && j < m - 1) {
        float s = a[(i - 1) * m + j] + a[(i + 1) * m + j] + a[i * m + j - 1] + a[i * m + j + 1];
        b[i * m + j] = a[i * m + j] + w * (0.25f * s - a[i * m + j]);
    }
}
"""


@ti.kernel
def saxpy(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), a: ti.f32):
    for i in x:
        y[i] = a * x[i] + y[i]


@ti.kernel
def jacobi(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2), w: ti.f32):
    for i, j in a:
        n, m = a.shape
        if 0 < i < n - 1 and 0 < j < m - 1:
            s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
            b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])


def seconds(launch, wait, launches: int = 20) -> float:
    """Return wall time of one launch among `launches` in a row, after one that warms up."""
    launch()
    wait()
    start = time.perf_counter()
    for _ in range(launches):
        launch()
    wait()
    return (time.perf_counter() - start) / launches


def compare(name: str, size_bytes: int, hand, generated, repeat: int) -> None:
    """Print one row; `hand` and `generated` are pairs (launch, wait)."""
    pairs = [(seconds(*hand), seconds(*generated)) for _ in range(repeat)]
    ratios = [a / b for a, b in pairs]
    by_hand, emitted = (size_bytes / statistics.median(column) / 1e9 for column in zip(*pairs))
    spread = f"[{min(ratios):.3f}, {max(ratios):.3f}]"
    print(
        f"{name:<22} by hand {by_hand:7.0f} GB/s   shadesmith {emitted:7.0f} GB/s   "
        f"bandwidth ratio {statistics.median(ratios):.3f} {spread}",
        flush=True,
    )


def run(arch_name: str, repeat: int, log2: int, side: int) -> None:
    """Compare both kernels on one target with their hand-written form; one's arrays are gone before the other's."""
    ti.init(arch=getattr(ti, arch_name), enable_fallback=False)
    module = cupy.RawModule(code=HAND)
    compare_saxpy(arch_name, module.get_function("saxpy"), 1 << log2, repeat)
    compare_jacobi(arch_name, module.get_function("jacobi"), side, repeat)


def compare_saxpy(arch_name: str, by_hand, n: int, repeat: int) -> None:
    """Compare on vectors of `n` floats."""
    wait_cuda = cupy.cuda.Stream.null.synchronize
    x, y = ti.ndarray(ti.f32, n), ti.ndarray(ti.f32, n)
    x.fill(1.5)
    hx, hy = cupy.full(n, 1.5, cupy.float32), cupy.zeros(n, cupy.float32)
    compare(f"saxpy 2^{n.bit_length() - 1} {arch_name}", 12 * n,
            (lambda: by_hand((n // 256,), (256,), (hx, hy, cupy.float32(0.5), n)), wait_cuda),
            (lambda: saxpy(x, y, 0.5), ti.sync), repeat)  # fmt: skip


def compare_jacobi(arch_name: str, by_hand, side: int, repeat: int) -> None:
    """Compare on grids of `side` x `side` floats."""
    wait_cuda = cupy.cuda.Stream.null.synchronize
    a, b = ti.ndarray(ti.f32, (side, side)), ti.ndarray(ti.f32, (side, side))
    a.fill(1.0)
    ha, hb = cupy.ones((side, side), cupy.float32), cupy.zeros((side, side), cupy.float32)
    compare(f"jacobi {side}^2 {arch_name}", 8 * side * side,
            (lambda: by_hand((side // 256, side), (256,), (ha, hb, cupy.float32(0.5), side, side)), wait_cuda),
            (lambda: jacobi(a, b, 0.5), ti.sync), repeat)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--log2", type=int, default=28)
    parser.add_argument("--side", type=int, default=8192)
    arguments = parser.parse_args()
    for arch_name in ("cuda", "vulkan"):
        run(arch_name, arguments.repeat, arguments.log2, arguments.side)


if __name__ == "__main__":
    main()
