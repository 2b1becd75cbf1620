"""Time from the start of a program to its first result: import, `ti.init`, first call without and with the cache.

    python benchmarks/start.py [--arch cpu vulkan cuda] [--taichi PYTHON] [--case fill mpm99 p2g3d] [--rounds 5]

Each measurement is a process of its own; modules take turns. Bytecode is made first, as an installed package has it,
and one start is not counted: the first one ever caches the code of the templates. Fields: what a program does before
its first call, which may wait for the GPU; the import of the benchmark itself is not counted.
Cold: an empty cache. Warm: the cache of the run before. A row shows medians [ms], and with Taichi the ratio of the
medians. `--imports` lists what the cold first call imported instead, by time.
"""

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
STAGES = ("import", "ti.init", "fields", "first call", "all", "processor")

WORKER = """
import json, sys, time
sys.path.insert(0, {benchmarks!r})
begin, used = time.perf_counter(), time.process_time()
import {module} as ti
imported = time.perf_counter()
ti.init(arch=ti.{arch}, **{options})
opened = time.perf_counter()
import numpy
from programs import PROGRAMS, SMALL
made = time.perf_counter()
program = PROGRAMS[{case!r}](ti, **SMALL[{case!r}])
start, processor = time.perf_counter(), time.process_time()
program.step()
ti.sync()
end = time.perf_counter()
stages = imported - begin, opened - imported, start - made, end - start
spans = *stages, sum(stages), time.process_time() - processor
print(json.dumps([1e3 * span for span in spans]))
"""


def run(python: str, module: str, arch: str, case: str, cache: str, flags: tuple[str, ...] = ()) -> Any:
    """Return the times of the stages in a new process [ms], and what it wrote to standard error."""
    options: dict[str, Any] = {"offline_cache": True, "offline_cache_file_path": cache, "log_level": "error"}
    benchmarks = str(Path(__file__).parent)
    source = WORKER.format(benchmarks=benchmarks, module=module, arch=arch, case=case, options=options)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.NamedTemporaryFile("w", suffix=".py", dir=cache, delete=False) as file:
        file.write(source)
    result = subprocess.run(
        [python, *flags, file.name], capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{module} failed:\n{result.stderr[-3000:]}")
    return json.loads(result.stdout.splitlines()[-1]), result.stderr


def measure(pythons: dict[str, str], arch: str, case: str, rounds: int) -> dict[str, list[list[float]]]:
    """Return the stages of each module, cold and warm, a list for each round."""
    found: dict[str, list[list[float]]] = {}
    for _ in range(rounds):
        for module, python in pythons.items():
            with tempfile.TemporaryDirectory() as cache:
                for state in ("cold", "warm"):
                    found.setdefault(f"{module} {state}", []).append(run(python, module, arch, case, cache)[0])
    return found


def show_imports(arch: str, case: str) -> None:
    """Print the modules that a cold first call imports and that take the most time themselves."""
    with tempfile.TemporaryDirectory() as cache:
        text = run(sys.executable, "shadesmith", arch, case, cache, ("-X", "importtime"))[1]
    rows = [line[len("import time:") :].split("|") for line in text.splitlines() if "|" in line and "self" not in line]
    rows.sort(key=lambda row: -int(row[0]))
    print(f"{len(rows)} modules, {sum(int(row[0]) for row in rows) / 1e3:.1f} ms")
    for own, _, name in rows[:40]:
        print(f"{int(own) / 1e3:8.2f} ms {name.strip()}")


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", nargs="+", default=["cpu", "vulkan"])
    parser.add_argument("--taichi", help="interpreter that has Taichi 1.7.4")
    parser.add_argument("--case", nargs="+", default=["fill", "mpm99", "p2g3d"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--imports", action="store_true")
    arguments = parser.parse_args()
    compileall.compile_dir(PACKAGE, quiet=2, maxlevels=20)
    pythons = {"shadesmith": sys.executable, **({"taichi": arguments.taichi} if arguments.taichi else {})}
    for arch in arguments.arch:
        with tempfile.TemporaryDirectory() as cache:
            run(sys.executable, "shadesmith", arch, "fill", cache)
        for case in arguments.case:
            if arguments.imports:
                show_imports(arch, case)
                continue
            found = measure(pythons, arch, case, arguments.rounds)
            for label, rounds in found.items():
                medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
                stages = "  ".join(f"{stage} {time:7.1f}" for stage, time in zip(STAGES, medians, strict=True))
                spread = [row[3] for row in rounds]
                print(
                    f"{arch:6} {case:8} {label:16} {stages}  first call {min(spread):.1f} to {max(spread):.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
