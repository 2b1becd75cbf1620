"""Compare what a launch costs from Python with Taichi (arch=cpu), or on a GPU with CuPy's own RawKernel.

    python benchmarks/launch.py --taichi /path/to/python-with-taichi [--rounds 5]
    python benchmarks/launch.py --cupy        (on a machine with a GPU: rows for CUDA and Vulkan)

Rows: launches of kernels on one element, one after the other, without arguments (into a field), with two ndarrays, with
nine arguments, with three NumPy arrays; and a launch that is waited for. Each measurement is a process of its own, the
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
GOALS_CUDA = {"no arguments": 1.05, "2 ndarrays": 1.05, "9 arguments": 0.5, "call and sync": 1.05}
LAUNCHES = 10_000
WAITED = 500
ROWS = ("no arguments", "2 ndarrays", "9 arguments", "3 NumPy arrays", "call and sync")


def kernels(ti: Any) -> dict[str, Callable[[], object]]:
    """Return a function per row that launches once."""
    x = ti.field(ti.f32, shape=1)
    arrays = [ti.ndarray(ti.f32, 1) for _ in range(3)]
    hosts = [np.zeros(1, np.float32) for _ in range(3)]

    @ti.kernel
    def nothing():
        x[0] = 1.0

    @ti.kernel
    def two(a: ti.types.ndarray(dtype=ti.f32, ndim=1), b: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in b:
            b[i] = a[i]

    @ti.kernel
    def three(
        a: ti.types.ndarray(dtype=ti.f32, ndim=1),
        b: ti.types.ndarray(dtype=ti.f32, ndim=1),
        c: ti.types.ndarray(dtype=ti.f32, ndim=1),
    ):
        for i in c:
            c[i] = a[i] + b[i]

    @ti.kernel
    def nine(
        a: ti.types.ndarray(dtype=ti.f32, ndim=1),
        b: ti.types.ndarray(dtype=ti.f32, ndim=1),
        c: ti.types.ndarray(dtype=ti.f32, ndim=1),
        p: ti.f32,
        q: ti.f32,
        r: ti.f32,
        k: ti.i32,
        m: ti.i32,
        n: ti.i32,
    ):
        for i in c:
            c[i] = a[i] * p + b[i] * q + r + k + m + n

    return {
        "no arguments": nothing,
        "2 ndarrays": lambda: two(arrays[0], arrays[1]),
        "9 arguments": lambda: nine(*arrays, 1.5, 2.5, 3.5, 1, 2, 3),
        "3 NumPy arrays": lambda: three(*hosts),
    }


def raw_kernels() -> dict[str, Callable[[], object]]:
    """Return the same rows by CuPy's RawKernel; it takes no NumPy arrays."""
    import cupy

    text = """
    extern "C" __global__ void nothing(float *x) { x[0] = 1; }
    extern "C" __global__ void two(float *a, float *b, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) b[i] = a[i];
    }
    extern "C" __global__ void nine(
        float *a, float *b, float *c, float p, float q, float r, int k, int m, int n, int count
    ) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < count) c[i] = a[i] * p + b[i] * q + r + k + m + n;
    }
    """
    module = cupy.RawModule(code=text)
    nothing, two, nine = (module.get_function(name) for name in ("nothing", "two", "nine"))
    a, b, c = (cupy.zeros(1, cupy.float32) for _ in range(3))
    f, i = np.float32, np.int32
    return {
        "no arguments": lambda: nothing((1,), (1,), (a,)),
        "2 ndarrays": lambda: two((1,), (128,), (a, b, i(1))),
        "9 arguments": lambda: nine((1,), (128,), (a, b, c, f(1.5), f(2.5), f(3.5), i(1), i(2), i(3), i(1))),
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
    start = time.perf_counter()
    for _ in range(WAITED):
        rows["no arguments"]()
        wait()
    found["call and sync"] = (time.perf_counter() - start) / WAITED * 1e6
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
    missed = 0
    archs = ("cuda", "vulkan") if arguments.cupy else ("cpu",)
    rounds: dict[str, list[dict[str, float]]] = {arch: [] for arch in (rival, *archs)}
    for _ in range(arguments.rounds):
        rounds[rival].append(run_worker(python, rival, archs[0]))
        for arch in archs:
            rounds[arch].append(run_worker(sys.executable, "shadesmith", arch))
    for arch in archs:
        missed += sum(show(row, arch, rival, rounds[arch], rounds[rival]) for row in ROWS if row in rounds[rival][0])
    return missed


def show(row: str, arch: str, rival: str, own: list[dict[str, float]], other: list[dict[str, float]]) -> bool:
    """Print a row; return whether its goal is missed."""
    ratios = [a[row] / b[row] for a, b in zip(own, other, strict=True)]
    ratio = statistics.median(ratios)
    goal = GOAL_CPU if arch == "cpu" else GOALS_CUDA.get(row) if arch == "cuda" else None
    is_missed = goal is not None and ratio > goal
    verdict = "" if goal is None else f"  goal {goal:.2f} {'MISSED' if is_missed else 'ok'}"
    print(
        f"{row:16} shadesmith {arch:6} {statistics.median(a[row] for a in own):7.2f} us  "
        f"{rival} {statistics.median(b[row] for b in other):7.2f} us  ratio {ratio:5.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}){verdict}"
    )
    return is_missed


if __name__ == "__main__":
    sys.exit(main())
