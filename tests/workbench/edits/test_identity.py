"""A copy of a generated text that nobody touched: the same module, the same binary, the same launch, the same results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import compared
import corpus
import golden_kernels
import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.cuda.nvrtc import compile_cubin, load_nvrtc
from shadesmith.runtime.devices.host.compiler import find_compiler
from shadesmith.runtime.devices.vulkan.glslang import Glslang, find_tool
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.store.atomic_files import write_text
from shadesmith.runtime.workbench.edits.edited_module import edited_module
from shadesmith.runtime.workbench.edits.selection import load
from shadesmith.runtime.workbench.edits.slots import Slot
from shadesmith.transpiler.backend.module.interface import BackendModule


def binaries(module: BackendModule) -> list[bytes]:
    """Compile every file of a module, as its device does, or skip where its compiler is missing."""
    fast_math = bool(module.options.get("fast_math", True))
    if module.target == "c":
        return [binary for file in module.files for binary in find_compiler().compile(file, fast_math, True)]
    if module.target == "vulkan":
        if find_tool() is None:
            pytest.skip("no glslangValidator")
        return [Glslang().compile(file, module.kernel) for file in module.files]
    try:
        load_nvrtc()
    except ti.TaichiRuntimeError:
        pytest.skip("no NVRTC")
    return [compile_cubin(file.text, fast_math=fast_math, name=file.name)[0] for file in module.files]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("language", ["vulkan", "cuda", "c"])
@pytest.mark.parametrize("name", golden_kernels.KERNELS)
def test_a_copy_gives_the_same_bytes(name: str, language: str, tmp_path: Path) -> None:
    if language == "vulkan" and name in golden_kernels.RECURSIVE:
        pytest.skip("GLSL has no recursion")
    module = golden_kernels.compiled(name, language)
    slot = Slot(tmp_path)
    for file in module.files:
        write_text(slot.path(file.name), file.text)
        write_text(slot.base(file.name), file.text)
    found, paths = load(slot, module)
    assert found is module and paths == ()
    copied = edited_module(module, {file.name: slot.path(file.name).read_text() for file in module.files})
    assert copied == module, "files, tasks and interface: all that a launch is planned by"
    assert binaries(copied) == binaries(module)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("maker", [*corpus.MAKERS, *compared.MAKERS], ids=lambda maker: maker.__name__)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_copy_launches_what_was_launched(target: str, maker: Callable[[], Any], tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, edits_dir=str(tmp_path))
    kernel, args = maker()
    try:
        launched = kernel.compile(*args)
    except ti.UnsupportedError:
        pytest.skip("this language has no such thing")
    except ti.TaichiSyntaxError as error:
        assert "Missing argument" in str(error)
        pytest.skip("it is for looking at only")
    if not launched.files:
        pytest.skip("a kernel that does nothing has no text")
    built = sessions.CURRENT.programs.built
    copies = [np.copy(value) if isinstance(value, np.ndarray) else value for value in args]
    kernel.edit(*args)
    assert kernel.compile(*args) == launched and sessions.CURRENT.programs.built == built
    kernel(*copies)
    assert kernel.last_launch.variant == "generated" and kernel.last_launch.paths == ()
