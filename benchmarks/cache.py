"""Compare a warm start with Taichi's: a program of 50 kernels, in a second process that finds them in the cache.

    python benchmarks/cache.py --taichi /path/to/python-with-taichi [--arch cpu] [--rounds 7] [--kernels 50]

Time runs from the start of the process (before Python's own start) to the first result of the last kernel. Both modules
have a cache of their own, filled by a run that is not counted; then the modules alternate. Ours says too what the cache
did: frontend runs and compilers must be 0, and the share of time spent on keys is shown.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GOAL = 0.5
GOAL_KEYS = 0.05
KERNELS_A_FILE = 10
STARTED = "SHADESMITH_BENCHMARK_STARTED"

HEAD = """
n = {n}
x = ti.field(ti.f32, shape=n)
y = ti.Vector.field(3, ti.f32, shape=n)
scale = 1.5


@ti.func
def weight(r, h: ti.f32):
    q = r / h
    return ti.select(q < 1.0, (1.0 - q) ** 3, 0.0)
"""

KERNEL = """

@ti.func
def near_{k}(i):
    total = 0.0
    for j in range(1, {reach}):
        total += weight(ti.abs(x[i] - x[(i + j) % n]), {k}.5)
    return total * scale


@ti.kernel
def step_{k}(dt: ti.f32) -> ti.f32:
    moved = 0.0
    for i in range(n):
        force = near_{k}(i)
        y[i] = ti.Vector([force, x[i], dt * {k}])
        v = y[i].normalized() * dt
        if force > 0.25:
            x[i] += v.x
            moved += ti.abs(v.x)
        else:
            x[i] -= v.y * scale
    return moved
"""


def write_program(folder: Path, kernels: int) -> None:
    """Write the program: files of ten kernels each, as programs have them."""
    for part in range(0, kernels, KERNELS_A_FILE):
        numbers = range(part, min(kernels, part + KERNELS_A_FILE))
        body = "".join(KERNEL.format(k=k, reach=3 + k % 5) for k in numbers)
        names = ", ".join(f"step_{k}" for k in numbers)
        text = f"import {{module}} as ti\n{HEAD.format(n=64)}{body}\nKERNELS = [{names}]\n"
        for module in ("shadesmith", "taichi"):
            (folder / f"{module}_{part}.py").write_text(text.replace("{module}", module))


def run_program(module: str, arch: str, folder: str, kernels: int, cache: str) -> None:
    """Be one process: start, run every kernel once, say how long it took since the process was started."""
    sys.path.insert(0, folder)
    ti: Any = importlib.import_module(module)
    imported = time.time()
    ti.init(arch=getattr(ti, arch), offline_cache=True, offline_cache_file_path=cache, log_level=ti.ERROR)
    opened = time.time()
    result = 0.0
    for part in range(0, kernels, KERNELS_A_FILE):
        for kernel in importlib.import_module(f"{module}_{part}").KERNELS:
            result += kernel(0.01)
    end, start = time.time(), float(os.environ[STARTED])
    found = {"seconds": end - start, "import": imported - start, "init": opened - imported, "result": result}
    if module == "shadesmith":
        did = ti.cache.stats()
        found |= {"frontend": did.frontend_runs, "compilers": sum(did.compiler_runs.values())}
        found |= {
            "keys": did.key_seconds,
            "disk": did.disk_seconds,
            "pipeline": f"{module}.transpiler.pipeline" in sys.modules,
        }
    print(json.dumps(found))


def measure(python: str, module: str, arguments: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Start a process and return what it measured."""
    cache = os.path.join(folder, f"cache-{module}")
    command = [python, __file__, "--run", module, "--arch", arguments.arch, "--folder", folder, "--cache", cache]
    command += ["--kernels", str(arguments.kernels)]
    environment = {**os.environ, STARTED: repr(time.time())}
    environment.pop("SHADESMITH_OFFLINE_CACHE", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr or f"{module} ended with {done.returncode}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def compare(arguments: argparse.Namespace) -> None:
    """Measure both alternately and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        write_program(Path(folder), arguments.kernels)
        pythons = {"shadesmith": sys.executable} | ({"taichi": arguments.taichi} if arguments.taichi else {})
        cold = {module: measure(python, module, arguments, folder)["seconds"] for module, python in pythons.items()}
        rounds = [
            {module: measure(python, module, arguments, folder) for module, python in pythons.items()}
            for _ in range(arguments.rounds)
        ]
    print(f"{arguments.kernels} kernels, arch={arguments.arch}, {arguments.rounds} alternating rounds; seconds")
    for module in pythons:
        seconds = sorted(row[module]["seconds"] for row in rounds)
        parts = {name: statistics.median(row[module][name] for row in rounds) for name in ("import", "init")}
        shown = f"median {statistics.median(seconds):.3f} ({seconds[0]:.3f} to {seconds[-1]:.3f})"
        print(
            f"{module:<11} cold {cold[module]:.3f}  warm {shown}"
            f"  import {parts['import']:.3f}  init {parts['init']:.3f}"
        )
    results = [row["shadesmith"] for row in rounds]
    share = statistics.median(row["keys"] / row["seconds"] for row in results)
    print(f"frontend runs {max(r['frontend'] for r in results)}, compilers {max(r['compilers'] for r in results)}, "
          f"compiler imported {any(r['pipeline'] for r in results)}")  # fmt: skip
    print(f"keys: {100 * share:.1f} % of the time (goal {100 * GOAL_KEYS:.0f} %)")
    if "taichi" in pythons:
        ratios = sorted(row["shadesmith"]["seconds"] / row["taichi"]["seconds"] for row in rounds)
        shown = f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        print(f"ratio to Taichi: median {shown}, goal {GOAL}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--taichi", help="a Python that has Taichi")
    parser.add_argument("--arch", default="cpu", choices=("cpu", "cuda", "vulkan"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kernels", type=int, default=50)
    parser.add_argument("--run", choices=("shadesmith", "taichi"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run_program(arguments.run, arguments.arch, arguments.folder, arguments.kernels, arguments.cache)
    else:
        compare(arguments)
