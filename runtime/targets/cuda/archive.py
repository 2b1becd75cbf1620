"""Make and load archives of CUDA C: cubins for one GPU and its successors, PTX for newer generations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ...aot.archive_data import Kernel
from ...aot.archive_facts import Binaries
from ...aot.archive_tools import ArchiveTools
from ...aot.targets import Target
from ...devices.compiler_messages import CompilerFailure
from ...devices.cuda import nvrtc
from ...devices.cuda.cubin import read_cubin
from ...devices.device import Device
from ...store.store import Store

FALLBACK_PTX = "compute_75"
"""Architecture of PTX, which every driver of CUDA 13 compiles for its GPU if the cubin does not fit."""


def _compile(module: BackendModule, target: Target, store: Store | None) -> list[Binaries]:
    fast_math = bool(module.options.get("fast_math", True))
    return [_compile_file(file, _gpu_of(target), fast_math, store) for file in module.files]


def _gpu_of(target: Target) -> str:
    """Return the architecture of the cubins."""
    return dict(target.capabilities.extra)["arch"]


def _compile_file(file: SourceFile, gpu: str, fast_math: bool, store: Store | None) -> Binaries:
    """Return a cubin, and PTX for newer GPUs if the source also compiles for an older one."""
    cubin, _ = nvrtc.compile_cubin(file.text, gpu, fast_math, file.name, file.lines, store=store)
    found = {"cubin": cubin}
    if int(gpu.removeprefix("sm_").rstrip("af")) >= int(FALLBACK_PTX.removeprefix("compute_")):
        with suppress(CompilerFailure):  # it needs features that older GPUs lack
            found["ptx"] = nvrtc.compile_ptx(file, FALLBACK_PTX, fast_math)
    return found


def _requirements(target: Target, binaries: Sequence[Binaries]) -> dict[str, Any]:
    has_ptx = all("ptx" in each for each in binaries) and bool(binaries)
    return {"arch": _gpu_of(target), "ptx": FALLBACK_PTX if has_ptx else None}


def _codes(kernel: Kernel, requires: Mapping[str, Any], device: Device) -> list[bytes] | None:
    found = [_code(codes, device) for codes in kernel.codes]
    return None if None in found else [code for code in found if code is not None]


def _code(codes: Mapping[str, bytes], device: Device) -> bytes | None:
    """Return the cubin if it is for this GPU or an older one of its generation, else the PTX if there is any."""
    own = _number(dict(device.capabilities.extra)["arch"])
    made_for = _number(read_cubin(codes["cubin"]).arch)
    fits = made_for // 10 == own // 10 and made_for <= own
    return codes["cubin"] if fits else codes.get("ptx")


def _number(arch: str) -> int:
    return int(arch.removeprefix("sm_").rstrip("af"))


TOOLS = ArchiveTools(compile=_compile, requirements=_requirements, codes=_codes)
