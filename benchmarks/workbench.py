"""How often `kernel.bench` is right: equal sources called equal, and five percent more work called slower.

usage: python benchmarks/workbench.py [--targets cuda,vulkan] [--runs 100] [--seconds 2]
Two kernels a target, one bound by arithmetic and one by memory, of 100 us or more. `equal` differs from the generated
source only in a comment, but is compiled and loaded separately; `slower` runs 21 iterations of the inner loop for 20.
Each run is a bench as `kernel.bench` makes it. The status is 1 if fewer than 95 of 100 verdicts are right.

Before, a kernel that writes a large array is timed by the clock on the wall too, as one of 200 launches in a row: what
`kernel.bench` finds must not be longer, though its copies of the arguments are restored before each sample.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from statistics import median

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.measure.bench import time_modules
from shadesmith.runtime.workbench.measure.harness import BenchmarkHarness, ReplicaSet
from shadesmith.runtime.workbench.measure.ratios import NO_DIFFERENCE, SLOWER
from shadesmith.runtime.workbench.measure.replicas import record
from shadesmith.runtime.workbench.measure.timing import measure

LEAST_SECONDS = 1.1e-4
"""Of a kernel; the promise is for 100 us and more."""
GROUND_RUNS = 10
"""Runs on the same copies in memory."""
NEEDED = 0.95


@ti.kernel
def arithmetic(x: ti.types.ndarray(ti.f32, 1), count: ti.i32):
    for i in x:
        s = x[i]
        for k in range(count * 20):
            s = s * 0.5 + 1.0 / (s + k)
        x[i] = s


@ti.kernel
def memory(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 1), count: ti.i32):
    for i in y:
        s = 0.0
        for k in range(count * 20):
            s += x[k, i]
        y[i] = s


def is_gpu() -> bool:
    """Return whether the session's device is hardware with thousands of threads."""
    device = sessions.CURRENT.device
    return device.name in ("cuda", "vulkan") and not getattr(device, "is_software", False)


@ti.kernel
def smooth(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2)):
    n, m = a.shape[0], a.shape[1]
    for i, j in a:
        if 0 < i < n - 1 and 0 < j < m - 1:
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def check_clock(launches: int = 200) -> None:
    """Print the time of a launch by the device's time stamps and by the clock on the wall."""
    side = 4096 if is_gpu() else 512
    a, b = (ti.ndarray(ti.f32, (side, side)) for _ in range(2))
    a.fill(0.5)
    smooth(a, b)
    walls = []
    for _ in range(5):
        ti.sync()
        begin = time.perf_counter()
        for _ in range(launches):
            smooth(a, b)
        ti.sync()
        walls.append((time.perf_counter() - begin) / launches)
    variants, device = smooth.variants(a, b), sessions.CURRENT.device
    replicas, timer = ReplicaSet(record(variants)), device.timer()
    stamped = []
    for restore in (replicas.restore, lambda: None):
        harness = BenchmarkHarness(timer, [replicas.launcher(variants.generated)], restore)
        harness.warm_up()
        stamped.append(median(measure(harness.sample, 1)[0]))
    timer.close()
    print(
        f"clock: {device.title}, {side}^2: {1e6 * stamped[0]:.1f} us by {timer.clock}, {1e6 * stamped[1]:.1f} us if "
        f"nothing is restored before, {1e6 * median(walls):.1f} us by the wall's clock "
        f"({1e6 * min(walls):.1f} to {1e6 * max(walls):.1f})",
        flush=True,
    )


def arguments(kernel, count: int) -> tuple:
    """Return arguments for `count` times 20 iterations, so that 21 for 20 is one twentieth more work."""
    n = 1 << 18 if is_gpu() else 1 << 12
    x = ti.ndarray(ti.f32, n if kernel is arithmetic else (count * 21, n))
    x.fill(0.5)
    return (x, count) if kernel is arithmetic else (x, ti.ndarray(ti.f32, n), count)


def long_enough(kernel) -> tuple:
    """Return arguments with which a launch takes `LEAST_SECONDS`."""
    count = 1
    while True:
        found = arguments(kernel, count)
        seconds = kernel.bench(*found, variants=["generated"], seconds=0.2).rows[0].median
        if seconds >= LEAST_SECONDS:
            return found
        count = max(count + 1, int(count * LEAST_SECONDS / seconds * 1.1))


def variants_of(kernel, args: tuple):
    """Write the two sources into their slots and return all."""
    for name in ("equal", "slower"):
        path = kernel.edit(*args, variant=name)
        text = path.read_text()
        changed = text.replace("// workbench.py", "//  workbench.py", 1)
        if name == "slower":
            changed = changed.replace("args.count * 20", "args.count * 21")
            assert "args.count * 21" in changed, text
        path.write_text(changed)
    return kernel.variants(*args)


def judge(kernel, args: tuple, runs: int, seconds: float) -> tuple[int, int]:
    """Run benches and print how many were right; return those of each kind."""
    variants = variants_of(kernel, args)
    found: dict[str, list] = {"equal": [], "slower": []}
    begin = time.perf_counter()
    for run in range(runs):
        if run % GROUND_RUNS == 0:
            replicas = ReplicaSet(record(variants))
        for name, timings in found.items():
            modules = {other: variants.module(other) for other in ("generated", name)}
            timings.append(time_modules(variants, modules, seconds, replicas=replicas))
    spent = (time.perf_counter() - begin) / (2 * runs)
    equal = sum(timing.verdict == NO_DIFFERENCE for timing in found["equal"])
    slower = sum(timing.verdict == SLOWER for timing in found["slower"])
    ratios = [timing.rows[1].ratio for timing in found["slower"]]
    widths = [timing.rows[1].ratio.half_width for timing in found["equal"]]
    rounds = [timing.rounds for timings in found.values() for timing in timings]
    print(
        f"{sys.argv[0].rsplit('/', 1)[-1]}: {kernel.__name__:<10} {found['equal'][0].device}: "
        f"{1e6 * median(t.rows[0].median for t in found['equal']):.0f} us; equal called equal {equal} of {runs}; "
        f"{100 * (median(r.estimate for r in ratios) - 1):.1f} % slower called slower {slower} of {runs}; "
        f"interval of equal +-{100 * median(widths):.2f} %, {min(rounds)} to {max(rounds)} rounds, "
        f"{spent:.2f} s a bench",
        flush=True,
    )
    for timing in found["equal"]:
        if timing.verdict != NO_DIFFERENCE:
            print(f"    equal, called {timing.verdict}: {timing.rows[1].ratio}", flush=True)
    return equal, slower


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", default="cuda,vulkan")
    parser.add_argument("--runs", type=int, default=100, help="0: the clocks alone")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    least = options.runs
    for target in options.targets.split(","):
        with tempfile.TemporaryDirectory() as folder:
            ti.init(arch=getattr(ti, target), enable_fallback=False, log_level=ti.WARN, edits_dir=folder)
            check_clock()
            for kernel in (arithmetic, memory) if options.runs else ():
                args = long_enough(kernel)
                least = min(least, *judge(kernel, args, options.runs, options.seconds))
            ti.reset()
    return 0 if least >= NEEDED * options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
