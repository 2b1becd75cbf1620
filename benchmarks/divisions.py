"""What plain divisions gain: kernels of index arithmetic with and without the pass `ranges`, alternately.

usage: python benchmarks/divisions.py [--arch cpu|vulkan|cuda] [--rounds N] [--log2 N]
Each row: time of a launch without and with the pass [us], and the ratio as median [lowest, highest] of the rounds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from time import perf_counter
from unittest.mock import patch

import numpy as np

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

LAUNCHES = 5
Launch = Callable[[], None]


def kernels(count: int) -> dict[str, Launch]:
    """Return launches on new arrays of `count` numbers, by name."""
    side = 1 << (count.bit_length() - 1) // 2
    flat = ti.ndarray(ti.i32, count)
    other = ti.ndarray(ti.i32, count)
    tiles = ti.field(ti.i32, (side // 4, side // 4))
    grid = ti.field(ti.i32, (side, side))

    @ti.kernel
    def digits(a: ti.types.ndarray(ti.i32, 1)):
        for i in a:
            a[i] = i // 10 % 10 + i // 100 % 10 + i // 1000 % 10 + i % 7

    @ti.kernel
    def ring(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in range(n):
            b[i] = a[(i + 1) % n] + a[(i + 2) % a.shape[0]]

    @ti.kernel
    def tiled():
        for i, j in grid:
            grid[i, j] = tiles[i // 4, j // 4] + i % 4 * 4 + j % 4

    @ti.kernel
    def torus():
        for i, j in grid:
            grid[i, j] = (i + 1) % 1000 + (j + 999) % 1000 + (i * 31 + j) % 13

    return {
        "digits": lambda: digits(flat),
        "ring": lambda: ring(flat, other, count),
        "tiled": tiled,
        "torus": torus,
    }


def time_of(launch: Launch) -> float:
    """Return the time of a launch [us], all threads together: the shortest of a few."""
    best = np.inf
    for _ in range(LAUNCHES):
        ti.sync()
        start = perf_counter()
        launch()
        ti.sync()
        best = min(best, perf_counter() - start)
    return float(best) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--log2", type=int, default=20)
    options = parser.parse_args()
    ti.init(arch=getattr(ti, options.arch), offline_cache=False, log_level=ti.ERROR)
    own = sessions.CURRENT.options
    with patch.object(sessions.CURRENT, "options", replace(own, disabled_passes=own.disabled_passes | {"ranges"})):
        before = kernels(1 << options.log2)
        for launch in before.values():
            launch()
    after = kernels(1 << options.log2)
    for name, launch in after.items():
        launch()
        rounds = [(time_of(before[name]), time_of(launch)) for _ in range(options.rounds)]
        ratios = sorted(a / b for a, b in rounds)
        a, b = median(x for x, _ in rounds), median(x for _, x in rounds)
        print(f"{name:8} {a:9.1f} -> {b:9.1f} us   {median(ratios):5.2f}x [{ratios[0]:.2f}, {ratios[-1]:.2f}]")


if __name__ == "__main__":
    main()
