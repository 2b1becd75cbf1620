"""Compare a graph of 1,000 tiny kernels with 1,000 plain calls, and with Taichi's graph of the same kernels.

    python benchmarks/graph.py --arch cuda                                   (goal: 5 times cheaper per kernel)
    python benchmarks/graph.py --arch vulkan --taichi /path/to/python-with-taichi    (goal: at most Taichi's graph)

Rows: the same arguments with each run, where each kernel goes on with what the one before it wrote; the same on 50
alternating arrays, so that most kernels have nothing to do with each other; one number that changes, which every kernel
takes; and kernels that draw random numbers. Each measurement is a process of its own, the modules alternate; times are
from the first launch to the end of the work, per kernel [us], medians of the rounds, with the spread of the ratios.
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

KERNELS = 1000
RUNS = 5
ARRAYS = 50
ROWS = ("same arguments", "50 alternating arrays", "a changed number", "random numbers")
GOALS = {"cuda": 0.2, "vulkan": 1.0}
"""Cost of a graph's kernel in that of a plain call (cuda), and of Taichi's graph (vulkan), same arguments."""


def make_rows(ti: Any) -> dict[str, tuple[Callable[[int], object], Callable[[int], object]]]:
    """Return for each row what runs the graph, and what makes as many plain calls, both of the number of the run."""

    @ti.kernel
    def step(a: ti.f32, x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            x[i] = x[i] * 0.5 + a

    @ti.kernel
    def draw(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            x[i] = ti.random()

    x = ti.ndarray(ti.f32, 32)
    number = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "a", ti.f32)
    array = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    many = [ti.graph.Arg(ti.graph.ArgKind.NDARRAY, f"x{k}", ti.f32, ndim=1) for k in range(ARRAYS)]
    steps, wide, draws = ti.graph.GraphBuilder(), ti.graph.GraphBuilder(), ti.graph.GraphBuilder()
    for k in range(KERNELS):
        steps.dispatch(step, number, array)
        wide.dispatch(step, number, many[k % ARRAYS])
        draws.dispatch(draw, array)
    steps, wide, draws = steps.compile(), wide.compile(), draws.compile()
    arrays = [ti.ndarray(ti.f32, 32) for _ in range(ARRAYS)]
    same = {"a": 1.5, "x": x, **{f"x{k}": y for k, y in enumerate(arrays)}}

    def calls(kernel: Any, *args: Any) -> None:
        for _ in range(KERNELS):
            kernel(*args)

    def alternating_calls() -> None:
        for k in range(KERNELS):
            step(1.5, arrays[k % ARRAYS])

    return {
        "50 alternating arrays": (lambda k: wide.run(same), lambda k: alternating_calls()),
        "same arguments": (lambda k: steps.run(same), lambda k: calls(step, 1.5, x)),
        "a changed number": (lambda k: steps.run({"a": 0.5 + k, "x": x}), lambda k: calls(step, 0.5 + k, x)),
        "random numbers": (lambda k: draws.run(same), lambda k: calls(draw, x)),
    }


def measure(module: str, arch: str) -> dict[str, list[float]]:
    """Return for each row microseconds a kernel: in the graph, by a plain call, and likewise until Python goes on."""
    ti = importlib.import_module(module)
    ti.init(arch=getattr(ti, arch), offline_cache=False, log_level="warn", enable_fallback=False)
    found = {}
    for name, (run, call) in make_rows(ti).items():
        times: list[list[float]] = [[], [], [], []]
        for number in range(RUNS + 2):
            begin = time.perf_counter()
            run(number)
            returned = time.perf_counter()
            ti.sync()
            ended = time.perf_counter()
            call(number)
            called = time.perf_counter()
            ti.sync()
            spans = (ended - begin, time.perf_counter() - ended, returned - begin, called - ended)
            for row, span in zip(times, spans):
                row.append(span / KERNELS * 1e6)
        found[name] = [statistics.median(row[2:]) for row in times]
    return found


def run_worker(python: str, module: str, arch: str) -> dict[str, list[float]]:
    """Measure in a fresh process."""
    command = [python, __file__, "--worker", module, "--arch", arch]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, env=dict(os.environ), check=False)
    if result.returncode != 0:
        raise SystemExit(f"{module} failed:\n{result.stdout[-2000:]}{result.stderr[-3000:]}")
    return json.loads(result.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def show(what: str, ratios: list[float], goal: float | None) -> int:
    """Print the median of ratios, their spread and the goal. Returns 1 where it is missed."""
    ratio = statistics.median(ratios)
    verdict = "" if goal is None else f"  goal {goal:.2f} {'ok' if ratio <= goal else 'MISSED'}"
    print(f"    {what:28} {ratio:6.3f} ({min(ratios):.3f} to {max(ratios):.3f}){verdict}")
    return goal is not None and ratio > goal


def main() -> int:
    """Print all rows, or be a worker. Returns the number of missed goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="vulkan", choices=["cpu", "vulkan", "cuda"])
    parser.add_argument("--taichi", help="interpreter that has Taichi 1.7.4; without it only plain calls are compared")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(measure(arguments.worker, arguments.arch)))
        return 0
    own_rows, taichi_rows = [], []
    for _ in range(arguments.rounds):
        own_rows.append(run_worker(sys.executable, "shadesmith", arguments.arch))
        if arguments.taichi:
            taichi_rows.append(run_worker(arguments.taichi, "taichi", arguments.arch))
    missed = 0
    print(f"{KERNELS} kernels, {arguments.arch}, us a kernel")
    for row in ROWS:
        graph, plain, run, calls = (statistics.median(one[row][k] for one in own_rows) for k in range(4))
        print(f"{row}: graph {graph:.3f} (Python goes on after {run:.3f}), plain calls {plain:.3f} ({calls:.3f})")
        is_first = row == ROWS[0]
        goal = GOALS["cuda"] if is_first and arguments.arch == "cuda" else None
        missed += show("graph / plain calls", [one[row][0] / one[row][1] for one in own_rows], goal)
        show("until Python goes on", [one[row][2] / one[row][3] for one in own_rows], None)
        if taichi_rows:
            print(f"    Taichi's graph {statistics.median(one[row][0] for one in taichi_rows):.3f}")
            goal = GOALS["vulkan"] if is_first and arguments.arch == "vulkan" else None
            missed += show(
                "graph / Taichi's graph", [a[row][0] / b[row][0] for a, b in zip(own_rows, taichi_rows)], goal
            )
    return missed


if __name__ == "__main__":
    sys.exit(main())
