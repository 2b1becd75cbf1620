"""From a Python line to IR values, emitted lines, SPIR-V, PTX and SASS, and back; no GPU is needed for any of it."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path
from types import ModuleType

import kernels_to_list as kernels
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.cuda.cubin import read_cubin
from shadesmith.runtime.devices.cuda.nvrtc import compile_cubin, compile_explained
from shadesmith.runtime.workbench.inspect.cuda_listings import find_nvdisasm
from shadesmith.runtime.workbench.inspect.inspection_tools import listings
from shadesmith.runtime.workbench.inspect.listing import python_of

ARCHES = {"cuda": ti.cuda, "vulkan": ti.vulkan, "c": ti.cpu}
EXAMPLES = Path(__file__).parents[3] / "examples"
KERNELS = [kernels.smooth, kernels.two, kernels.cubes]
HERE = "kernels_to_list.py"

needs_spirv_dis = pytest.mark.skipif(shutil.which("spirv-dis") is None, reason="apt-get install spirv-tools")
needs_nvdisasm = pytest.mark.skipif(find_nvdisasm() is None, reason="pip install nvidia-cuda-nvdisasm")


def example(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def python_lines(text: str, mark: str) -> set[int]:
    """Return the Python lines that stand behind the instructions of a listing."""
    return {int(found) for found in re.findall(rf"{mark} {re.escape(HERE)}:(\d+)$", text, re.MULTILINE)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("language", ARCHES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_every_line_of_a_body_has_the_python_line_of_the_comment_above_it(kernel, language) -> None:
    inspection = kernel.inspect(arch=ARCHES[language])
    for file, entry in zip(inspection.module.files, inspection.map["files"], strict=True):
        lines = file.text.splitlines()
        assert [line["line"] for line in entry["lines"]] == list(range(1, len(lines) + 1))
        said = None
        for text, line in zip(lines, entry["lines"], strict=True):
            comment = re.search(r"// (\S+\.py|):(\d+)(?:  |, |$)", text)
            if comment is not None and not text.strip().startswith("//"):
                assert line["python"]["line"] == int(comment[2]), text
            elif comment is None and said is not None and text.strip() not in ("", "}"):
                assert line["python"] == said, text
            if comment is not None and not text.startswith("// from "):
                said = {"file": kernels.__file__, "line": int(comment[2])}
            if text == "}":
                said = None


@pytest.mark.parametrize("language", ARCHES)
def test_what_no_python_line_asked_for_says_generated(language) -> None:
    inspection = kernels.smooth.inspect(arch=ARCHES[language])
    (entry,) = inspection.map["files"]
    lines = inspection.module.files[0].text.splitlines()
    generated = {text for text, line in zip(lines, entry["lines"], strict=True) if line["python"] == "generated"}
    assert {"struct Args {", "} args;"} & generated
    assert any("index +=" in text or "omp parallel" in text for text in generated), "the loop over threads"
    assert not any("sqrt" in text and "#" not in text and "inline" not in text for text in generated)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_values_of_the_ir_belong_to_their_line(kernel) -> None:
    inspection = kernel.inspect(arch=ti.cuda)
    final = inspection.forms["final"]
    number_of = {int(n): text for n, text in re.findall(r"^\s*\$(\d+)(.*)$", final, re.MULTILINE)}
    seen = {value for file in inspection.map["files"] for line in file["lines"] for value in line["ir"]}
    assert seen <= set(number_of)
    if kernel is kernels.smooth:
        (file,) = inspection.map["files"]
        (root,) = {
            tuple(line["ir"])
            for line in file["lines"]
            if line["python"] != "generated" and line["python"]["line"] == 16
        }
        assert any("sqrt" in number_of[value] for value in root)


@needs_spirv_dis
@pytest.mark.parametrize(("kernel", "expected"), [(kernels.smooth, {8, 9, 16}), (kernels.cubes, {29, 30, 36})])
def test_spirv_carries_python_lines(kernel, expected) -> None:
    text = kernel.inspect(arch=ti.vulkan).spirv
    assert expected <= python_lines(text, ";")
    assert "OpLine" not in text and "OpSource" not in text and "OpEntryPoint GLCompute" in text


def test_ptx_carries_python_lines_also_through_functions() -> None:
    text = kernels.smooth.inspect(arch=ti.cuda).ptx
    assert {8, 9, 16} <= python_lines(text, "//")
    assert ".loc" not in text and ".visible .entry smooth_0(" in text
    root = next(line for line in text.splitlines() if "sqrt." in line)
    assert root.endswith(f"// {HERE}:16")


@needs_nvdisasm
def test_sass_carries_python_lines_also_through_functions() -> None:
    text = kernels.smooth.inspect(arch=ti.cuda).sass
    assert {8, 9, 16} <= python_lines(text, "//")
    root = next(line for line in text.splitlines() if "MUFU.SQRT" in line)
    assert root.endswith(f"// {HERE}:16")
    assert "## File" not in text


@needs_nvdisasm
@needs_spirv_dis
@pytest.mark.parametrize("language", ["cuda", "vulkan"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_the_map_and_the_listings_say_the_same(kernel, language) -> None:
    inspection = kernel.inspect(arch=ARCHES[language])
    assert "missing" not in inspection.map
    for form in ("ptx", "sass") if language == "cuda" else ("spirv",):
        for listing, file, entry in zip(
            listings(inspection.module, form), inspection.module.files, inspection.map["files"], strict=True
        ):
            texts = listing.text.splitlines()
            of_map = {below: line for line in entry["lines"] for below in line[form]}
            assert set(of_map) == set(listing.locations), "every instruction stands in the map once"
            for below, line in of_map.items():
                said = texts[below - 1].rpartition(" ")[2]
                place = python_of(file, listing.locations[below])
                if place is None:
                    assert line["python"] == "generated" and said == f"{file.name}:{line['line']}"
                else:
                    assert line["python"] == {"file": place[0], "line": place[1]}
                    assert said == f"{Path(place[0]).name}:{place[1]}"


def test_lines_in_the_binary_change_no_instruction() -> None:
    for kernel in KERNELS:
        (file,) = kernel.inspect(arch=ti.cuda).module.files
        plain, _ = compile_cubin(file.text)
        explained = compile_explained(file, "sm_90", True)
        one, other = read_cubin(plain), read_cubin(explained.cubin)
        assert one == other
        assert code_of(plain) == code_of(explained.cubin)


def code_of(cubin: bytes) -> list[str]:
    """Return the machine code as text without places; [] where no tool is here to read it."""
    from shadesmith.runtime.workbench.inspect import cuda_listings

    return cuda_listings._disassembled(cubin).replace("\t", "").splitlines()[:0] if find_nvdisasm() is None else [
        line for line in cuda_listings._disassembled(cubin).splitlines() if re.match(r"\s*/\*", line)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["julia", "heat3d"])
def test_examples_show_cuda_ptx_and_sass_without_a_gpu(name) -> None:
    kernel = {"julia": "paint", "heat3d": "diffuse"}[name]
    inspection = getattr(example(name), kernel).inspect(arch=ti.cuda)
    assert f"// {name}.py:" in inspection.source and f"// {name}.py:" in inspection.ptx
    if find_nvdisasm() is not None:
        assert f"// {name}.py:" in inspection.sass


@needs_nvdisasm
def test_machine_code_for_another_architecture() -> None:
    older = kernels.smooth.inspect(arch="cuda:sm_80")
    assert older.sass != kernels.smooth.inspect(arch="cuda").sass and older.resources.device == "sm_80"
    assert ".target sm_80" in older.ptx


@pytest.mark.parametrize("name", ["cuda:80", "vulkan:sm_80", "metal", "nonsense", ":sm_80", ""])
def test_names_of_no_target_are_refused(name) -> None:
    with pytest.raises(ti.TaichiRuntimeError, match="is no target of shadesmith"):
        kernels.smooth.inspect(arch=name)


def test_the_map_is_plain_json_and_names_tasks(tmp_path) -> None:
    inspection = kernels.two.inspect(arch=ti.vulkan)
    data = json.loads(json.dumps(inspection.map))
    assert data == inspection.map and data["version"] == 1 and data["target"] == "vulkan"
    assert [task["file"] for task in data["tasks"]] == [file["name"] for file in data["files"]]


@pytest.mark.parametrize("language", ARCHES)
def test_tasks_have_their_lines(language) -> None:
    inspection = kernels.two.inspect(arch=ARCHES[language])
    texts = {file.name: file.text.splitlines() for file in inspection.module.files}
    for task in inspection.map["tasks"]:
        begin, end = task["lines"]
        part = texts[task["file"]][begin - 1 : end]
        assert part[-1] == "}" and sum(f" {task['entry']}(" in line for line in part) == 1


def test_a_form_of_another_target_lists_those_there_are() -> None:
    with pytest.raises(KeyError, match="no form `sass`; there are python, .*, source, spirv"):
        kernels.smooth.inspect(arch=ti.vulkan).sass
    with pytest.raises(KeyError, match="no form `spirv`; there are python, .*, source$|source'"):
        kernels.smooth.inspect(arch=ti.cpu).spirv


def test_missing_tools_are_named_with_how_to_get_them(monkeypatch) -> None:
    from shadesmith.runtime.workbench.inspect import cuda_listings, spirv_listings

    cuda_listings._disassembled.cache_clear()
    spirv_listings._spirv_text.cache_clear()
    monkeypatch.setattr(cuda_listings, "find_nvdisasm", lambda: None)
    monkeypatch.setattr(spirv_listings.shutil, "which", lambda name: None)
    inspection = kernels.smooth.inspect(arch=ti.cuda)
    with pytest.raises(ti.TaichiRuntimeError, match="pip install nvidia-cuda-nvdisasm"):
        inspection.sass
    assert (
        "nvdisasm" in inspection.map["missing"]["sass"] and inspection.map["files"][0]["lines"][20]["ptx"] is not None
    )
    with pytest.raises(ti.TaichiRuntimeError, match="apt-get install spirv-tools"):
        kernels.smooth.inspect(arch=ti.vulkan).spirv


def test_an_edited_text_keeps_its_python_lines() -> None:
    from shadesmith.runtime.workbench.edits.edited_module import edited_module

    inspection = kernels.smooth.inspect(arch=ti.cuda)
    module = inspection.module
    name, text = module.files[0].name, module.files[0].text
    mine = '// mine\n#line 900 "else.cu"\n#define BLOCK 64'
    changed = edited_module(module, {name: text.replace("#define BLOCK 128", mine)})
    (listing,) = listings(changed, "ptx")
    assert {8, 9, 16} <= python_lines(listing.text, "//") and ".maxntid 64" in listing.text
