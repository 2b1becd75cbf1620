"""Checks shaders of an archive before a driver compiles them, since damaged SPIR-V crashes drivers.

In: a kernel as the archive has it, and its SPIR-V. Out: nothing, or ArchiveError. The structure of every module is
checked here: whole, ids in bounds, one entry with the threads the launcher counts with, arguments where the launcher
puts them, nothing else that a host would have to give. Where `spirv-val` is installed it has the last word.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod

from ...transpiler.backend.module.interface import BackendModule, Interface, TaskSource
from ..devices.vulkan.glslang import TIME_LIMIT_SECONDS, is_whole, run_tool
from ..devices.vulkan.spirv import Image, Pointer, Reflection, Scalar, SpirvError, Type, arguments_of, reflect
from .container import ArchiveError

GLCOMPUTE = 5
SAMPLED_IMAGE, STORAGE_IMAGE = 1, 2
VERSIONS = {(1, 3): "vulkan1.1", (1, 4): "vulkan1.1spv1.4", (1, 5): "vulkan1.2"}
"""Accepted versions of SPIR-V, with the environment for `spirv-val`."""
MAX_PUSH_BYTES = 128
VALID: OrderedDict[bytes, None] = OrderedDict()
MAX_VALID = 4096
"""Digests of shaders that `spirv-val` accepted in this process."""


def spirv_version(shader: bytes) -> tuple[int, int]:
    """Return the version that a SPIR-V module declares."""
    (word,) = struct.unpack_from("<I", shader, 4)
    return word >> 16 & 0xFF, word >> 8 & 0xFF


def check_shaders(module: BackendModule, shaders: Sequence[bytes]) -> list[Reflection]:
    """Check the SPIR-V of each file of a module; return its reflection. Raises: ArchiveError."""
    reflections = []
    for number, (file, shader) in enumerate(zip(module.files, shaders, strict=True)):
        where = f"the SPIR-V of {file.name} in kernel `{module.kernel}`"
        reflection = _reflect(shader, where)
        reflections.append(reflection)
        for task in module.tasks:
            if task.file == number:
                _check_entry(reflection, task, where)
        _check_interface(reflection, module.interface, where)
    return reflections


def _reflect(shader: bytes, where: str) -> Reflection:
    if not is_whole(shader):
        raise ArchiveError(f"{where} is not whole")
    if spirv_version(shader) not in VERSIONS:
        raise ArchiveError(f"{where} is of a version that Vulkan 1.2 does not take")
    try:
        return reflect(shader)
    except SpirvError as error:
        raise ArchiveError(f"{where} is damaged: {error}") from None


def _check_entry(reflection: Reflection, task: TaskSource, where: str) -> None:
    entry = next((entry for entry in reflection.entries if entry.name == task.entry), None)
    if entry is None or entry.model != GLCOMPUTE:
        raise ArchiveError(f"{where} has no compute shader `{task.entry}`")
    if entry.local_size is None or prod(entry.local_size) != task.block_dim:
        raise ArchiveError(f"{where} has other threads than the {task.block_dim} the manifest says")


def _check_interface(reflection: Reflection, interface: Interface, where: str) -> None:
    """Check that the shader has its arguments at the manifest's offsets, and no other resources."""
    given = {(0, texture.binding): texture for texture in interface.textures}
    for variable in reflection.resources:
        texture = given.get((variable.set or 0, variable.binding or 0))
        use = variable.type.use if isinstance(variable.type, Image) else 0
        if texture is None or use != (STORAGE_IMAGE if texture.storage else SAMPLED_IMAGE):
            raise ArchiveError(f"{where} asks for a descriptor `{variable.name}` that is not given")
    struct = arguments_of(reflection)
    if reflection.push_constants is None:
        return  # a kernel that uses none of its arguments
    if struct is None:
        raise ArchiveError(f"{where} takes no struct of arguments")
    is_direct = struct is reflection.push_constants.type
    if is_direct and interface.args_size_bytes > MAX_PUSH_BYTES:
        raise ArchiveError(f"{where} takes more arguments than can be pushed")
    places = {member.offset_bytes: member.size_bytes for member in interface.members}
    for member in struct.members:
        if member.offset_bytes not in places or _bytes_of(member.type) > _contiguous_bytes(places, member.offset_bytes):
            raise ArchiveError(f"{where} has an argument `{member.name}` that the manifest does not have")


def _contiguous_bytes(places: dict[int, int], begin: int) -> int:
    """Return how many bytes of members are contiguous from `begin` on."""
    end = begin
    while end in places:
        end += places[end]
    return end - begin


def _bytes_of(type: Type) -> int:
    if isinstance(type, Pointer):
        return 8
    return type.bits // 8 if isinstance(type, Scalar) else 0


def validate(shaders: Sequence[bytes]) -> None:
    """Check all shaders with `spirv-val`, if it is installed. Raises: ArchiveError."""
    tool = shutil.which("spirv-val")
    new = {hashlib.sha256(shader).digest(): shader for shader in shaders}
    unknown = [digest for digest in new if digest not in VALID]
    if tool is None or not unknown:
        return
    with ThreadPoolExecutor(min(len(unknown), os.cpu_count() or 1)) as pool:
        for log in pool.map(lambda digest: _validate(tool, new[digest]), unknown):
            if log:
                raise ArchiveError(f"spirv-val refuses a shader of the archive: {log}")
    for digest in unknown:
        VALID[digest] = None
        while len(VALID) > MAX_VALID:
            VALID.popitem(last=False)


def _validate(tool: str, shader: bytes) -> str:
    """Return the errors of `spirv-val` for a shader, "" for none."""
    environment = VERSIONS[spirv_version(shader)]
    command = [tool, "--target-env", environment, "--scalar-block-layout", "-"]
    try:
        code, output, errors = run_tool(command, shader, TIME_LIMIT_SECONDS)
    except (TimeoutError, OverflowError, OSError) as error:
        return f"it did not finish ({type(error).__name__})"
    log = (output + errors).decode(errors="replace").strip()[:500]
    return "" if code == 0 else "".join(c if c.isprintable() else " " for c in log) or f"exit status {code}"
