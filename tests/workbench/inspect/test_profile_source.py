"""`ti.init(profile_source=True)`: binaries that carry their source, checked by reading them back."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import kernels_to_list as kernels
import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.cuda.nvrtc import LINES, compile_cubin
from shadesmith.runtime.devices.stored_sources import folder_of, store_sources
from shadesmith.runtime.devices.vulkan.glslang import WHOLE_SOURCE, Glslang, has_null_id
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.inspect.cuda_listings import find_nvdisasm
from shadesmith.transpiler.backend.module.interface import SourceFile

PLAIN = "#version 460\nlayout(local_size_x = 64) in;\nlayout(push_constant) uniform A { int n; };\nvoid main() { if (n > 3) return; }\n"


def words_as_text(module: bytes) -> str:
    return module.decode("latin-1")


def validated(module: bytes, tmp_path: Path) -> bool:
    if shutil.which("spirv-val") is None:
        pytest.skip("apt-get install spirv-tools")
    file = tmp_path / "m.spv"
    file.write_bytes(module)
    command = ["spirv-val", "--target-env", "vulkan1.2", "--scalar-block-layout", str(file)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("kernel", [kernels.smooth, kernels.cubes, kernels.two], ids=lambda k: k.__name__)
def test_spirv_holds_its_source_and_its_name_and_is_valid(kernel, tmp_path) -> None:
    module = kernel.inspect(arch=ti.vulkan).module
    paths = store_sources(module, tmp_path)
    for file in module.files:
        code = Glslang(flags=(WHOLE_SOURCE,)).compile(file, module.kernel, paths[file.name])
        text = words_as_text(code)
        assert file.text.splitlines()[-3] in text and str(paths[file.name]) in text
        assert not has_null_id(code) and validated(code, tmp_path)
        assert file.text.splitlines()[-3] not in words_as_text(Glslang().compile(file, module.kernel))


def test_what_renderdoc_steps_through_is_made_where_the_tool_can(tmp_path) -> None:
    code = Glslang(flags=(WHOLE_SOURCE,)).compile(SourceFile("plain.comp", PLAIN), "plain")
    assert "NonSemantic.Shader.DebugInfo.100" in words_as_text(code) and validated(code, tmp_path)


def test_a_line_that_names_a_file_does_not_crash_the_tool() -> None:
    text = PLAIN.replace(
        "\nlayout(local", '\n#extension GL_GOOGLE_cpp_style_line_directive : require\n#line 7 "my.py"\nlayout(local', 1
    )
    code = Glslang(flags=(WHOLE_SOURCE,)).compile(SourceFile("plain.comp", text), "plain")
    assert b"NonSemantic" not in code and b"my.py" in code


def test_a_cubin_names_lines_of_a_file_that_is_there(tmp_path) -> None:
    module = kernels.smooth.inspect(arch=ti.cuda).module
    (file,) = module.files
    path = store_sources(module, tmp_path)[file.name]
    cubin, _ = compile_cubin(file.text, name=str(path), options=LINES)
    assert str(path.parent).encode() in cubin and b"smooth.cu" in cubin and path.read_text() == file.text
    assert str(path.parent).encode() not in compile_cubin(file.text, name=str(path))[0]
    if find_nvdisasm() is not None:
        binary = tmp_path / "k.cubin"
        binary.write_bytes(cubin)
        shown = subprocess.run([find_nvdisasm(), "-c", "-g", str(binary)], capture_output=True, text=True, check=True)
        lines = {int(line) for line in re.findall(rf'## File "{re.escape(str(path))}", line (\d+)', shown.stdout)}
        root = next(k for k, text in enumerate(file.text.splitlines(), 1) if "sqrtf(x)" in text)
        assert root in lines


def test_texts_are_kept_by_content(tmp_path) -> None:
    module = kernels.smooth.inspect(arch=ti.cuda).module
    first = store_sources(module, tmp_path)
    assert store_sources(module, tmp_path) == first
    first["smooth.cu"].write_text("changed by somebody")
    assert store_sources(module, tmp_path)["smooth.cu"].read_text() == module.files[0].text
    other = store_sources(kernels.smooth.inspect(arch=ti.vulkan).module, tmp_path)
    assert {path.parent for path in first.values()} != {path.parent for path in other.values()}
    assert folder_of("").is_absolute()


def test_a_folder_that_cannot_be_written_is_told(tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(
        ti.TaichiRuntimeError, match=r"profile_source=True stores emitted sources in .* Hint: .*dump_dir="
    ):
        store_sources(kernels.smooth.inspect(arch=ti.cuda).module, blocked)


@pytest.mark.all_targets
def test_kernels_run_with_it_and_their_text_is_kept(target: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SHADESMITH_VALIDATION", "1" if target == "vulkan" else "0")
    ti.init(arch=sessions.CURRENT.arch, profile_source=True, dump_dir=tmp_path, log_level=ti.WARN)
    a = np.linspace(0, 1, 1000, dtype=np.float32)
    b = np.zeros_like(a)
    kernels.smooth(a, b)
    expected = np.sqrt(a[:-2] * np.float32(0.25) + a[2:] * np.float32(0.75))
    assert np.allclose(b[1:-1], expected, rtol=1e-6)
    assert kernels.two(np.arange(10, dtype=np.int32)) == 135
    if target in ("vulkan", "cuda"):
        kept = {path.name for path in (tmp_path / "sources").rglob("*") if path.is_file()}
        assert ("smooth.comp" if target == "vulkan" else "smooth.cu") in kept
    messages = list(getattr(sessions.CURRENT.device, "messages", []))
    ti.reset()
    assert messages == []
