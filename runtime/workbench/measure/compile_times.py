"""`kernel.report(*args)`: where the time goes when a kernel is compiled, from Python's source to what can be launched.

In: a specialization and the device of a session. Out: `CompileReport`. The kernel is recompiled for it, and nothing
is taken from a cache: neither the entries on disk nor what the process remembers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from ....transpiler.frontend.builders.build import build
from ....transpiler.frontend.source.definition import parse
from ....transpiler.frontend.source.specialization import Specialization
from ....transpiler.ir.forms import FrontendResult
from ...cache.compiler import compile_source
from ...devices.target_tools import tools_of
from ...store.stats import COUNTS
from ...viewed import Viewed

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule
    from ...devices.device import Device

_NUMBERS = itertools.count()


SHORT = 0.001
"""Passes that take a smaller part are printed as one line; `times` has each."""


@dataclass(frozen=True, slots=True)
class CompileReport(Viewed):
    """times: [s] by stage, in order: "parse", "frontend", "pass NAME" each, "between passes" (checks of the IR under
    `debug`), "emit", a compiler, and how its code is loaded. They leave out little: wall: [s] from begin to end.

    sizes: of Vulkan, the bytes of each file's SPIR-V from glslang, and after spirv-opt; None: that is not installed.
    """

    kernel: str
    target: str
    device: str
    times: dict[str, float]
    wall: float
    sizes: dict[str, tuple[int, int | None]] = field(default_factory=dict)

    def __str__(self) -> str:
        short = [name for name, time in self.times.items() if name.startswith("pass ") and time < SHORT * self.wall]
        rows = []
        for name, time in self.times.items():
            if name == "between passes" and short:
                rows.append((f"{len(short)} other passes", sum(self.times[each] for each in short)))
            if name not in short:
                rows.append((name, time))
        rows.append(("all", self.wall))
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {1e3 * time:9.3f} ms  {time / self.wall:6.1%}" for name, time in rows]
        sizes = [f"{name}: {in_bytes(before, after)}" for name, (before, after) in self.sizes.items()]
        return "\n".join([f"{self.kernel} on {self.device}, recompiled", *lines, *sizes])


def in_bytes(before: int, after: int | None) -> str:
    """Return the sizes of SPIR-V before and after spirv-opt in words."""
    if after is None:
        return f"{before:,} bytes of SPIR-V; spirv-opt is not installed"
    return f"{before:,} bytes of SPIR-V, {after:,} after spirv-opt"


def compile_report(specialization: Specialization, device: Device) -> CompileReport:
    """Compile for a device and return the time of each stage. Raises: as the first launch does."""
    times: dict[str, float] = {}
    begin = perf_counter()
    parse(specialization.definition.function)
    times["parse"] = perf_counter() - begin

    def timed_frontend(wanted: Specialization) -> FrontendResult:
        start = perf_counter()
        result = build(wanted)
        times["frontend"] = perf_counter() - start
        return result

    compilation = compile_source(specialization, frontend=timed_frontend)
    times |= {f"pass {name}": time for name, time in compilation.passes.items()}
    times["between passes"] = compilation.times["passes"] - sum(compilation.passes.values())
    times["emit"] = compilation.times["emit"]
    if compilation.module.program is None:
        times |= _build_times(compilation.module, device)
    wall = perf_counter() - begin
    sizes = tools_of(device.name).binary_sizes(compilation.module)
    return CompileReport(compilation.module.kernel, device.name, device.title, times, wall, sizes)


def _build_times(module: BackendModule, device: Device) -> dict[str, float]:
    """Compile sources that are in no cache: they differ in a comment at their end."""
    number = next(_NUMBERS)
    files = tuple(replace(file, text=f"{file.text}// timed {number}\n") for file in module.files)
    tool, load = tools_of(device.name).build_stages
    before, start = COUNTS.snapshot().compiler_seconds, perf_counter()
    device.build(replace(module, files=files), keep=False)
    all_of_it = perf_counter() - start
    compiling = min(COUNTS.snapshot().compiler_seconds - before, all_of_it)
    return {tool: compiling, load: all_of_it - compiling}
