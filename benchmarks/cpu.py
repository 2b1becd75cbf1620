"""Compare shadesmith with Taichi on the CPU: time of the first call (cold compile) and of later calls.

    python benchmarks/cpu.py --taichi /path/to/python-with-taichi [--rounds 5] [--case saxpy ...]

Each measurement is a process of its own; the two modules alternate, so that a change of the machine's load hits both.
A row shows the medians, their ratio (shadesmith / Taichi), the smallest and largest ratio of any round, and the goal.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from programs import PROGRAMS, SMALL

COLD_GOALS = {"saxpy": 2.5, "julia": 1.5, "mpm": 0.6, "svd": 1.0}
STEADY_GOALS = {"saxpy": 1.0, "jacobi": 1.0, "nbody": 1.0, "mandelbrot": 1.0, "svd": 1.0}
STEADY_SECONDS = 1.0


def measure(module: str, case: str, steady: bool) -> dict[str, Any]:
    """Run one case in this process; times in milliseconds."""
    ti = importlib.import_module(module)
    ti.init(arch=ti.cpu, offline_cache=False, **({"log_level": ti.WARN} if module == "taichi" else {}))
    program = PROGRAMS[case](ti, **({} if steady else SMALL[case]))
    start = time.perf_counter()
    program.step()
    ti.sync()
    first = time.perf_counter() - start
    check = [float(value) for value in program.result().ravel()[:500]]
    if not steady:
        return {"ms": first * 1e3, "check": check}
    program.step()
    ti.sync()
    times: list[float] = []
    while len(times) < 5 or (sum(times) < STEADY_SECONDS and len(times) < 200):
        start = time.perf_counter()
        program.step()
        ti.sync()
        times.append(time.perf_counter() - start)
    return {"ms": statistics.median(times) * 1e3, "check": check}


def run_worker(python: str, module: str, case: str, steady: bool) -> dict[str, Any]:
    """Measure in a fresh process, caches off."""
    command = [python, __file__, "--worker", module, "--case", case, *(["--steady"] if steady else [])]
    environment = {**os.environ, "TI_OFFLINE_CACHE": "0", "SHADESMITH_CACHE": "0"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{module} {case} failed:\n{result.stderr[-3000:]}")
    return json.loads(result.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def compare(arguments: argparse.Namespace, case: str, steady: bool) -> bool:
    """Print one row; return whether results agree and the goal is met."""
    times: dict[str, list[float]] = {"shadesmith": [], "taichi": []}
    checks: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        for module, python in (("taichi", arguments.taichi), ("shadesmith", sys.executable)):
            result = run_worker(python, module, case, steady)
            times[module].append(result["ms"])
            checks[module] = result["check"]
    ratios = [own / taichi for own, taichi in zip(times["shadesmith"], times["taichi"], strict=True)]
    own_time, taichi_time, ratio = (statistics.median(v) for v in (times["shadesmith"], times["taichi"], ratios))
    goal = (STEADY_GOALS if steady else COLD_GOALS).get(case)
    worst = max((abs(a - b) / (1 + abs(b)) for a, b in zip(*checks.values(), strict=True)), default=0.0)
    verdict = "" if goal is None else f"  goal {goal:.2f} {'ok' if ratio <= goal else 'MISSED'}"
    print(
        f"{'steady' if steady else 'cold':7}{case:11} shadesmith {own_time:9.2f} ms  Taichi {taichi_time:9.2f} ms  "
        f"ratio {ratio:5.2f} ({min(ratios):.2f} to {max(ratios):.2f}){verdict}  difference {worst:.1e}",
        flush=True,
    )
    return goal is None or ratio <= goal


def main() -> int:
    """Print all rows, or be a worker. Returns the number of missed goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taichi", default=sys.executable, help="interpreter that has Taichi 1.7.4")
    parser.add_argument("--case", nargs="*", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("cold", "steady"))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--steady", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(measure(arguments.worker, arguments.case[0], arguments.steady)))
        return 0
    kinds = [steady for steady in (False, True) if arguments.only in (None, "steady" if steady else "cold")]
    met = [compare(arguments, case, steady) for steady in kinds for case in arguments.case]
    return met.count(False)


if __name__ == "__main__":
    sys.exit(main())
