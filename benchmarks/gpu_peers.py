"""Rows of `rows.py` as users of Triton write them, with PyTorch for the memory.

There is no `from __future__ import annotations` here: Triton reads annotations as objects.
"""

from typing import Any

import numpy as np
from programs import Program

BLOCK = 1024


def triton_programs(sizes: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Return a function for each row that makes its program. sizes: of the rows."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def fill_kernel(x, value, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(x + at, tl.zeros((block,), tl.float32) + value, mask=at < n)

    @triton.jit
    def copy_kernel(x, y, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)

    @triton.jit
    def saxpy_kernel(x, y, a, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        value = a * tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n)
        tl.store(y + at, value, mask=at < n)

    @triton.jit
    def stencil_kernel(u, w, n, block: tl.constexpr):
        i = tl.program_id(1) + 1
        j = tl.program_id(0) * block + tl.arange(0, block)
        inside = (j > 0) & (j < n - 1)
        at = u + i * n + j
        total = tl.load(at - n, mask=inside) + tl.load(at + n, mask=inside)
        total += tl.load(at - 1, mask=inside) + tl.load(at + 1, mask=inside)
        tl.store(w + i * n + j, 0.25 * total, mask=inside)

    @triton.jit
    def sum_kernel(x, total, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))

    @triton.jit
    def max_kernel(x, greatest, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.atomic_max(greatest, tl.max(tl.load(x + at, mask=at < n, other=0.0), axis=0))

    @triton.jit
    def product_kernel(a, b, c, n, extent: tl.constexpr, depth: tl.constexpr):
        tiles = n // extent
        i = tl.program_id(0) // tiles * extent + tl.arange(0, extent)
        j = tl.program_id(0) % tiles * extent + tl.arange(0, extent)
        total = tl.zeros((extent, extent), tl.float32)
        for first in range(0, n, depth):
            k = first + tl.arange(0, depth)
            left, right = tl.load(a + i[:, None] * n + k[None, :]), tl.load(b + k[:, None] * n + j[None, :])
            total += tl.dot(left, right, input_precision="ieee")
        tl.store(c + i[:, None] * n + j[None, :], total)

    def blocks(n: int, block: int = BLOCK) -> tuple[int]:
        return (-(-n // block),)

    def random(*shape: int) -> Any:
        return torch.from_numpy(np.random.default_rng(0).random(shape, dtype=np.float32)).cuda()

    def sampled(x: Any, n: int) -> Any:
        return lambda: x[:: max(1, n // 1000)].cpu().numpy()

    def fill() -> Program:
        n = sizes["fill"]["n"]
        x = torch.zeros(n, device="cuda")
        return Program(lambda: fill_kernel[blocks(n)](x, 1.5, n, BLOCK), sampled(x, n))

    def copy() -> Program:
        n = sizes["copy"]["n"]
        x, y = torch.arange(n, device="cuda", dtype=torch.float32), torch.zeros(n, device="cuda")
        return Program(lambda: copy_kernel[blocks(n)](x, y, n, BLOCK), sampled(y, n))

    def saxpy() -> Program:
        n = sizes["saxpy"]["n"]
        x, y = torch.arange(n, device="cuda", dtype=torch.float32) / n, torch.zeros(n, device="cuda")
        return Program(lambda: saxpy_kernel[blocks(n)](x, y, 0.5, n, BLOCK), sampled(y, n))

    def stencil2d() -> Program:
        n = sizes["stencil2d"]["n"]
        u, w = random(n, n), torch.zeros((n, n), device="cuda")
        grid = (*blocks(n), n - 2)
        return Program(lambda: stencil_kernel[grid](u, w, n, BLOCK), lambda: w[::31, ::31].cpu().numpy())

    def reduce_sum() -> Program:
        n, block = sizes["reduce_sum"]["n"], 8 * BLOCK
        x, total = random(n), torch.zeros(1, device="cuda")

        def step() -> None:
            total.zero_()
            sum_kernel[blocks(n, block)](x, total, n, block)
            total.item()  # the kernels of the others return the sum

        return Program(step, lambda: total.cpu().numpy())

    def reduce_max() -> Program:
        n, block = sizes["reduce_max"]["n"], 8 * BLOCK
        x, greatest = random(n), torch.zeros(1, device="cuda")
        return Program(lambda: max_kernel[blocks(n, block)](x, greatest, n, block), lambda: greatest.cpu().numpy())

    def sgemm() -> Program:
        n, extent, depth = sizes["sgemm"]["n"], 64, 16  # of eight settings the fastest on an H200, with 3 stages
        a, b = random(2, n, n)
        c, grid = torch.zeros((n, n), device="cuda"), ((n // extent) ** 2,)
        step = max(1, n // 16)
        return Program(
            lambda: product_kernel[grid](a, b, c, n, extent, depth, num_warps=4, num_stages=3),
            lambda: c[::step, ::step].cpu().numpy(),
        )

    return {made.__name__: made for made in (fill, copy, saxpy, stencil2d, reduce_sum, reduce_max, sgemm)}
