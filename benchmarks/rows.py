"""All rows of the comparison with other compilers, by one command: whatever of them is installed takes part.

    python benchmarks/rows.py [--arch cuda vulkan] [--taichi PYTHON] [--peers PYTHON] [--case ...] [--rounds 5]

--taichi: an interpreter with Taichi 1.7.4; --peers: one with any of Quadrants, Warp, Triton, and on a CPU Numba; a
missing one is named. On a GPU CuPy launches what a specialist writes in CUDA C. Each module and target has a process of
its own, all wait while one is measured, and they take turns. Results after one step are compared: with NumPy's where a
row has a reference, else with the first one's, which is shadesmith's. A row shows the medians [ms] and the ratio of
shadesmith to the best of the others: of the medians, and in brackets the lowest and highest of a round. Then come
launches, graphs, first calls and, on CUDA, mpm88 against a graph by hand: `launch.py`, `graph.py`, `start.py`,
`chains.py`. Bytecode is made first, as an installed package has it.
"""

from __future__ import annotations

import argparse
import compileall
import gc
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from cpu import TOLERANCE, difference
from more_programs import MORE
from programs import PROGRAMS, Program

ROWS: dict[str, Callable[..., Program]] = {**PROGRAMS, **MORE}
TAICHI_LIKE = ("shadesmith", "taichi", "quadrants")
PACKAGES = {
    "taichi": "taichi", "quadrants": "quadrants", "numba": "numba", "warp": "warp",
    "expert": "cupy", "triton": "triton",
}  # fmt: skip
OF_CPUS, OF_GPUS = ("numba",), ("expert", "triton")
LARGE: dict[str, dict[str, int]] = {
    "fill": {"n": 1 << 27}, "copy": {"n": 1 << 26}, "saxpy": {"n": 1 << 26}, "vec3": {"n": 1 << 24},
    "stencil2d": {"n": 8192}, "stencil3d": {"n": 384}, "reduce_sum": {"n": 1 << 27}, "reduce_max": {"n": 1 << 27},
    "histogram": {"n": 1 << 27}, "julia": {"n": 4096}, "nbody": {"n": 65536}, "svd3": {"n": 1 << 21},
    "sgemm": {"n": 4096}, "spmv": {"n": 128}, "unroll256": {"n": 1 << 22},
    "p2g3d": {"particles": 1 << 21, "n": 128}, "sgemm_tiled": {"n": 4096},
    "sgemm_register": {"n": 4096}, "fma_peak": {"n": 1 << 20, "turns": 4096},
    "life": {"n": 8000}, "blur17": {"n": 8192}, "sparse": {"n": 8192}, "wave": {"n": 512, "steps": 30},
}  # fmt: skip
"""Sizes on a GPU: several times its cache. Rows that are not named have the sizes of the CPU."""
ROUND_SECONDS = 0.05
MOST_CALLS = 200


def reference(case: str, sizes: dict[str, int]) -> list[float] | None:
    """Return what NumPy computes for a row after one step, None for a row without a reference."""
    n, random = sizes.get("n", 0), np.random.default_rng(0)
    every = slice(None, None, max(1, n // 1000))
    match case:
        case "fill":
            found: Any = np.full(n, 1.5, np.float32)[every]
        case "copy":
            found = np.arange(n, dtype=np.float32)[every]
        case "saxpy":
            found = (0.5 * np.arange(n, dtype=np.float32) / n)[every]
        case "vec3":
            found = 0.5 * random.random((n, 3), dtype=np.float32)[every]
        case "stencil2d":
            u = random.random((n, n), dtype=np.float32)
            found = np.zeros((n, n), np.float32)
            found[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
            found = found[::31, ::31]
        case "reduce_sum":
            found = np.array([random.random(n, dtype=np.float32).sum(dtype=np.float64)])
        case "reduce_max":
            found = np.array([random.random(n, dtype=np.float32).max()])
        case "histogram":
            found = np.bincount(random.integers(0, 256, n, dtype=np.int32), minlength=256)
        case "sparse":
            found = np.where(np.add.outer(np.arange(n), np.arange(n)) % 2 == 0, 1.5, 0.0)
            found = found[:: max(1, n // 40), :: max(1, n // 40)]
        case "sgemm" | "sgemm_tiled" | "sgemm_register":
            a, b = random.random((2, n, n), dtype=np.float32)
            some = slice(None, None, max(1, n // 16))
            found = a[some].astype(np.float64) @ b[:, some]
        case _:
            return None
    return [float(value) for value in np.ravel(found)[:2000]]


# --- the process of one module ----------------------------------------------------------------------------------------


def load(module: str, arch: str, sizes: dict[str, dict[str, int]]) -> Any:
    """Import a module and start its target. Raises: ImportError."""
    if module == "expert":
        from gpu_experts import expert_programs

        return expert_programs(sizes)
    if module == "triton":
        from gpu_peers import triton_programs

        return triton_programs(sizes)
    if module in ("numba", "warp"):
        import cpu_peers

        return cpu_peers.warp_programs(sizes, arch) if module == "warp" else cpu_peers.numba_programs()
    ti = importlib.import_module(module)
    options = {"log_level": "error", "enable_fallback": False} if module == "shadesmith" else {"log_level": ti.ERROR}
    ti.init(arch=getattr(ti, arch), offline_cache=False, **options)
    return ti


def make(name: str, module: Any, case: str, sizes: dict[str, int]) -> Program | None:
    """Return a program of a module, None if it has none."""
    if name in TAICHI_LIKE:
        return ROWS[case](module, **sizes)
    return module[case]() if case in module else None


def waiting(name: str, module: Any) -> Callable[[], object]:
    """Return the function that waits for launches."""
    if name == "expert":
        import cupy

        return cupy.cuda.runtime.deviceSynchronize  # type: ignore[no-any-return]
    if name == "triton":
        import torch

        return torch.cuda.synchronize  # type: ignore[no-any-return]
    if name == "warp":
        import warp

        return warp.synchronize  # type: ignore[no-any-return]
    return module.sync if name in TAICHI_LIKE else lambda: None


def free_pool(name: str) -> None:
    """Give memory of earlier rows back."""
    if name == "expert":
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()


def seconds_of(step: Callable[[], object], wait: Callable[[], object]) -> float:
    """Return the time of a step among many that are waited for together [s]."""
    wait()
    start = time.perf_counter()
    step()
    wait()
    calls = max(1, min(MOST_CALLS, int(ROUND_SECONDS / max(time.perf_counter() - start, 1e-6))))
    start = time.perf_counter()
    for _ in range(calls):
        step()
    wait()
    return (time.perf_counter() - start) / calls


def serve(name: str, arch: str, sizes: dict[str, dict[str, int]]) -> None:
    """Read commands from standard input, answer each by a line of JSON."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what modules print is no answer
    module, program = None, None
    for line in sys.stdin:
        command, _, case = line.strip().partition(" ")
        answer: Any = None
        if command == "make":
            program = None
            gc.collect()
            free_pool(name)
            try:
                module = load(name, arch, sizes)  # anew for each row: fields of the last one are freed
                program = make(name, module, case, sizes.get(case, {}))
                if program is not None:
                    program.step()
                    waiting(name, module)()
                    answer = [float(value) for value in np.ravel(program.result())[:2000]]
            except Exception as error:  # a peer that cannot run a row is shown, and the others go on
                answer = f"{type(error).__name__}: {error}".splitlines()[0][:100]
        elif command == "time" and program is not None:
            answer = seconds_of(program.step, waiting(name, module)) * 1e3
        print(json.dumps(answer), file=output, flush=True)


class Worker:
    """The process of one module and target."""

    def __init__(self, python: str, name: str, arch: str, sizes: dict[str, dict[str, int]]) -> None:
        self._command = [python, __file__, "--serve", name, "--arch", arch, "--sizes", json.dumps(sizes)]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, command: str) -> Any:
        """Return the answer to a command, None if the process has ended; the next command then has a new one."""
        if self._process.poll() is not None:
            self._process = self._start()
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            print(command, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return None
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended by itself."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


# --- all of them ------------------------------------------------------------------------------------------------------


def contestants(arguments: argparse.Namespace) -> list[tuple[str, str, str]]:
    """Return (label, module, interpreter) of all that take part; name what is missing."""
    found = [(f"shadesmith {arch}", "shadesmith", sys.executable) for arch in arguments.arch]
    is_cpu = "cpu" in arguments.arch
    for name, package in PACKAGES.items():
        if name in (OF_GPUS if is_cpu else OF_CPUS):
            continue
        python = arguments.taichi if name == "taichi" else sys.executable if name == "expert" else arguments.peers
        if python is None or not has_package(python, package):
            print(f"without {name}: {'no interpreter is named' if python is None else f'{python} has no {package}'}")
            continue
        archs = arguments.arch if name == "taichi" else ["cpu"] if is_cpu else ["cuda"]
        found += [(f"{name} {arch}", name, python) for arch in archs]
    return found


def has_package(python: str, package: str) -> bool:
    """Return whether an interpreter has a package."""
    test = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", test], check=False, capture_output=True).returncode == 0


def compare(case: str, workers: dict[str, Worker], sizes: dict[str, int], rounds: int) -> int:
    """Print one row; return how many targets of shadesmith are slower than the best of the others, or wrong."""
    with ThreadPoolExecutor() as pool:  # making a row's data takes seconds, and nothing is measured meanwhile
        answers = dict(zip(workers, pool.map(lambda worker: worker.ask(f"make {case}"), workers.values()), strict=True))
    failed = {label: answer for label, answer in answers.items() if isinstance(answer, str)}
    failed |= {label: "the process ended" for label, worker in workers.items() if worker.has_ended}
    found = {label: answer for label, answer in answers.items() if isinstance(answer, list)}
    expected = reference(case, sizes)
    if expected is None and found:
        expected = next(iter(found.values()))
    wrong = [label for label, answer in found.items() if difference(answer, expected or []) > TOLERANCE]
    times: dict[str, list[float]] = {label: [] for label in found}
    for _ in range(rounds):
        for label in found:
            times[label].append(workers[label].ask("time"))
    medians = {label: statistics.median(column) for label, column in times.items()}
    print(f"{case:11} " + "  ".join(f"{label} {time:.3f}" for label, time in medians.items()), flush=True)
    others = [label for label in found if not label.startswith("shadesmith") and label not in wrong]
    missed = 0
    for label in (label for label in found if label.startswith("shadesmith")):
        if others:
            best = min(others, key=medians.__getitem__)
            ratios = [own / other for own, other in zip(times[label], times[best], strict=True)]
            ratio = medians[label] / medians[best]
            missed += ratio > 1 or label in wrong
            print(f"{'':11} {label} / {best}: {ratio:.2f} [{min(ratios):.2f}, {max(ratios):.2f}]")
    for label in wrong:
        print(f"{'':11} WRONG RESULT: {label}")
    for label, reason in failed.items():
        print(f"{'':11} not run: {label}: {reason}")
    sys.stdout.flush()
    return missed


def run_others(arguments: argparse.Namespace) -> None:
    """Run the benchmarks of launches, graphs, first calls and chains."""
    folder, taichi = Path(__file__).parent, ["--taichi", arguments.taichi] if arguments.taichi else []
    rounds = ["--rounds", str(arguments.rounds)]
    commands = [["start.py", "--arch", *arguments.arch, *taichi, *rounds]]
    commands += [["graph.py", "--arch", arch, *taichi, *rounds] for arch in arguments.arch]
    if "cuda" in arguments.arch:
        commands += [["launch.py", "--cupy", *rounds], ["chains.py", "--targets", ",".join(arguments.arch)]]
    elif taichi:
        commands.append(["launch.py", *taichi, *rounds])
    for name, *rest in commands:
        print(f"\n{' '.join([name, *rest])}", flush=True)
        subprocess.run([sys.executable, folder / name, *rest], check=False)


def main() -> int:
    """Print all rows, or be the process of a module. Returns the number of rows that a peer wins."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", nargs="+", default=["cpu"], choices=["cpu", "cuda", "vulkan"])
    parser.add_argument("--taichi", help="interpreter that has Taichi 1.7.4")
    parser.add_argument("--peers", help="interpreter that has Quadrants, Numba or Warp")
    parser.add_argument("--case", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="the sizes of the CPU, on a GPU too")
    parser.add_argument("--rows-only", action="store_true", help="without launches, graphs and first calls")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--sizes", default="{}", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.arch[0], json.loads(arguments.sizes))
        return 0
    compileall.compile_dir(Path(__file__).parents[1], quiet=2, maxlevels=20)
    sizes = default_sizes() if "cpu" in arguments.arch or arguments.small else {**default_sizes(), **LARGE}
    who = contestants(arguments)
    missed = 0
    workers = {label: Worker(python, name, label.split()[1], sizes) for label, name, python in who}
    for case in arguments.case:
        missed += compare(case, workers, sizes[case], arguments.rounds)
    for worker in workers.values():
        worker.close()
    print(f"rows that a peer wins, or with a wrong result: {missed}")
    if not arguments.rows_only:
        run_others(arguments)
    return missed


def default_sizes() -> dict[str, dict[str, int]]:
    """Return the sizes that the programs have by themselves."""
    names = {case: make.__code__.co_varnames[1 : make.__code__.co_argcount] for case, make in ROWS.items()}
    return {case: dict(zip(names[case], ROWS[case].__defaults__ or (), strict=True)) for case in ROWS}


if __name__ == "__main__":
    sys.exit(main())
