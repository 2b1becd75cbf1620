"""Ten emitted kernels against the same kernels written by hand in CUDA C (tests/handwritten).

    python benchmarks/by_hand.py [--gpu sm_90] [PROGRAM ...]      compiled only; needs NVRTC and nvdisasm, no GPU
    python benchmarks/by_hand.py --run [--arch cuda,vulkan]       run times too, on a GPU with CuPy, about a minute

Without a GPU, by hand / emitted: lines of the source, NVRTC's time [ms], instructions in the machine code, most
registers of a kernel, local memory [bytes a thread]; and the time from Python to source [ms]. Times are processor time,
the shortest of a few. Run times [us] are those of all kernels of a step, the median of interleaved rounds, with the
ratio as median [lowest, highest]. PYTHONPATH chooses the tree that is measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import shadesmith as ti

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from handwritten import running
from handwritten.counting import counted_lines
from handwritten.machine_code import machine_code
from handwritten.table import PROGRAMS, Program

from shadesmith.runtime.cache import compiler
from shadesmith.runtime.devices.capabilities import portable
from shadesmith.runtime.devices.cuda.nvrtc import compile_cubin
from shadesmith.runtime.workbench.inspect.cuda_listings import find_nvdisasm
from shadesmith.transpiler.options import CompileOptions

REPEATS = 3
ROUNDS = 9
ROUND_SECONDS = 0.03
LOOSER = 10
"""Factor of the tolerances at large sizes."""


def shortest(function: Callable[[], Any]) -> float:
    """Return the processor time of a call [ms], the shortest of a few."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times) * 1e3


def emit_time(program: Program, folder: Path) -> float:
    """Return the time from Python to source [ms]."""
    kernel, arguments = running.call(program, running.load(program, {}, folder))
    definition: Any = kernel.definition

    def emit() -> None:
        request = compiler.specialize(definition, arguments, CompileOptions(), portable("cuda"))
        compiler.compile_source(request.specialization)

    return shortest(emit)


def compiled_row(program: Program, gpu: str, folder: Path) -> str:
    """Return what the compiler makes of both sources."""
    sources = program.cuda.read_text(encoding="utf-8"), running.emitted(program, folder).source()
    lines = [counted_lines(source) for source in sources]
    times = [shortest(lambda source=source: compile_cubin(source, gpu)) for source in sources]
    codes = zip(*(machine_code(source, gpu) for source in sources))
    columns = [f"{lines[0]:>4} /{lines[1]:>4}{lines[1] / lines[0]:6.2f}", f"{times[0]:6.0f} /{times[1]:4.0f}"]
    columns += [f"{by_hand:>6} /{emitted:>5}" for by_hand, emitted in codes]
    return f"{program.name:9}" + "  ".join(columns) + f"{emit_time(program, folder):10.0f}"


def launches_for(launch: Callable[[], Any], wait: Callable[[], Any]) -> int:
    """Return how many launches take as long as a round, after one that warms up."""
    launch()
    wait()
    start = time.perf_counter()
    launch()
    wait()
    return max(1, min(1000, int(ROUND_SECONDS / (time.perf_counter() - start))))


def round_time(launch: Callable[[], Any], wait: Callable[[], Any], launches: int) -> float:
    """Return the time of a launch among several [us]."""
    start = time.perf_counter()
    for _ in range(launches):
        launch()
    wait()
    return (time.perf_counter() - start) / launches * 1e6


def run_row(program: Program, arch: str, folder: Path) -> str:
    """Return the run times of both sources on a GPU; a result that differs is named."""
    import cupy

    ti.init(arch=getattr(ti, arch), enable_fallback=False, offline_cache=False, log_level=ti.ERROR)
    start = program.start(running.constants(program, program.large), np.random.default_rng(1))
    by_hand = running.OnGpu(program, program.large, start, folder)
    module = running.load(program, program.large, folder)
    running.fill(module, start)
    kernel, arguments = running.call(program, module)
    kernel(*arguments)
    by_hand.launch()
    expected = by_hand.results()
    loose = replace(program, tolerance=LOOSER * program.tolerance)
    remarks = [
        f"{name}: {found}"
        for name in program.results
        if (found := running.difference(loose, vars(module)[name].to_numpy(), expected[name]))
    ]
    pairs = (
        (by_hand.launch, cupy.cuda.Stream.null.synchronize),
        (lambda: kernel(*arguments), ti.sync),
    )
    counts = [launches_for(*pair) for pair in pairs]
    rounds = [[round_time(*pair, count) for pair, count in zip(pairs, counts)] for _ in range(ROUNDS)]
    ratios = [emitted / hand for hand, emitted in rounds]
    times = [median(column) for column in zip(*rounds)]
    return (
        f"{program.name:9}{arch:8}{times[0]:10.1f}{times[1]:10.1f}{median(ratios):8.3f}"
        f" [{min(ratios):.3f}, {max(ratios):.3f}]  {'; '.join(remarks)}"
    )


def free_memory() -> None:
    """End the session of a program, and give back what its arrays had on the GPU."""
    import cupy

    ti.reset()
    cupy.get_default_memory_pool().free_all_blocks()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--gpu", default="sm_90")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--arch", default="cuda,vulkan")
    options = parser.parse_args()
    chosen = [PROGRAMS[name] for name in options.programs]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if find_nvdisasm() is not None:
            ti.init(arch=ti.python, log_level=ti.ERROR, offline_cache=False)
            titles = f"{'lines':>10}{'':6}  {'NVRTC ms':>12}  {'instructions':>13}  {'registers':>13}  {'local':>13}"
            print(f"{'':9}{titles}{'emit ms':>10}   (by hand / emitted)")
            for program in chosen:
                print(compiled_row(program, options.gpu, folder), flush=True)
        for arch in options.arch.split(",") if options.run else ():
            print(f"{'':17}{'by hand':>10}{'emitted':>10}{'ratio':>8}  of run times [us]")
            for program in chosen:
                print(run_row(program, arch, folder), flush=True)
                free_memory()


if __name__ == "__main__":
    main()
