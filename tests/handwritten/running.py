"""Run both forms of the programs in `table.py`: the Python in the current session, the CUDA C on the host or on a GPU."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from emulated.compiler import compile_source, runtime
from handwritten.table import Arrays, Launch, Program

import shadesmith as ti
from shadesmith.runtime.devices.cuda.nvrtc import compile_cubin
from shadesmith.transpiler.backend.module.interface import BackendModule

HOST_FLAGS = ("-O1",)
"""Of sources that a person wrote: without checks, which cost time."""
INTEGERS = re.compile(r"^constexpr int (.*);$", re.MULTILINE)
NUMBERS = itertools.count()


def cuda_source(program: Program, sizes: Mapping[str, Any]) -> str:
    """Return the hand-written source with other sizes."""
    text = program.cuda.read_text(encoding="utf-8")
    for name, value in sizes.items():
        number = str(value) if isinstance(value, int) else f"{value!r}f"
        text, count = re.subn(rf"^(constexpr .*\b{name} = )[^,;]+", rf"\g<1>{number}", text, flags=re.MULTILINE)
        assert count == 1, f"{program.cuda.name} has {count} constants {name}"
    return text


def constants(program: Program, sizes: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes at the top of the hand-written source."""
    found = {}
    for declaration in INTEGERS.findall(cuda_source(program, sizes)):
        for declarator in declaration.split(", "):
            name, _, number = declarator.partition(" = ")
            found[name] = eval(number, {})  # such as `1 << 16`
    return found


def load(program: Program, sizes: Mapping[str, Any], folder: Path) -> ModuleType:
    """Run the Python source with other sizes in the current session, which gets its fields."""
    text = program.python.read_text(encoding="utf-8")
    for name, value in sizes.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value!r}", text, flags=re.MULTILINE)
    name = f"{program.name}_{next(NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    if program.name == "mpm88":
        module.allocate()
    if program.name == "nbody":
        for field in ("position", "velocity"):
            setattr(module, field, ti.Vector.field(3, ti.f32, constants(program, sizes)["BODIES"]))
    return module


def call(program: Program, module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    """Return the kernel and its arguments."""
    values = (program.scalars[name] if name in program.scalars else vars(module)[name] for name in program.parameters)
    return vars(module)[program.kernel], tuple(values)


def emitted(program: Program, folder: Path, sizes: Mapping[str, Any] | None = None) -> BackendModule:
    """Return the CUDA C that the Python becomes. It needs a session, and no device."""
    kernel, arguments = call(program, load(program, sizes or {}, folder))
    return kernel.inspect(*arguments, arch=ti.cuda).module


def fill(module: ModuleType, start: Arrays) -> None:
    """Give the fields of a program their first values."""
    for name, values in start.items():
        vars(module)[name].from_numpy(values)


def run_python(program: Program, sizes: Mapping[str, Any], start: Arrays, folder: Path) -> Arrays:
    """Run the Python once in the current session; return the results."""
    module = load(program, sizes, folder)
    fill(module, start)
    kernel, arguments = call(program, module)
    kernel(*arguments)
    return {name: vars(module)[name].to_numpy() for name in program.results}


def grid_of(launch: Launch, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return the blocks of a launch along x and y."""
    columns, rows = launch.extent(sizes)
    return -(-columns // launch.block), rows


def run_on_host(program: Program, sizes: Mapping[str, Any], start: Arrays) -> Arrays:
    """Compile the hand-written source as C++ and run it once; return the results."""
    source, launch_kernel = cuda_source(program, sizes), runtime().emulator_launch
    library = ctypes.CDLL(str(compile_source(source, program.cuda.name, HOST_FLAGS)))
    arrays = {name: array.copy() for name, array in start.items()}
    for launch in program.launches:
        values = [
            ctypes.c_void_p(arrays[name].ctypes.data) if name in arrays else ctypes.c_float(program.scalars[name])
            for name in launch.arguments
        ]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        blocks = grid_of(launch, constants(program, sizes))
        problem = launch_kernel(library[f"start_{launch.kernel}"], pointers, *blocks, launch.block, 1)
        assert problem is None, problem
    return {name: arrays[name] for name in program.results}


class OnGpu:
    """The hand-written source on a GPU, by CuPy; `launch` runs all kernels once."""

    def __init__(self, program: Program, sizes: Mapping[str, Any], start: Arrays, folder: Path) -> None:
        import cupy

        gpu = f"sm_{cupy.cuda.Device().compute_capability}"
        path = folder / f"{program.name}_{next(NUMBERS)}.cubin"
        path.write_bytes(compile_cubin(cuda_source(program, sizes), gpu)[0])
        module = cupy.RawModule(path=str(path))
        self._results = program.results
        self._arrays = {name: cupy.asarray(array) for name, array in start.items()}
        self._launches = []
        for launch in program.launches:
            values = tuple(
                self._arrays[name] if name in self._arrays else np.float32(program.scalars[name])
                for name in launch.arguments
            )
            blocks = grid_of(launch, constants(program, sizes))
            self._launches.append((module.get_function(launch.kernel), blocks, (launch.block,), values))

    def launch(self) -> None:
        for kernel, blocks, threads, values in self._launches:
            kernel(blocks, threads, values)

    def results(self) -> Arrays:
        return {name: self._arrays[name].get() for name in self._results}


def difference(program: Program, result: np.ndarray, expected: np.ndarray) -> str:
    """Return how much two results differ beyond what the program allows, "" if they do not."""
    largest = float(np.abs(expected).max())
    error = np.abs(result.astype(np.float64) - expected)
    wrong = ~(error <= program.tolerance * largest)  # NaN is wrong
    if np.isfinite(expected).all() and wrong.mean() <= program.outliers:
        return ""
    return f"{wrong.mean():.2%} differ, by {np.nanmax(error):.3g} where the largest is {largest:.3g}"
