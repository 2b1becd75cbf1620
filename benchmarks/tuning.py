"""`kernel.tune` on five kernels that nobody has edited, on three sizes each: what wins, and whether it is ever slower.

usage: python benchmarks/tuning.py [--arch cuda,vulkan] [--limit 8] [--seconds 0.1] [--rows NAME,NAME] [--small]
For each kernel and size: the time as generated; the setting that won ("as generated" if none was faster beyond doubt),
its time, and their ratio with its interval, both in a later, separate measurement; how many settings were tried, and
how long that took. A row is worse if the whole interval is above 1. The last line counts the rows that are not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import shadesmith as ti

Made = tuple[Any, tuple[Any, ...]]


@ti.kernel
def saxpy(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), a: ti.f32):
    for i in x:
        y[i] = a * x[i] + y[i]


@ti.kernel
def stencil(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2)):
    for i, j in a:
        n, m = a.shape
        if 0 < i < n - 1 and 0 < j < m - 1:
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@ti.kernel
def total(x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
    s = 0.0
    for i in x:
        s += x[i]
    return s


@ti.kernel
def bodies(position: ti.types.ndarray(ti.math.vec3, 1), force: ti.types.ndarray(ti.math.vec3, 1)):
    for i in position:
        total = ti.Vector([0.0, 0.0, 0.0])
        for j in range(position.shape[0]):
            r = position[j] - position[i]
            total += r * ti.rsqrt(r.dot(r) + 1e-3) ** 3
        force[i] = total


@ti.kernel
def product(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2), c: ti.types.ndarray(ti.f32, 2)):
    for i, j in c:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


def random(*shape: int, components: int = 0) -> Any:
    """Return an ndarray of random numbers, or of vectors."""
    array = ti.Vector.ndarray(components, ti.f32, shape) if components else ti.ndarray(ti.f32, shape)
    numbers = np.random.default_rng(1).random((*shape, components) if components else shape, dtype=np.float32)
    array.from_numpy(numbers)
    return array


ROWS: dict[str, tuple[Callable[[int], Made], tuple[int, int, int]]] = {
    "saxpy": (lambda n: (saxpy, (random(n), random(n), 0.5)), (1 << 16, 1 << 20, 1 << 24)),
    "stencil": (lambda n: (stencil, (random(n, n), random(n, n))), (256, 1024, 4096)),
    "total": (lambda n: (total, (random(n),)), (1 << 16, 1 << 20, 1 << 24)),
    "bodies": (lambda n: (bodies, (random(n, components=3), random(n, components=3))), (1024, 4096, 16384)),
    "product": (lambda n: (product, (random(n, n), random(n, n), random(n, n))), (128, 256, 1024)),
}
"""Kernels, and sizes on a GPU; `--small` divides the number of elements."""


def row(arch: str, name: str, n: int, arguments: argparse.Namespace) -> bool:
    """Tune and measure one kernel; return whether the winner is slower."""
    begin = time.perf_counter()
    kernel, args = ROWS[name][0](n)
    found = kernel.tune(*args, seconds=arguments.seconds, limit=arguments.limit, in_process=True)
    own = {parameter: space.defined for parameter, space in found.spaces.items()}
    setting = ", ".join(
        f"{parameter} {own[part][parameter]} -> {value}"
        for part, values in (found.best or {}).items()
        for parameter, value in values.items()
        if value != own[part][parameter]
    )
    timing = kernel.bench(*args, seconds=2 * arguments.seconds)
    default = timing["generated"].median
    tuned = timing["tuned"] if found.best is not None else timing["generated"]
    ratio = tuned.ratio
    shown = "1" if ratio is None else f"{ratio.estimate:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
    wrong = sum(trial.status != "timed" for trial in found.trials)
    counts = f"{len(found.trials)} tried" + (f", {wrong} not timed" if wrong else "")
    print(
        f"{arch:7} {name:8} {n:>9}  {default * 1e6:>9.2f} us  {tuned.median * 1e6:>9.2f} us  {shown:22} "
        f"{setting or 'as generated'}  ({counts}, {time.perf_counter() - begin:.1f} s)",
        flush=True,
    )
    return ratio is not None and ratio.low > 1.0


def main() -> int:
    """Print all rows; return how many winners are slower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="cuda,vulkan")
    parser.add_argument("--limit", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    arguments = parser.parse_args()
    worse = rows = 0
    print(f"{'target':7} {'kernel':8} {'size':>9}  {'generated':>12}  {'found':>12}  {'ratio':22} setting")
    for arch in arguments.arch.split(","):
        with tempfile.TemporaryDirectory() as folder:
            ti.init(arch=getattr(ti, arch), enable_fallback=False, log_level="error", edits_dir=folder)
            for name in arguments.rows.split(","):
                for n in ROWS[name][1]:
                    size = max(8, n // (4 if name in ("stencil", "bodies", "product") else 16))
                    worse += row(arch, name, size if arguments.small else n, arguments)
                    rows += 1
    print(f"never worse: {rows - worse} of {rows}")
    return worse


if __name__ == "__main__":
    sys.exit(main())
