"""Rows of `rows.py` as a specialist writes them in CUDA C, launched by CuPy: accesses of 16 bytes, block reductions,
counts in shared memory."""

from typing import Any

import numpy as np
from programs import Program

SOURCE = r"""
extern "C" __global__ void fill(float4 *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = make_float4(1.5f, 1.5f, 1.5f, 1.5f);
}
extern "C" __global__ void copy(const float4 *x, float4 *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
extern "C" __global__ void saxpy(const float4 *x, float4 *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 u = x[i], v = y[i];
        y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
    }
}
extern "C" __global__ void stencil2d(const float *u, float *w, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * 4;
    if (j < 1 || j > n - 2) return;
    for (int r = i; r < i + 4; ++r)
        if (0 < r && r < n - 1)
            w[r * n + j] = 0.25f * (u[(r - 1) * n + j] + u[(r + 1) * n + j] + u[r * n + j - 1] + u[r * n + j + 1]);
}
extern "C" __global__ void reduce_sum(const float4 *x, float *total, int n) {
    __shared__ float parts[32];
    float s = 0;
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * step) {
        float4 a = x[i], z = make_float4(0, 0, 0, 0);
        float4 b = i + step < n ? x[i + step] : z, c = i + 2 * step < n ? x[i + 2 * step] : z;
        float4 d = i + 3 * step < n ? x[i + 3 * step] : z;
        s += ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
        s += ((c.x + c.y) + (c.z + c.w)) + ((d.x + d.y) + (d.z + d.w));
    }
    for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
        for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);
        if (threadIdx.x == 0) atomicAdd(total, s);
    }
}
extern "C" __global__ void histogram(const int4 *x, int *counts, int n) {
    __shared__ int own[4][256];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) own[k / 256][k % 256] = 0;
    __syncthreads();
    int *mine = own[threadIdx.x / 32 % 4];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int4 v = x[i];
        atomicAdd(&mine[v.x], 1); atomicAdd(&mine[v.y], 1); atomicAdd(&mine[v.z], 1); atomicAdd(&mine[v.w], 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        atomicAdd(&counts[k], own[0][k] + own[1][k] + own[2][k] + own[3][k]);
}
"""


def expert_programs(sizes: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Return a function for each row that makes its program. sizes: of the rows."""
    import cupy

    module = cupy.RawModule(code=SOURCE, options=("--use_fast_math",))
    get = module.get_function

    def sampled(x: Any, n: int) -> Any:
        return lambda: cupy.asnumpy(x[:: max(1, n // 1000)])

    def fill() -> Program:
        n = sizes["fill"]["n"]
        x, run = cupy.zeros(n, cupy.float32), get("fill")
        return Program(lambda: run((n // 1024,), (256,), (x, np.int32(n // 4))), sampled(x, n))

    def copy() -> Program:
        n = sizes["copy"]["n"]
        x, y, run = cupy.arange(n, dtype=cupy.float32), cupy.zeros(n, cupy.float32), get("copy")
        return Program(lambda: run((n // 1024,), (256,), (x, y, np.int32(n // 4))), sampled(y, n))

    def saxpy() -> Program:
        n = sizes["saxpy"]["n"]
        x, y, run = cupy.arange(n, dtype=cupy.float32) / n, cupy.zeros(n, cupy.float32), get("saxpy")
        x = x.astype(cupy.float32)
        return Program(lambda: run((n // 1024,), (256,), (x, y, np.float32(0.5), np.int32(n // 4))), sampled(y, n))

    def stencil2d() -> Program:
        n = sizes["stencil2d"]["n"]
        u = cupy.asarray(np.random.default_rng(0).random((n, n), dtype=np.float32))
        w, run = cupy.zeros((n, n), cupy.float32), get("stencil2d")
        return Program(
            lambda: run((-(-n // 256), n // 4), (256,), (u, w, np.int32(n))), lambda: cupy.asnumpy(w[::31, ::31])
        )

    def reduce_sum() -> Program:
        n = sizes["reduce_sum"]["n"]
        x = cupy.asarray(np.random.default_rng(0).random(n, dtype=np.float32))
        total, run = cupy.zeros(1, cupy.float32), get("reduce_sum")

        def step() -> None:
            total.fill(0)
            run((132 * 8,), (256,), (x, total, np.int32(n // 4)))
            total.item()  # the kernels of the others return the sum

        return Program(step, lambda: cupy.asnumpy(total))

    def histogram() -> Program:
        n = sizes["histogram"]["n"]
        x = cupy.asarray(np.random.default_rng(0).integers(0, 256, n, dtype=np.int32))
        counts, run = cupy.zeros(256, cupy.int32), get("histogram")

        def step() -> None:
            counts.fill(0)
            run((132 * 8,), (256,), (x, counts, np.int32(n // 4)))

        return Program(step, lambda: cupy.asnumpy(counts))

    return {made.__name__: made for made in (fill, copy, saxpy, stencil2d, reduce_sum, histogram)}
