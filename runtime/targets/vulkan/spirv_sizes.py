"""The sizes of a module's SPIR-V before and after spirv-opt, for reports. `ti.init(spirv_opt=True)` runs what is after.

In: a module. Out: bytes by file. spirv-opt changes no result; drivers optimize what they get in any case.
"""

from __future__ import annotations

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.backend.module.one_file import task_sources
from ...devices.vulkan.glslang import Glslang, find_optimizer


def sizes_of(module: BackendModule) -> dict[str, tuple[int, int | None]]:
    """Return the bytes of each file's SPIR-V from glslang, and after spirv-opt; None: spirv-opt is not installed.

    Raises: as `Glslang.compile`.
    """
    module = task_sources(module, numbered=True)
    before = {file.name: len(Glslang().compile(file, module.kernel)) for file in module.files}
    if find_optimizer() is None:
        return {name: (size, None) for name, size in before.items()}
    tool = Glslang(optimize=True)
    return {file.name: (before[file.name], len(tool.compile(file, module.kernel))) for file in module.files}
