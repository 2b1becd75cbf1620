"""Compare shadesmith on the CPU with Taichi, Quadrants, Numba and Warp, program by program.

    python benchmarks/cpu.py --taichi PYTHON [--peers PYTHON] [--case stencil2d ...] [--rounds 9] [--threads 1]
    python benchmarks/cpu.py --taichi PYTHON --busy --threads 1         processor time, for a machine that others use
    python benchmarks/cpu.py --taichi PYTHON --cold [--rounds 5]        time of the first call, each in a new process

--taichi: an interpreter that has Taichi 1.7.4; --peers: one that has any of Quadrants, Numba and Warp. Each module has
a process of its own, and all wait while one is measured. The modules take turns in each round, so that a change of the
machine's load hits all of them. A row shows the least time of each module [ms], and shadesmith's time in relation to
that of the fastest peer: of the least times; in brackets of the medians of a round the median, lowest and highest. All
results are compared with each other.
"""

import argparse
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from more_programs import MORE
from programs import PROGRAMS, SMALL, Program

ROWS = {**PROGRAMS, **MORE}
PEERS = ("taichi", "quadrants", "numba", "warp")
TAICHI_LIKE = ("shadesmith", "taichi", "quadrants")
ROUND_SECONDS = 0.15
LEAST_CALLS, MOST_CALLS = 3, 200
TOLERANCE = 2e-3
"""Of results: sums in another order, fast math."""


# --- one module -------------------------------------------------------------------------------------------------------


def load_module(name: str, threads: int) -> Any:
    """Import a module; for those like Taichi, start its CPU target with so many threads, 0 for as many as it takes."""
    if name in ("numba", "warp"):
        import cpu_peers

        return getattr(cpu_peers, f"{name}_programs")()
    ti = importlib.import_module(name)
    options: dict[str, Any] = {} if name == "shadesmith" else {"log_level": ti.WARN}
    if threads:
        options["cpu_max_num_threads"] = threads
    ti.init(arch=ti.cpu, offline_cache=False, **options)
    return ti


def make_program(name: str, module: Any, case: str, sizes: dict[str, int]) -> Program | None:
    """Return a program of a module, None if it has none."""
    if name in TAICHI_LIKE:
        return ROWS[case](module, **sizes)
    return module[case]() if case in module else None


def wait_of(name: str, module: Any) -> Any:
    """Return the function that waits for launches."""
    return module.sync if name in TAICHI_LIKE else lambda: None


def round_times(program: Program, wait: Any, clock: Callable[[], float]) -> list[float]:
    """Return the times of the calls in one round [s]."""
    times: list[float] = []
    while len(times) < LEAST_CALLS or (sum(times) < ROUND_SECONDS and len(times) < MOST_CALLS):
        start = clock()
        program.step()
        wait()
        times.append(clock() - start)
    return times


def serve(name: str, threads: int, busy: bool) -> None:
    """Be the process of one module: read commands from standard input, answer each by a line of JSON."""
    clock = time.process_time if busy else time.perf_counter
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what modules print is no answer
    module, program = None, None
    for line in sys.stdin:
        command, _, case = line.strip().partition(" ")
        answer: Any = None
        if command == "make":
            program = None
            try:
                module = load_module(name, threads)  # anew for each program: fields of the last one are freed
                program = make_program(name, module, case, {})
            except ImportError:
                module = None
            if program is not None:
                program.step()
                wait_of(name, module)()
                answer = [float(value) for value in program.result().ravel()[:2000]]
        elif command == "time" and program is not None:
            times = round_times(program, wait_of(name, module), clock)
            answer = [min(times) * 1e3, statistics.median(times) * 1e3]
        print(json.dumps(answer), file=output, flush=True)


def first_call(name: str, case: str) -> None:
    """Print the time of the first call of a small program."""
    module = load_module(name, 0)
    program = make_program(name, module, case, SMALL[case])
    assert program is not None
    start = time.perf_counter()
    program.step()
    wait_of(name, module)()
    print(json.dumps((time.perf_counter() - start) * 1e3))


# --- all of them ------------------------------------------------------------------------------------------------------


class Worker:
    """The process of one module."""

    def __init__(self, name: str, python: str, arguments: argparse.Namespace) -> None:
        command = [python, __file__, "--serve", name, "--threads", str(arguments.threads)]
        command += ["--busy"] if arguments.busy else []
        environment = {**os.environ, "TI_OFFLINE_CACHE": "0", "SHADESMITH_CACHE": "0"}
        if arguments.threads:
            environment["NUMBA_NUM_THREADS"] = str(arguments.threads)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def ask(self, command: str) -> Any:
        """Return the answer to a command, None if the process has ended."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            print(command, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None


def difference(found: list[float], expected: list[float]) -> float:
    """Return the greatest difference of two results, in relation to the greatest number."""
    if len(found) != len(expected):
        return math.inf
    scale = max(max(map(abs, expected), default=0.0), 1e-30)
    differences = [0.0 if a == b else abs(a - b) / scale for a, b in zip(found, expected, strict=True)]
    return max((math.inf if math.isnan(one) else one for one in differences), default=0.0)


def compare(case: str, workers: dict[str, Worker], rounds: int) -> float | None:
    """Print one row; return the ratio to the fastest peer, None without one."""
    checks = {name: worker.ask(f"make {case}") for name, worker in workers.items()}
    names = [name for name, check in checks.items() if check is not None]
    wrong = [n for n in names if difference(checks[n], checks["shadesmith"]) > TOLERANCE]
    least = dict.fromkeys(names, math.inf)
    medians: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            low, middle = workers[name].ask("time")
            least[name] = min(least[name], low)
            medians[name].append(middle)
    texts = [f"{name} {least[name]:.3f}" for name in names]
    text = f"{case:11} {'  '.join(texts)}"
    peers = [name for name in names if name != "shadesmith"]
    ratio = None
    if peers:
        best = min(peers, key=least.__getitem__)
        ratio = least["shadesmith"] / least[best]
        ratios = [own / other for own, other in zip(medians["shadesmith"], medians[best], strict=True)]
        spread = f"[{statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}]"
        text += f"   / {best} {ratio:.2f} {spread}"
    print(text + (f"   DIFFERENT RESULTS: {', '.join(wrong)}" if wrong else ""), flush=True)
    return ratio


def compare_all(arguments: argparse.Namespace, pythons: dict[str, str]) -> int:
    """Print all rows; return how many programs are slower than the fastest peer."""
    ratios = []
    for case in arguments.case:
        workers = {name: Worker(name, python, arguments) for name, python in pythons.items()}
        ratios.append(compare(case, workers, arguments.rounds))
        for worker in workers.values():
            worker.process.kill()
            worker.process.wait()
    known = [ratio for ratio in ratios if ratio is not None]
    if known:
        mean = math.exp(statistics.fmean(map(math.log, known)))
        print(f"geometric mean of {len(known)} programs {mean:.2f}, greatest {max(known):.2f}")
    return sum(ratio > 1.0 for ratio in known)


def compare_first_calls(arguments: argparse.Namespace, pythons: dict[str, str]) -> None:
    """Print the time of the first call, cold, beside those of Taichi and Quadrants."""
    environment = {**os.environ, "TI_OFFLINE_CACHE": "0", "SHADESMITH_CACHE": "0"}
    for case in arguments.case:
        times: dict[str, list[float]] = {}
        for _ in range(arguments.rounds):
            for name in (name for name in TAICHI_LIKE if name in pythons):
                command = [pythons[name], __file__, "--first", name, "--case", case]
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=300, env=environment, check=False
                )
                if done.returncode == 0:
                    times.setdefault(name, []).append(json.loads(done.stdout.splitlines()[-1]))
        print(f"{case:11} " + "  ".join(f"{n} {statistics.median(t):.0f} ({min(t):.0f})" for n, t in times.items()))


def main() -> int:
    """Print all rows, or be the process of a module. Returns the number of programs slower than a peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taichi", help="interpreter that has Taichi 1.7.4")
    parser.add_argument("--peers", help="interpreter that has Quadrants, Numba or Warp")
    parser.add_argument("--case", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", choices=PEERS, help="these peers")
    parser.add_argument("--threads", type=int, default=0, help="of each module but Warp, which has one")
    parser.add_argument("--busy", action="store_true", help="processor time in place of wall time")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--first", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.threads, arguments.busy)
        return 0
    if arguments.first:
        first_call(arguments.first, arguments.case[0])
        return 0
    pythons = {"shadesmith": sys.executable}
    for name in PEERS if arguments.only is None else arguments.only:
        python = arguments.taichi if name == "taichi" else arguments.peers
        if python:
            pythons[name] = python
    if arguments.cold:
        compare_first_calls(arguments, pythons)
        return 0
    return compare_all(arguments, pythons)


if __name__ == "__main__":
    sys.exit(main())
