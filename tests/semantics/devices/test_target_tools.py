"""Each target has one object with what differs from other targets; it is loaded when the target is first used."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import shadesmith as ti
from shadesmith.runtime.aot.archive_tools import ArchiveTools
from shadesmith.runtime.config import Config
from shadesmith.runtime.devices import target_tools
from shadesmith.runtime.devices.target_tools import TARGETS, TargetTools, all_tools, part_of, source_tools, tools_of
from shadesmith.runtime.workbench.check.edit_tools import EditTools
from shadesmith.runtime.workbench.inspect.inspection_tools import InspectionTools, forms_of
from shadesmith.transpiler.lang.arch import ARCHES

LOADED = """
import sys
import shadesmith as ti
{start}
loaded = [name.rpartition(".targets.")[2] for name in sys.modules if ".runtime.targets." in name]
print([name for name in sorted(loaded) if name != "registry"])
"""


@ti.kernel
def fill(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in x:
        x[i] = 1.0


@pytest.mark.parametrize("name", TARGETS)
def test_tools_are_those_of_their_target(name: str) -> None:
    tools = tools_of(name)
    assert tools.name == tools.portable.target == ARCHES[tools.arch].target == name


def test_every_architecture_with_a_target_has_tools() -> None:
    assert {arch.target for arch in ARCHES.values() if arch.target} == set(TARGETS)


@pytest.mark.parametrize("tools", source_tools(), ids=lambda tools: tools.name)
def test_files_of_a_target_have_its_suffix(tools) -> None:
    ti.init(ti.cpu)
    module = fill.inspect(ti.ndarray(ti.f32, 4), arch=ARCHES[tools.arch]).module
    assert [file.name for file in module.files] == [f"fill{tools.suffix}"]


def test_suffixes_and_languages_tell_targets_apart() -> None:
    assert len({tools.suffix for tools in source_tools()}) == len(source_tools())
    assert len({tools.language for tools in all_tools()}) == len(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_says_what_lies_below_its_source(name: str) -> None:
    assert list(forms_of(name)) == [form.name for form in part_of(name, InspectionTools).forms]


def test_a_target_without_a_part_says_so() -> None:
    with pytest.raises(ti.TaichiRuntimeError, match="target `python` has no editing"):
        part_of("python", EditTools)
    with pytest.raises(KeyError):
        tools_of("metal")


def test_tools_need_an_installed_loader(monkeypatch) -> None:
    monkeypatch.setattr(target_tools, "_LOADED", {})
    monkeypatch.setattr(target_tools, "_loader", target_tools._no_loader)
    with pytest.raises(ti.TaichiRuntimeError, match="install` was not called"):
        tools_of("c")


def test_a_part_that_fails_to_import_is_no_missing_part(monkeypatch) -> None:
    monkeypatch.setattr(target_tools, "_LOADED", {})
    monkeypatch.setitem(sys.modules, "shadesmith.runtime.aot.archive_tools", None)
    monkeypatch.delitem(sys.modules, "shadesmith.runtime.targets.cuda.archive", raising=False)
    with pytest.raises(ModuleNotFoundError, match="archive_tools"):
        part_of("cuda", ArchiveTools)


def test_a_target_may_emit_source_alone(monkeypatch) -> None:
    folder = ModuleType("shadesmith.runtime.targets.hip")
    folder.TOOLS = TargetTools(name="hip", arch="hip", portable=tools_of("cuda").portable, language="hip", title="HIP")
    folder.__path__ = []
    monkeypatch.setitem(sys.modules, folder.__name__, folder)
    monkeypatch.setattr(target_tools, "TARGETS", (*TARGETS, "hip"))
    monkeypatch.setattr(target_tools, "_LOADED", {})
    assert tools_of("hip") is folder.TOOLS and forms_of("hip") == {}
    with pytest.raises(ti.TaichiRuntimeError, match="target `hip` has no archive"):
        part_of("hip", ArchiveTools)
    with pytest.raises(ti.TaichiRuntimeError, match="no device"):
        tools_of("hip").open_device(Config(), True)


@pytest.mark.parametrize(
    ("start", "loaded"),
    [("", "[]"), ("ti.init(ti.cpu)", "['c']"), ("ti.init(ti.python)", "['python']")],
)
def test_only_the_target_that_is_used_is_loaded(start: str, loaded: str) -> None:
    program = LOADED.format(start=start)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == loaded
