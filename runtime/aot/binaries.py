"""The compilers' part of a module: from emitted text to SPIR-V, cubin and PTX, or a shared object, without a device.

In: a `BackendModule` and its `Target`. Out: the binaries of each file by kind, and what a device must have to run them,
read back from the binaries. The compilers are those of a launch, called with the same flags: so are the bytes.
"""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...transpiler.backend.module.interface import BackendModule, SourceFile
from ...transpiler.errors import TaichiRuntimeError
from ..devices import nvrtc
from ..devices.compiler_messages import CompilerFailure
from ..devices.glslang import Glslang
from ..devices.host_compiler import find_compiler, lacks_openmp
from ..session import session as sessions
from ..store.store import Store
from ..workbench.spirv import Reflection, reflect
from .targets import NATIVE_MARCH, Target

Binaries = dict[str, bytes]
"""By kind: "spirv", "cubin", "ptx", "shared_object"."""

FALLBACK_PTX = "compute_75"
"""PTX that every driver of CUDA 13 turns into code for the GPU it has, where a cubin is for others."""

FEATURES = {
    "Int64": ("shaderInt64",),
    "Int16": ("shaderInt16",),
    "Float64": ("shaderFloat64",),
    "Int8": ("shaderInt8",),
    "Float16": ("shaderFloat16",),
    "StorageBuffer16BitAccess": ("storageBuffer16BitAccess",),
    "UniformAndStorageBuffer16BitAccess": ("uniformAndStorageBuffer16BitAccess",),
    "StoragePushConstant16": ("storagePushConstant16",),
    "StorageBuffer8BitAccess": ("storageBuffer8BitAccess",),
    "UniformAndStorageBuffer8BitAccess": ("uniformAndStorageBuffer8BitAccess",),
    "StoragePushConstant8": ("storagePushConstant8",),
    "PhysicalStorageBufferAddresses": ("bufferDeviceAddress",),
    "Int64Atomics": ("shaderBufferInt64Atomics",),
    "AtomicFloat32AddEXT": ("shaderBufferFloat32AtomicAdd",),
    "AtomicFloat64AddEXT": ("shaderBufferFloat64AtomicAdd",),
    "AtomicFloat32MinMaxEXT": ("shaderBufferFloat32AtomicMinMax",),
    "AtomicFloat64MinMaxEXT": ("shaderBufferFloat64AtomicMinMax",),
}
"""Features of a Vulkan device that a capability of SPIR-V asks for.
Source: Vulkan specification, "SPIR-V Capabilities"."""
LAYOUT_FEATURE = "scalarBlockLayout"
"""All of our shaders need it: arguments lie as in C."""
SUBGROUP = "GroupNonUniform"

CPUINFO = Path("/proc/cpuinfo")
PORTABLE_CPU = ("cx16", "popcnt", "sse4_1", "sse4_2", "ssse3")
INSTRUCTION_SETS = ("aes", "amx", "avx", "bmi", "f16c", "fma", "abm", "adx", "gfni", "lzcnt", "movbe", "popcnt", "sse",
                    "ssse", "vaes", "vpclmul", "cx16", "sve", "asimd")  # fmt: skip
"""What the names of processors' flags begin with that a compiler may use."""


def compile_binaries(module: BackendModule, target: Target) -> list[Binaries]:
    """Return what the compilers make of each file of a module. Raises: TaichiCompilationError, TaichiRuntimeError."""
    if target.name == "vulkan":
        tool = Glslang(environment=target.environment)
        return [{"spirv": tool.compile(file, module.kernel, store=_store())} for file in module.files]
    fast_math = bool(module.options.get("fast_math", True))
    if target.name == "cuda":
        return [_cuda(file, gpu_of(target), fast_math) for file in module.files]
    return [_shared_object(file, fast_math, target.march) for file in module.files]


def _store() -> Store | None:
    """Return where the session keeps what compilers made."""
    return None if sessions.CURRENT is None else sessions.CURRENT.store


def gpu_of(target: Target) -> str:
    """Return the GPU that cubins are made for."""
    return dict(target.capabilities.extra)["arch"]


def _cuda(file: SourceFile, gpu: str, fast_math: bool) -> Binaries:
    """Return a cubin, and PTX for newer GPUs if an older one could run the text too."""
    cubin, _ = nvrtc.compile_cubin(file.text, gpu, fast_math, file.name, file.lines, store=_store())
    found = {"cubin": cubin}
    if int(gpu.removeprefix("sm_").rstrip("af")) >= int(FALLBACK_PTX.removeprefix("compute_")):
        with suppress(CompilerFailure):  # it needs what older GPUs lack
            found["ptx"] = nvrtc.compile_ptx(file, FALLBACK_PTX, fast_math)
    return found


def _shared_object(file: SourceFile, fast_math: bool, march: str) -> Binaries:
    compiler = find_compiler()
    for openmp in (True, False):
        try:
            return {"shared_object": compiler.compile(file, fast_math, openmp, store=_store(), march=march)[0]}
        except CompilerFailure as error:
            if not (openmp and lacks_openmp(error.log)):
                raise
    raise AssertionError("unreachable: the second turn returns or raises")


# --- what a device must have


def requirements(target: Target, binaries: Iterable[Binaries]) -> dict[str, Any]:
    """Return what a device must have to run all the binaries; see docs/archive.md."""
    found = list(binaries)
    if target.name == "vulkan":
        return _of_shaders(target, [each["spirv"] for each in found])
    if target.name == "cuda":
        has_ptx = all("ptx" in each for each in found) and bool(found)
        return {"arch": gpu_of(target), "ptx": FALLBACK_PTX if has_ptx else None}
    flags = list(PORTABLE_CPU) if target.march != NATIVE_MARCH else cpu_flags()
    if target.march != NATIVE_MARCH and platform.machine().lower() not in ("x86_64", "amd64"):
        flags = []
    return {"system": sys.platform, "machine": platform.machine().lower(), "cpu": flags}


def _of_shaders(target: Target, shaders: list[bytes]) -> dict[str, Any]:
    reflections = [reflect(shader) for shader in shaders]
    capabilities = sorted({name for each in reflections for name in each.capabilities})
    features = {LAYOUT_FEATURE, *(feature for name in capabilities for feature in FEATURES.get(name, ()))}
    asks = any(name.startswith(SUBGROUP) for name in capabilities)
    return {
        "spirv": list(max((spirv_version(shader) for shader in shaders), default=(1, 3))),
        "capabilities": capabilities,
        "extensions": sorted({name for each in reflections for name in each.extensions}),
        "features": sorted(features),
        "subgroup_size": target.capabilities.subgroup_size if asks else None,
    }


def spirv_version(shader: bytes) -> tuple[int, int]:
    """Return the version that a SPIR-V module declares."""
    (word,) = struct.unpack_from("<I", shader, 4)
    return word >> 16 & 0xFF, word >> 8 & 0xFF


def cpu_flags() -> list[str]:
    """Return the instruction sets of this machine's processor, by the system's names; [] where it does not tell."""
    try:
        lines = CPUINFO.read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return sorted(flag for flag in set(value.split()) if flag.startswith(INSTRUCTION_SETS))
    return []


def reflect_shader(shader: bytes, what: str) -> Reflection:
    """Return the interface of a shader. Raises: TaichiRuntimeError where it is none."""
    try:
        return reflect(shader)
    except ValueError as error:
        raise TaichiRuntimeError(f"{what} is no SPIR-V that could run: {error}") from None
