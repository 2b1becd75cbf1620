"""`shadesmith inspect`: what it prints by default, by --stage, as JSON and into files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from shadesmith.runtime.workbench.inspect.cuda_listings import find_nvdisasm

PROGRAM = Path(__file__).parents[2] / "examples" / "julia.py"
JULIA = f"{PROGRAM}:paint"
LINE = next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "z = ti.Vector([z[0] ** 2" in text)
KERNEL = """
    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 1), factor: ti.f32):
        for i in x:
            x[i] *= factor
"""


def test_cuda_ptx_and_sass_with_python_lines_and_no_gpu(command) -> None:
    said = command("inspect", JULIA, "--arch", "cuda")
    assert said.status == 0
    titles = [line.removeprefix("==== ") for line in said.text.splitlines() if line.startswith("==== ")]
    assert titles[:2] == ["source", "ptx"] and titles[-1] == "resources"
    assert "__global__" in said.text and ".visible .entry paint_0" in said.text
    assert f"    // julia.py:{LINE}  z = ti.Vector" in said.text and f"// julia.py:{LINE}\n" in said.text
    if find_nvdisasm() is None:
        assert "no sass: `nvdisasm`" in said.notes and "pip install" in said.notes
    else:
        assert said.notes == "" and titles == ["source", "ptx", "sass", "resources"]
        assert "MUFU" in said.text


def test_vulkan_shows_glsl_and_spirv(command) -> None:
    said = command("inspect", JULIA, "--arch", "vulkan")
    assert said.status == 0 and "#version 460" in said.text
    if shutil.which("spirv-dis"):
        assert "OpEntryPoint" in said.text and f"; julia.py:{LINE}" in said.text


def test_stages_by_name(command, program) -> None:
    file = program(KERNEL)
    said = command("inspect", f"{file}:scale", "--stage", "python", "--stage", "final")
    assert said.text.startswith("==== python\n@ti.kernel") and "==== final\nshadesmith ir 1" in said.text
    said = command("inspect", f"{file}:scale", "--stage", "frontend")
    assert said.text.startswith("shadesmith ir 1"), "one form alone has no title"


def test_all_forms_are_those_of_the_target(command, program) -> None:
    said = command("inspect", f"{program(KERNEL)}:scale", "--arch", "cpu", "--stage", "all")
    for name in ("python", "frontend", "lowered", "tasks", "final", "source", "resources", "map"):
        assert f"==== {name}\n" in said.text


def test_an_unknown_stage_lists_those_there_are(command, program) -> None:
    said = command("inspect", f"{program(KERNEL)}:scale", "--arch", "vulkan", "--stage", "sass")
    assert said.status == 2 and "no form `sass` on this target" in said.notes and "spirv" in said.notes


def test_json_holds_forms_map_and_resources(command, program) -> None:
    said = command("inspect", f"{program(KERNEL)}:scale", "--arch", "cuda", "--stage", "all", "--json")
    data = said.data
    assert data["kernel"] == "scale" and data["target"] == "cuda"
    assert data["map"]["files"][0]["name"] == "scale.cu" and data["resources"]["device"] == "sm_90"
    assert "__global__" in data["forms"]["source"] and ".entry" in data["forms"]["ptx"]


def test_files_are_written_with_the_map(command, program, tmp_path) -> None:
    folder = tmp_path / "out"
    said = command("inspect", f"{program(KERNEL)}:scale", "--arch", "cuda", "-o", folder)
    assert said.status == 0
    names = {path.name for path in folder.iterdir()}
    assert {"scale.cu", "scale.ptx", "map.json", "resources.json"} <= names
    assert json.loads((folder / "map.json").read_text())["kernel"] == "scale"


@pytest.mark.parametrize("gpu", ["90", "sm_", "sm_90; rm"])
def test_a_gpu_that_is_none(command, program, gpu) -> None:
    said = command("inspect", f"{program(KERNEL)}:scale", "--arch", "cuda", "--gpu", gpu)
    assert said.status == 2 and "write `sm_90`" in said.notes


def test_another_gpu(command, program) -> None:
    said = command("inspect", f"{program(KERNEL)}:scale", "--arch", "cuda", "--gpu", "sm_80", "--stage", "ptx")
    assert ".target sm_80" in said.text
    said = command("inspect", f"{program(KERNEL)}:scale", "--arch", "cuda", "--gpu", "sm_20", "--stage", "ptx")
    assert said.status == 2 and "invalid value for --gpu-architecture" in said.notes


def test_an_edited_text_is_shown_with_its_python_lines(command, program) -> None:
    file = program(KERNEL)
    path = Path(command("edit", file, "--arch", "cuda").text.strip())
    said = command("inspect", file, "--arch", "cuda", "--variant", "wide")
    assert said.status == 2 and "no variant `wide`" in said.notes and "there is edit" in said.notes
    path.write_text(
        path.read_text().replace("BLOCK 128", "BLOCK 64").replace("x(i) *= args.factor", "x(i) *= sqrtf(args.factor)")
    )
    data = command("inspect", file, "--arch", "cuda", "--variant", "edit", "--stage", "all", "--json").data
    assert data["resources"]["tasks"][0]["block_dim"] == 64 and "sqrtf" in data["forms"]["source"]
    root = next(line for line in data["forms"]["ptx"].splitlines() if "sqrt.approx" in line)
    assert root.endswith("// program.py:8")


def test_options_of_the_environment_count_without_a_session(command, program, monkeypatch) -> None:
    spec = f"{program(KERNEL.replace('x[i] *=', 'x[i + 1] *='))}:scale"
    monkeypatch.delenv("SHADESMITH_DEBUG", raising=False)
    assert "outside_1" not in command("inspect", spec, "--arch", "cuda", "--stage", "source").text
    monkeypatch.setenv("SHADESMITH_DEBUG", "1")
    assert "outside_1" in command("inspect", spec, "--arch", "cuda", "--stage", "source").text
