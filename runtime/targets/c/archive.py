"""Make and load archives of C: shared objects for one kind of processor."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ...aot.archive_data import Kernel
from ...aot.archive_facts import NATIVE_MARCH, Binaries
from ...aot.archive_tools import ArchiveTools
from ...aot.targets import Target
from ...devices.compiler_messages import CompilerFailure
from ...devices.device import Device
from ...devices.host.compiler import find_compiler, lacks_openmp
from ...store.store import Store

CPUINFO = Path("/proc/cpuinfo")
PORTABLE_CPU = ("cx16", "popcnt", "sse4_1", "sse4_2", "ssse3")
INSTRUCTION_SETS = ("aes", "amx", "avx", "bmi", "f16c", "fma", "abm", "adx", "gfni", "lzcnt", "movbe", "popcnt", "sse",
                    "ssse", "vaes", "vpclmul", "cx16", "sve", "asimd")  # fmt: skip
"""Prefixes of the processor flags that a compiler may use."""


def _compile(module: BackendModule, target: Target, store: Store | None) -> list[Binaries]:
    fast_math = bool(module.options.get("fast_math", True))
    return [_shared_object(file, fast_math, target.march, store) for file in module.files]


def _shared_object(file: SourceFile, fast_math: bool, march: str, store: Store | None) -> Binaries:
    compiler = find_compiler()
    for openmp in (True, False):
        try:
            return {"shared_object": compiler.compile(file, fast_math, openmp, store=store, march=march)[0]}
        except CompilerFailure as error:
            if not (openmp and lacks_openmp(error.log)):
                raise
    raise AssertionError("unreachable: the second iteration returns or raises")


def _requirements(target: Target, binaries: Sequence[Binaries]) -> dict[str, Any]:
    flags = list(PORTABLE_CPU) if target.march != NATIVE_MARCH else cpu_flags()
    if target.march != NATIVE_MARCH and platform.machine().lower() not in ("x86_64", "amd64"):
        flags = []
    return {"system": sys.platform, "machine": platform.machine().lower(), "cpu": flags}


def cpu_flags() -> list[str]:
    """Return the instruction sets of this machine's processor, by the system's names; [] if it does not report them."""
    try:
        lines = CPUINFO.read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return sorted(flag for flag in set(value.split()) if flag.startswith(INSTRUCTION_SETS))
    return []


def _codes(kernel: Kernel, requires: Mapping[str, Any], device: Device) -> list[bytes] | None:
    return [codes["shared_object"] for codes in kernel.codes] if fits_host(requires) else None


def fits_host(requires: Mapping[str, Any]) -> bool:
    """Return whether machine code of a module for C runs on this machine."""
    here = (sys.platform, platform.machine().lower())
    return (requires["system"], requires["machine"]) == here and set(requires["cpu"]) <= set(cpu_flags())


TOOLS = ArchiveTools(compile=_compile, requirements=_requirements, codes=_codes)
