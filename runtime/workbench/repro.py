"""`kernel.export_repro(*args, folder=...)`: one call of a kernel as a folder that runs without shadesmith.

In: the `Variants` of a call. Out: the emitted source, all memory that the call accesses as .npy files, its contents
after a run of the generated source, and `run.py`, which compiles the source, runs it, and compares. It needs NumPy and
a C compiler (C), CuPy (CUDA), or the package `vulkan` and glslangValidator (Vulkan): for a bug report to the maker of a
driver or compiler, or to work on a kernel without its program.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...transpiler.backend.assemble.render import render
from ...transpiler.backend.module.one_file import task_sources
from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import NUMPY
from ..arrays.memory import Array
from ..devices.target_tools import part_of, tools_of
from .measure.compare import checked_module
from .measure.differences import SPREADS, Tolerance, different, spread_of
from .measure.outputs import Outputs
from .measure.replicas import Launchable, Outcome, Recording, Region, Replicas, counts_of, record
from .measure.values import RESULT
from .reproducer_tools import ReproducerTools

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule, ResultField, TaskSource
    from .edits.variants import Variants

MAX_BYTES = 1 << 31
"""Memory beyond which no reproducer is written."""
UNKNOWN_GROUPS = 1024
"""Groups of a loop whose trip count only the device knows."""


@dataclass(frozen=True, slots=True)
class _View:
    """Numbers of one type in a region. begin: of the first; extents, strides: [bytes] in memory; shape: in Python."""

    name: str
    region: Region
    dtype: np.dtype[Any]
    begin: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    shape: tuple[int, ...]

    def read(self, contents: Array) -> Array:
        if 0 in self.extents:
            return np.empty(self.shape, self.dtype)
        view: Array = np.ndarray(self.extents, self.dtype, contents.data, self.begin, self.strides)
        return np.ascontiguousarray(view).reshape(self.shape)


def export_repro(variants: Variants, folder: str | Path, variant: str | None = None) -> Path:
    """Write a call of a kernel into a folder, new or empty; return it.

    variant: whose source; None: of the one that a launch runs. The generated source always makes the expected outputs.
    Raises: TaichiRuntimeError for the interpreter, sparse trees, more than 2 GiB of memory, and a folder in use.
    """
    module = checked_module(variants, variants.chosen.variant if variant is None else variant)
    module = task_sources(module, numbered=True)
    target = Path(folder).expanduser()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise TaichiRuntimeError(f"{target} is not empty", "name a new folder for the reproducer")
    recording, outputs = _recorded(variants)
    names = _file_names(recording.regions)
    replicas = Replicas(recording)
    runs = [replicas.run(variants.generated, recording.counts) for _ in range(2)]
    for name in ("inputs", "expected"):
        (target / name).mkdir(parents=True, exist_ok=True)
    views = list(_views(outputs))
    for region, name in names.items():
        np.save(target / "inputs" / f"{name}.npy", _shaped(region, views))
    tools = part_of(module.target, ReproducerTools)
    data: dict[str, Any] = {
        "kernel": module.kernel,
        "target": module.target,
        "files": [file.name for file in module.files],
        "flags": tools.flags(module),
        "tasks": [_task(module, task, count) for task, count in zip(module.tasks, counts_of(variants, module))],
        "arguments": _without_addresses(recording).hex(),
        "pointers": [(p.offset_bytes, names[p.region], p.address - p.region.begin) for p in recording.pointers],
        "memory": list(names.values()),
        "outputs": [_expect(target, view, names, runs) for view in views if _is_stable(view, runs)],
        **tools.facts(),
    }
    (target / "launch.json").write_text(_as_json(data), encoding="utf-8")
    for file in module.files:
        (target / file.name).write_text(file.text, encoding="utf-8")
    (target / "run.py").write_text(_runner(module), encoding="utf-8")
    return target


def _without_addresses(recording: Recording) -> bytes:
    """Return the packed arguments with 0 for what `run.py` fills in."""
    packed = bytearray(recording.packed)
    for pointer in recording.pointers:
        packed[pointer.offset_bytes : pointer.offset_bytes + 8] = bytes(8)
    return bytes(packed)


def _as_json(data: dict[str, Any]) -> str:
    """Return data as JSON with a line for each entry, and for each item of a list of tasks, pointers and outputs."""
    lines = []
    for key, value in data.items():
        nested = isinstance(value, list) and value and not isinstance(value[0], str)
        text = "[\n  " + ",\n  ".join(json.dumps(item) for item in value) + "\n ]" if nested else json.dumps(value)
        lines.append(f"{json.dumps(key)}: {text}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _recorded(launchable: Launchable) -> tuple[Recording, Outputs]:
    """Return the call with its memory. Raises: TaichiRuntimeError if it cannot be exported."""
    if tools_of(launchable.session.device.name).is_interpreter:
        raise TaichiRuntimeError("the interpreter has no source to export", "use ti.cpu, ti.vulkan or ti.cuda")
    recording = record(launchable)
    outputs = Outputs(recording)
    if recording.textures:
        raise TaichiRuntimeError(
            f"kernel `{launchable.generated.kernel}` takes textures, which are not plain memory",
            "export a kernel that takes arrays",
        )
    if outputs.trees:
        raise TaichiRuntimeError(
            f"kernel `{launchable.generated.kernel}` uses a sparse tree, whose pools are too large for files",
            "export a kernel on dense fields",
        )
    size = sum(region.size_bytes for region in recording.regions)
    if size > MAX_BYTES:
        raise TaichiRuntimeError(f"the call accesses {size:,} bytes of memory", "export a smaller one, below 2 GiB")
    return recording, outputs


def _file_names(regions: Sequence[Region]) -> dict[Region, str]:
    """Return the names of the regions' files."""
    found: dict[Region, str] = {}
    for region in regions:
        name = "_".join("".join(c if c.isalnum() else "_" for c in part) for part in region.name.split(", "))[:60]
        while name in found.values():
            name += "_"
        found[region] = name
    return found


def _shaped(region: Region, views: Sequence[_View]) -> Array:
    """Return the bytes of a region, as an array of numbers if it is exactly that."""
    contents = region.contents if region.role == "data" else region.new_contents(0)
    if region.role == "report":
        contents = region.contents
    for view in views:
        whole = prod(view.shape) * view.dtype.itemsize == region.size_bytes and view.begin == 0
        if view.region is region and whole and view.extents == view.shape and _is_dense(view):
            return view.read(contents)
    return contents


def _is_dense(view: _View) -> bool:
    return view.strides == np.empty(view.extents, view.dtype).strides


def _views(outputs: Outputs) -> Iterator[_View]:
    """Yield all numbers that the kernel may have written."""
    for located in outputs.located:
        if located.slot.written:
            contents = np.zeros(located.region.size_bytes, np.uint8)
            shape = (*located.shape, *located.element_shape)
            yield from _members(located.slot.name, located.region, located.seen_in(contents), contents, shape)
    region = next((region for region in outputs.recording.regions if region.role == "result"), None)
    for number, place in enumerate(outputs.interface.results if region is not None else ()):
        assert region is not None
        yield from _results(f"{RESULT}[{number}]" if number else RESULT, region, place)


def _members(name: str, region: Region, array: Array, contents: Array, shape: tuple[int, ...]) -> Iterator[_View]:
    for member in array.dtype.names or ():
        inner = array[member]
        yield from _members(f"{name}.{member}", region, inner, contents, shape + inner.shape[array.ndim :])
    if array.dtype.names is None:
        begin = array.ctypes.data - contents.ctypes.data if array.size else 0
        yield _View(name, region, array.dtype, begin, array.shape, array.strides, shape)


def _results(name: str, region: Region, place: ResultField) -> Iterator[_View]:
    for member, inner in place.members:
        yield from _results(f"{name}.{member}", region, inner)
    if place.type in NUMPY:
        dtype = NUMPY[place.type]
        shape = place.shape or (1,)
        yield _View(name, region, dtype, place.offset_bytes, shape, np.empty(shape, dtype).strides, shape)


def _is_stable(view: _View, runs: Sequence[Outcome]) -> bool:
    """Return whether runs agree, except for rounding."""
    one, other = (view.read(run.contents[view.region]) for run in runs)
    return one.dtype.kind == "f" or not different(one, other).any()


def _expect(folder: Path, view: _View, names: dict[Region, str], runs: Sequence[Outcome]) -> dict[str, Any]:
    """Write the expected numbers; return where they are and their tolerance."""
    arrays = [view.read(run.contents[view.region]) for run in runs]
    file = "".join(c if c.isalnum() or c in "._" else "_" for c in view.name) + ".npy"
    np.save(folder / "expected" / file, arrays[0])
    relative, absolute = Tolerance().of(arrays[0])
    absolute += SPREADS * spread_of(arrays) if arrays[0].dtype.kind == "f" else 0.0
    return {
        "name": view.name, "file": file, "memory": names[view.region], "begin": view.begin,
        "extents": view.extents, "strides": view.strides, "relative": relative, "absolute": absolute,
    }  # fmt: skip


def _task(module: BackendModule, task: TaskSource, count: int) -> dict[str, Any]:
    """Return how one task is launched."""
    needed = UNKNOWN_GROUPS if count < 0 else -(-count // task.iterations_per_block)
    groups, rows = part_of(module.target, ReproducerTools).grid(task, needed)
    file = module.files[task.file].name
    return {"name": task.name, "entry": task.entry, "file": file, "block": task.block_dim, "groups": groups,
            "rows": rows}  # fmt: skip


def _runner(module: BackendModule) -> str:
    files = ", ".join(file.name for file in module.files)
    return render(f"repro/{module.target}.py.j2", {"kernel": module.kernel, "target": module.target, "files": files})
