"""Sums, maxima and dot products against the bandwidth of a copy, with their errors, on cuda and vulkan.

usage: python benchmarks/reductions.py [--targets cuda,vulkan] [--log2 28] [--loads 4,8,16]     a minute on an H200
Each row: time of one launch, GB/s, that over the GB/s of the copy kernel of the same round as median [lowest,
highest], the relative error, and in how many different results 20 runs end. --loads: other numbers of iterations that a
thread runs at a time (`LOADS`, 8 by default).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import shadesmith as ti
from shadesmith.transpiler.backend.assemble import emit, files, grid_stride, tasks

ROUNDS, LAUNCHES = 7, 20


def make_kernels(n: int) -> dict[str, Any]:
    """Return arrays and kernels of a new session."""
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)
    total, greatest, product = ti.field(ti.f32, ()), ti.field(ti.f32, ()), ti.field(ti.f32, ())

    @ti.kernel
    def copy():
        for i in x:
            y[i] = x[i]

    @ti.kernel
    def add():
        for i in x:
            total[None] += x[i]

    @ti.kernel
    def find():
        for i in x:
            ti.atomic_max(greatest[None], x[i])

    @ti.kernel
    def dot():
        for i in x:
            product[None] += x[i] * y[i]

    @ti.kernel
    def returned() -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    return {"x": x, "copy": copy, "sum": (add, total, 4), "max": (find, greatest, 4), "dot": (dot, product, 8),
            "returned sum": returned}  # fmt: skip


def seconds(launch: Callable[[], object]) -> float:
    """Return the time of one launch among `LAUNCHES` in a row."""
    ti.sync()
    start = time.perf_counter()
    for _ in range(LAUNCHES):
        launch()
    ti.sync()
    return (time.perf_counter() - start) / LAUNCHES


def row(
    name: str, bytes_read: int, times: list[tuple[float, float]], copied: int, error: float, note: str = ""
) -> None:
    """Print a row. times: of the copy and of the kernel, by round."""
    own = statistics.median(kernel for _, kernel in times)
    shares = [bytes_read / kernel / (copied / copy) for copy, kernel in times]
    share = f"{statistics.median(shares):.3f} [{min(shares):.3f}, {max(shares):.3f}]"
    rate = f"{own * 1e3:8.4f} ms {bytes_read / own / 1e9:7.0f} GB/s"
    print(f"{name:<24} {rate}   of copy {share}   error {error:.1e}   {note}", flush=True)


def run(target: str, numbers: np.ndarray, exact: dict[str, float], loads: int) -> None:
    """Measure all kernels in one session."""
    for module in (grid_stride, tasks, files, emit):
        module.LOADS = loads
    ti.init(arch=getattr(ti, target), enable_fallback=False, offline_cache=False)
    n = len(numbers)
    found = make_kernels(n)
    found["x"].from_numpy(numbers)
    copy = found["copy"]
    copy()
    label = f"{target}{f' LOADS={loads}' if loads != 8 else ''}"
    for name in ("sum", "max", "dot"):
        kernel, place, size = found[name]
        results = set()
        for _ in range(20):
            place[None] = 0.0
            kernel()
            results.add(place[None])
        error = max(abs(result - exact[name]) for result in results) / exact[name]
        times = [(seconds(copy), seconds(kernel)) for _ in range(ROUNDS)]
        note = f"{len(results)} result(s) in 20 runs"
        row(f"{label} {name}", size * n, times, 8 * n, error, note)
    returned = found["returned sum"]
    error = abs(returned() - exact["sum"]) / exact["sum"]
    row(
        f"{label} returned sum",
        4 * n,
        [(seconds(copy), seconds(returned)) for _ in range(3)],
        8 * n,
        error,
        "with wait",
    )
    ti.reset()


def main() -> None:
    """Run all targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", default="cuda,vulkan")
    parser.add_argument("--log2", type=int, default=28)
    parser.add_argument("--loads", default="8")
    arguments = parser.parse_args()
    numbers = np.random.default_rng(0).random(1 << arguments.log2, dtype=np.float32)
    exact = {"sum": float(numbers.sum(dtype=np.float64)), "max": float(numbers.max())}
    blocks = numbers.reshape(-1, min(len(numbers), 1 << 16))
    exact["dot"] = float(sum((block.astype(np.float64) ** 2).sum() for block in blocks))
    for target in arguments.targets.split(","):
        for loads in map(int, arguments.loads.split(",")):
            run(target, numbers, exact, loads)


if __name__ == "__main__":
    main()
