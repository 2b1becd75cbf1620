"""Compare what launches from C cost on Vulkan with Taichi's C-API: plain ones, and a graph of 1,000 tiny kernels.

    python benchmarks/c_launches.py --taichi /path/to/python-with-taichi

Taichi's library and headers are those of its wheel. Each measurement is a process of its own (c_launches.c, by gcc),
the two alternate; per kernel [us], the median of the rounds, with the least and the most.
"""

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROWS = ("400 launches, host", "400 launches, to the end", "graph of 1,000, host", "graph of 1,000, to the end")


def archive(module: str, path: str) -> None:
    """Archive the kernel `step` and the graph `steps` by shadesmith or Taichi."""
    ti = importlib.import_module(module)
    ti.init(arch=ti.vulkan, offline_cache=False)

    @ti.kernel
    def step(a: ti.f32, x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            x[i] = x[i] * 0.5 + a

    number = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "a", ti.f32)
    array = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    builder = ti.graph.GraphBuilder()
    for _ in range(1000):
        builder.dispatch(step, number, array)
    made = ti.aot.Module(ti.vulkan)
    made.add_kernel(step, template_args={"x": ti.ndarray(ti.f32, 32)} if module == "taichi" else None)
    made.add_graph("steps", builder.compile())
    made.archive(path)


def prepare(module: str, python: str, folder: Path) -> list[str]:
    """Compile the program and make its archive; return the command that measures."""
    path, program = folder / f"{module}.tcm", folder / module
    subprocess.run([python, __file__, "--archive", module, str(path)], check=True, stdout=subprocess.DEVNULL)
    find = f"import {module}; print('found', {module}.__path__[0])"
    output = subprocess.run([python, "-c", find], check=True, capture_output=True, text=True).stdout
    home = Path(output.split("found ")[1].strip())
    if module == "taichi":
        api = home / "_lib" / "c_api"
        more = ["-DTAICHI", f"-I{api}/include", f"-L{api}/lib", "-ltaichi_c_api", f"-Wl,-rpath,{api}/lib"]
        os.environ["TI_LIB_DIR"] = str(api / "runtime")
    else:
        api = home / "runtime" / "c_api"
        more = [f"-I{api}", str(api / "shadesmith.c"), "-ldl", "-lm"]
    subprocess.run(["gcc", "-O2", str(HERE / "c_launches.c"), *more, "-o", str(program)], check=True)
    return [str(program), str(path)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taichi", metavar="PYTHON", help="a Python that has taichi")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--archive", nargs=2, metavar=("MODULE", "PATH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.archive:
        archive(*args.archive)
        return
    with tempfile.TemporaryDirectory() as folder:
        pythons = {"shadesmith": sys.executable} | ({"taichi": args.taichi} if args.taichi else {})
        commands = {module: prepare(module, python, Path(folder)) for module, python in pythons.items()}
        found: dict[str, list[list[float]]] = {module: [] for module in commands}
        for _ in range(args.rounds):
            for module, command in commands.items():
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                found[module].append([float(number) for number in output.splitlines()[-1].split()])
    for row, name in enumerate(ROWS):
        for module, rounds in found.items():
            times = [times[row] for times in rounds]
            print(f"{name:28} {module:10} {statistics.median(times):9.2f} us  ({min(times):.2f} to {max(times):.2f})")


if __name__ == "__main__":
    main()
