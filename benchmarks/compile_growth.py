"""Measure how compile time grows with the size of a kernel: the kernels of `growing_kernels.py`, by stage.

    python benchmarks/compile_growth.py [--sizes 500,2000,8000] [--families elements,branches] [--arch c,vulkan]
        [--no-compilers]

Times are processor time [s], since other programs may run: of the frontend, the passes, printing, and the compiler of
the source (gcc or glslangValidator). The last column is the time per statement of our own stages at the largest size,
relative to that at the smallest: 1 is linear growth. PYTHONPATH chooses the tree that is measured.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import growing_kernels

SIZES = {"fields": (300, 1000), "ndarrays": (300, 1000), "parallel_loops": (50, 200), "matrices": (10, 40)}
"""Sizes of the families whose size is no number of statements."""
DEEPEST = {"chain": 2000, "nested_choices": 2000, "sum_of_terms": 2000}
"""Sizes up to which Python itself compiles a program, whose expressions or branches nest."""
STAGES = ("frontend", "passes", "emit")
SECONDS = 300


def measure(family: str, size: int, target: str, has_compiler: bool) -> dict[str, float]:
    """Compile one kernel in this process; return the processor time of each stage [s]."""
    import shadesmith as ti
    from shadesmith.runtime.cache import compiler
    from shadesmith.runtime.devices.capabilities import portable
    from shadesmith.transpiler.options import CompileOptions

    ti.init(arch=ti.python, log_level=ti.ERROR, offline_cache=False)
    vars(compiler)["perf_counter"] = time.process_time
    with tempfile.TemporaryDirectory() as folder:
        for count in (20, size):  # the first one loads the modules
            module = growing_kernels.load(growing_kernels.FAMILIES[family](count), Path(folder))
            definition: Any = module.kernel.definition
            request = compiler.specialize(definition, module.arguments, CompileOptions(), portable(target))
            compilation = compiler.compile_source(request.specialization)
    times = {stage: compilation.times[stage] for stage in STAGES}
    if has_compiler:
        before = os.times()
        compile_files(target, compilation.module.files[:1])
        after = os.times()
        times["compiler"] = after.children_user + after.children_system - before.children_user - before.children_system
    return times


def compile_files(target: str, files: Any) -> None:
    """Run the compiler of a target's sources. Of several files of GLSL the first one is taken."""
    if target == "c":
        from shadesmith.runtime.devices.host.compiler import find_compiler

        for file in files:
            find_compiler().compile(file, fast_math=True, openmp=True)
        return
    from shadesmith.runtime.devices.vulkan.glslang import Glslang

    for file in files:
        Glslang(time_limit_seconds=SECONDS).compile(file, "kernel")


def measured(family: str, size: int, target: str, has_compiler: bool) -> dict[str, float] | None:
    """Measure in a process of its own; return None and print why if it fails."""
    command = [sys.executable, __file__, "--child", family, str(size), target, "compiler" if has_compiler else ""]
    environment = {**os.environ, "SHADESMITH_CC_TIMEOUT": str(SECONDS)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        print(f"{family:26} {target:7} {size:6}  not within {SECONDS} s")
        return None
    if done.returncode:
        print(f"{family:26} {target:7} {size:6}  {(done.stderr.strip().splitlines() or ['failed'])[-1][:80]}")
        return None
    return {name: float(value) for name, value in (word.split("=") for word in done.stdout.split())}


def rows(family: str, sizes: list[int], target: str, has_compiler: bool) -> None:
    """Print the rows of one family on one target."""
    first: float | None = None
    for size in sizes:
        times = measured(family, size, target, has_compiler)
        if times is None:
            continue
        own = sum(times[stage] for stage in STAGES)
        per_statement = own / size
        first = per_statement if first is None else first
        columns = "".join(f"{times.get(name, float('nan')):9.2f}" for name in (*STAGES, "compiler"))
        ratio = per_statement / first
        print(f"{family:26} {target:7} {size:6}{columns}{own * 1e6 / size:9.0f}{ratio:7.2f}", flush=True)


def main() -> int:
    """Print the table."""
    if sys.argv[1:2] == ["--child"]:
        family, size, target, has_compiler = sys.argv[2:]
        times = measure(family, int(size), target, bool(has_compiler))
        print(*(f"{name}={seconds}" for name, seconds in times.items()))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="500,2000,8000")
    parser.add_argument("--families", default=",".join(growing_kernels.FAMILIES))
    parser.add_argument("--arch", default="c,vulkan")
    parser.add_argument("--no-compilers", action="store_true")
    options = parser.parse_args()
    names = (*STAGES, "compiler", "us/stmt", "ratio")
    print(f"{'kernel':26} {'target':7} {'size':>6}" + "".join(f"{name:>9}" for name in names[:-1]) + f"{'ratio':>7}")
    for family in options.families.split(","):
        sizes = [int(size) for size in options.sizes.split(",")]
        sizes = [size for size in SIZES.get(family, sizes) if size <= DEEPEST.get(family, size)]
        for target in options.arch.split(","):
            rows(family, list(sizes), target, not options.no_compilers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
