"""Make and load archives of GLSL: SPIR-V, and the features that it requires of a Vulkan device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiRuntimeError
from ...aot.archive_data import Archive, Kernel
from ...aot.archive_facts import Binaries
from ...aot.archive_tools import ArchiveTools
from ...aot.check_shaders import check_shaders, spirv_version, validate
from ...aot.container import ArchiveError
from ...aot.manifest import MANIFEST
from ...aot.read_manifest import Manifest
from ...aot.targets import Target
from ...devices.device import Device
from ...devices.vulkan.glslang import Glslang
from ...devices.vulkan.spirv import reflect
from ...store.store import Store
from ...workbench.check.device_needs import lacks_capability, lacks_extension

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
"""Features of a Vulkan device that a capability of SPIR-V requires.
Source: Vulkan specification, "SPIR-V Capabilities"."""
LAYOUT_FEATURE = "scalarBlockLayout"
"""Required by all generated shaders: arguments have the layout of C."""
SUBGROUP = "GroupNonUniform"


def _compile(module: BackendModule, target: Target, store: Store | None) -> list[Binaries]:
    tool = Glslang(environment=target.environment)
    return [{"spirv": tool.compile(file, module.kernel, store=store)} for file in module.files]


def _requirements(target: Target, binaries: Sequence[Binaries]) -> dict[str, Any]:
    shaders = [each["spirv"] for each in binaries]
    reflections = [reflect(shader) for shader in shaders]
    capabilities = sorted({name for each in reflections for name in each.capabilities})
    features = {LAYOUT_FEATURE, *(feature for name in capabilities for feature in FEATURES.get(name, ()))}
    uses_subgroups = any(name.startswith(SUBGROUP) for name in capabilities)
    return {
        "spirv": list(max((spirv_version(shader) for shader in shaders), default=(1, 3))),
        "capabilities": capabilities,
        "extensions": sorted({name for each in reflections for name in each.extensions}),
        "features": sorted(features),
        "subgroup_size": target.capabilities.subgroup_size if uses_subgroups else None,
    }


def _check(manifest: Manifest, kernels: Mapping[str, Kernel]) -> None:
    _check_requirements(manifest, kernels)
    validate([codes["spirv"] for kernel in kernels.values() for codes in kernel.codes])


def _check_requirements(manifest: Manifest, kernels: Mapping[str, Kernel]) -> None:
    """Check that the shaders are valid, and require exactly what the manifest declares."""
    needed: set[str] = set()
    extensions: set[str] = set()
    for kernel in kernels.values():
        for reflection in check_shaders(kernel.module, [codes["spirv"] for codes in kernel.codes]):
            needed |= {*reflection.capabilities}
            extensions |= {*reflection.extensions}
    for what, found in (("capabilities", needed), ("extensions", extensions)):
        if {*manifest.requires[what]} != found:
            raise ArchiveError(f"{MANIFEST}: $.requires.{what}: the shaders need {', '.join(sorted(found))}")


def _check_device(archive: Archive, device: Device) -> None:
    requires, able = archive.manifest.requires, device.capabilities
    lacking = [name for name in requires["capabilities"] if lacks_capability(name, able)]
    lacking += [name for name in requires["extensions"] if lacks_extension(name)]
    size = requires["subgroup_size"]
    if size is not None and size != able.subgroup_size:
        lacking.append(f"subgroups of {size} threads (it has {able.subgroup_size})")
    most = max((task.block_dim for kernel in archive.kernels.values() for task in kernel.module.tasks), default=0)
    if most > able.max_block_dim:
        lacking.append(f"blocks of {most} threads (it takes {able.max_block_dim})")
    if lacking:
        raise TaichiRuntimeError(
            f"{archive.title} needs what {device.title} lacks: {', '.join(lacking)}",
            'build it with ti.aot.Module(ti.vulkan, caps="portable")',
        )


def _codes(kernel: Kernel, requires: Mapping[str, Any], device: Device) -> list[bytes] | None:
    return [codes["spirv"] for codes in kernel.codes]


TOOLS = ArchiveTools(
    compile=_compile, requirements=_requirements, codes=_codes, check=_check, check_device=_check_device
)
