"""Is a kernel that was loaded as fast as one that was compiled here? The Julia set of the seed, alternately.

    python benchmarks/aot.py [--arch vulkan|cuda|cpu] [--rounds 41]

Prints the ratio of the loaded kernel's time to the JIT's, median and middle half of all rounds, of a launch with its
wait and of the launch path alone, and how long loading takes.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

import shadesmith as ti


@ti.kernel
def paint(pixels: ti.types.ndarray(dtype=ti.f32, ndim=2), n: ti.u32, t: ti.f32):
    for i, j in pixels:
        c = ti.Vector([-0.8, ti.cos(t) * 0.2])
        z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
        iterations = 0
        while z.norm() < 20 and iterations < 50:
            z = ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2]) + c
            iterations += 1
        pixels[i, j] = 1 - iterations * 0.02


def seconds(kernel, arguments, times: int) -> float:
    """Return what a launch takes, with its share of one wait at the end."""
    ti.sync()
    start = perf_counter()
    for _ in range(times):
        kernel(*arguments)
    ti.sync()
    return (perf_counter() - start) / times


def compare(name: str, kernels, arguments, times: int, rounds: int) -> None:
    for kernel in kernels:
        seconds(kernel, arguments, times)
    ratios, own = [], []
    for number in range(rounds):
        order = kernels if number % 2 else kernels[::-1]
        found = {id(kernel): seconds(kernel, arguments, times) for kernel in order}
        own.append(found[id(kernels[0])])
        ratios.append(found[id(kernels[1])] / found[id(kernels[0])])
    low, median, high = statistics.quantiles(ratios, n=4)
    print(f"{name}: JIT {statistics.median(own) * 1e6:.1f} us, loaded / JIT {median:.3f} ({low:.3f} to {high:.3f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="vulkan")
    parser.add_argument("--rounds", type=int, default=41)
    options = parser.parse_args()
    ti.init(arch=getattr(ti, options.arch), enable_fallback=False, log_level="warn")
    n = 1024
    pixels, small = ti.ndarray(ti.f32, (2 * n, n)), ti.ndarray(ti.f32, (4, 4))
    module = ti.aot.Module()
    module.add_kernel(paint, template_args={"pixels": pixels})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "module.tcm")
        module.archive(path)
        start = perf_counter()
        loaded = ti.aot.load(path)
        print(f"{options.arch}: {path.stat().st_size} bytes, loaded in {(perf_counter() - start) * 1e3:.1f} ms")
    kernels = [paint, loaded.paint]
    for kernel in kernels:
        kernel(pixels, n, 0.3)
        kernel(small, 4, 0.3)
    compare("2048 x 1024", kernels, (pixels, n, 0.3), 3 if options.arch != "cuda" else 50, options.rounds)
    compare("4 x 4      ", kernels, (small, 4, 0.3), 500, options.rounds)


if __name__ == "__main__":
    main()
