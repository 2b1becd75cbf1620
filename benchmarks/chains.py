"""Frames of 50 substeps of mpm88, a kernel of four tasks, against the kernels by hand in a stream and in a graph.

usage: python benchmarks/chains.py [--targets cuda,vulkan] [--rounds 30]        needs an NVIDIA GPU with CuPy
Rows: calls of the kernel; a `ti.graph` of them; on CUDA also calls without task graphs. A row has the time of a frame
[ms] and its ratio to the graph that a person captures of CUDA C (`tests/handwritten/cuda/mpm88.cu`), as median [lowest,
highest] of interleaved rounds. Results after a frame are compared. Then come kernels of a few small tasks, with task
graphs and without: the time of a launch [us].
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import shadesmith as ti

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from handwritten import running
from handwritten.table import PROGRAMS

SUBSTEPS = 50
SIZES = {"PARTICLES": 8192, "CELLS": 128}
GOAL = 1.3
TASKS = (1, 2, 3, 4, 8)


def seconds(frame: Callable[[], object], wait: Callable[[], object]) -> float:
    """Return the time of a frame, from the first launch to the end of the work.

    The frame before it is not measured: a GPU that has worked for CUDA needs 0.1 ms until it works for Vulkan.
    """
    frame()
    wait()
    begin = time.perf_counter()
    frame()
    wait()
    return time.perf_counter() - begin


def by_hand(folder: Path) -> tuple[Callable[[], object], Callable[[], object], Callable[[], object], Any]:
    """Return a frame in a stream, one as a captured graph, what waits, and the program."""
    import cupy

    program = PROGRAMS["mpm88"]
    start = program.start(running.constants(program, SIZES), np.random.default_rng(1))
    hand = running.OnGpu(program, SIZES, start, folder)

    def frame() -> None:
        for _ in range(SUBSTEPS):
            hand.launch()

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        frame()
        graph = stream.end_capture()
    return frame, lambda: graph.launch(cupy.cuda.Stream.null), cupy.cuda.runtime.deviceSynchronize, hand


def frames(target: str, folder: Path, **options: Any) -> tuple[Callable[[], object], Callable[[], object], Any]:
    """Return a frame of calls, one as a `ti.graph`, and what returns the positions."""
    ti.init(arch=getattr(ti, target), enable_fallback=False, log_level="error", **options)
    program = PROGRAMS["mpm88"]
    module = running.load(program, SIZES, folder)
    running.fill(module, program.start(running.constants(program, SIZES), np.random.default_rng(1)))
    kernel, arguments = running.call(program, module)

    def frame() -> None:
        for _ in range(SUBSTEPS):
            kernel(*arguments)

    builder = ti.graph.GraphBuilder()
    for _ in range(SUBSTEPS):
        builder.dispatch(kernel, *arguments)
    graph = builder.compile()
    return frame, lambda: graph.run({}), vars(module)["position"].to_numpy


def rows(target: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield names of rows, options of `ti.init`, and whether a graph runs."""
    yield f"calls {target}", {}, False
    yield f"ti.graph {target}", {}, True
    if target == "cuda":
        yield "calls cuda, task_graphs=False", {"task_graphs": False}, False


def compare_frames(targets: list[str], rounds: int, folder: Path) -> None:
    """Print the rows of mpm88."""
    stream, captured, wait, hand = by_hand(folder)
    stream()
    expected = hand.results()["position"]
    for target in targets:
        for name, options, is_graph in rows(target):
            calls, graph, read = frames(target, folder, **options)
            frame = graph if is_graph else calls
            frame()
            error = float(np.abs(read() - expected).max())
            times: dict[str, list[float]] = {"row": [], "graph": [], "stream": []}
            for _ in range(rounds):
                times["row"].append(seconds(frame, ti.sync))
                times["graph"].append(seconds(captured, wait))
                times["stream"].append(seconds(stream, wait))
            ratios = [own / other for own, other in zip(times["row"], times["graph"], strict=True)]
            ratio, medians = statistics.median(ratios), {k: statistics.median(t) * 1e3 for k, t in times.items()}
            print(
                f"mpm88 {name:30} {medians['row']:.3f} ms  by hand: graph {medians['graph']:.3f}, stream "
                f"{medians['stream']:.3f}  ratio to the graph {ratio:.2f} [{min(ratios):.2f}, {max(ratios):.2f}]  "
                f"goal {GOAL} {'ok' if ratio <= GOAL else 'MISSED'}  largest difference {error:.1e}",
                flush=True,
            )


def kernel_of(tasks: int, folder: Path) -> Callable[[], object]:
    """Return a kernel of so many tasks on one array."""
    loops = "".join(f"    for i in x:\n        x[i] = x[i] * 0.5 + {k}.0\n" for k in range(tasks))
    path = folder / f"tasks_{tasks}_{time.perf_counter_ns()}.py"
    path.write_text(f"import shadesmith as ti\nx = ti.field(ti.f32, 4096)\n\n\n@ti.kernel\ndef step():\n{loops}")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["step"]  # type: ignore[no-any-return]


def compare_tasks(rounds: int, folder: Path) -> None:
    """Print the time of a launch of kernels of several tasks, with task graphs and without."""
    for tasks in TASKS:
        medians = []
        for task_graphs in (True, False):
            ti.init(arch=ti.cuda, log_level="error", task_graphs=task_graphs)
            step = kernel_of(tasks, folder)

            def frame(step: Callable[[], object] = step) -> None:
                for _ in range(200):
                    step()

            frame()
            medians.append(statistics.median(seconds(frame, ti.sync) for _ in range(rounds)) / 200 * 1e6)
        print(f"{tasks} tasks: {medians[0]:.2f} us a launch, {medians[1]:.2f} without task graphs", flush=True)


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="cuda,vulkan")
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare_frames(arguments.targets.split(","), arguments.rounds, Path(folder))
        compare_tasks(arguments.rounds, Path(folder))


if __name__ == "__main__":
    main()
