"""Compare what a launch costs from Python with Taichi: 10,000 launches of kernels on one element, arch=cpu.

    python benchmarks/launch.py --taichi /path/to/python-with-taichi [--rounds 5]
    python benchmarks/launch.py --cupy        (on a machine with a GPU: against CuPy's own RawKernel call)

Rows: no arguments, two scalars, three ndarrays, three NumPy arrays. Each measurement is a process of its own, the
modules alternate, and a row shows medians of the rounds, their ratio with its spread, and the goal.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

GOAL_CPU = 0.5
GOAL_CUPY = 1.5
LAUNCHES = 10_000
ROWS = ("no arguments", "2 scalars", "3 ndarrays", "3 NumPy arrays")


def kernels(ti: Any) -> dict[str, Callable[[], object]]:
    """Return a function per row that launches once."""
    x = ti.field(ti.f32, shape=1)
    arrays = [ti.ndarray(ti.f32, 1) for _ in range(3)]
    hosts = [np.zeros(1, np.float32) for _ in range(3)]

    @ti.kernel
    def nothing():
        x[0] = 1.0

    @ti.kernel
    def scalars(a: ti.f32, b: ti.i32):
        x[0] = a + b

    @ti.kernel
    def three(
        a: ti.types.ndarray(dtype=ti.f32, ndim=1),
        b: ti.types.ndarray(dtype=ti.f32, ndim=1),
        c: ti.types.ndarray(dtype=ti.f32, ndim=1),
    ):
        for i in c:
            c[i] = a[i] + b[i]

    return {
        "no arguments": nothing,
        "2 scalars": lambda: scalars(1.5, 2),
        "3 ndarrays": lambda: three(*arrays),
        "3 NumPy arrays": lambda: three(*hosts),
    }


def raw_kernels() -> dict[str, Callable[[], object]]:
    """Return the same rows by CuPy's RawKernel; it takes no NumPy arrays."""
    import cupy

    text = """
    extern "C" __global__ void nothing(float *x) { x[0] = 1; }
    extern "C" __global__ void scalars(float *x, float a, int b) { x[0] = a + b; }
    extern "C" __global__ void three(float *a, float *b, float *c, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) c[i] = a[i] + b[i];
    }
    """
    module = cupy.RawModule(code=text)
    nothing, scalars, three = (module.get_function(name) for name in ("nothing", "scalars", "three"))
    a, b, c = (cupy.zeros(1, cupy.float32) for _ in range(3))
    number, integer = np.float32(1.5), np.int32(2)
    return {
        "no arguments": lambda: nothing((1,), (1,), (a,)),
        "2 scalars": lambda: scalars((1,), (1,), (a, number, integer)),
        "3 ndarrays": lambda: three((1,), (128,), (a, b, c, integer)),
    }


def measure(module: str, arch: str) -> dict[str, float]:
    """Return microseconds a launch, the end of the work included, for each row."""
    if module == "cupy":
        import cupy

        rows, wait = raw_kernels(), cupy.cuda.runtime.deviceSynchronize
    else:
        ti = importlib.import_module(module)
        ti.init(arch=getattr(ti, arch), offline_cache=False, log_level=ti.WARN)
        rows, wait = kernels(ti), ti.sync
    found = {}
    for name, launch in rows.items():
        for _ in range(200):
            launch()
        wait()
        start = time.perf_counter()
        for _ in range(LAUNCHES):
            launch()
        wait()
        found[name] = (time.perf_counter() - start) / LAUNCHES * 1e6
    return found


def run_worker(python: str, module: str, arch: str) -> dict[str, float]:
    """Measure in a fresh process."""
    command = [python, __file__, "--worker", module, "--arch", arch]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ), check=False)
    if result.returncode != 0:
        raise SystemExit(f"{module} failed:\n{result.stderr[-3000:]}")
    return json.loads(result.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> int:
    """Print all rows, or be a worker. Returns the number of missed goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taichi", default=sys.executable, help="interpreter that has Taichi 1.7.4")
    parser.add_argument("--cupy", action="store_true", help="compare on the GPU with CuPy's RawKernel")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--arch", default="cpu", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(measure(arguments.worker, arguments.arch)))
        return 0
    rival, python = ("cupy", sys.executable) if arguments.cupy else ("taichi", arguments.taichi)
    arch, goal = ("cuda", GOAL_CUPY) if arguments.cupy else ("cpu", GOAL_CPU)
    rival_times, own_times = [], []
    for _ in range(arguments.rounds):
        rival_times.append(run_worker(python, rival, arch))
        own_times.append(run_worker(sys.executable, "shadesmith", arch))
    missed = 0
    for row in ROWS:
        if row not in rival_times[0]:
            continue
        ratios = [a[row] / b[row] for a, b in zip(own_times, rival_times)]
        ratio = statistics.median(ratios)
        missed += ratio > goal
        print(
            f"{row:16} shadesmith {statistics.median(a[row] for a in own_times):7.2f} us  "
            f"{rival} {statistics.median(b[row] for b in rival_times):7.2f} us  ratio {ratio:5.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f})  goal {goal:.2f} {'ok' if ratio <= goal else 'MISSED'}"
        )
    return missed


if __name__ == "__main__":
    sys.exit(main())
