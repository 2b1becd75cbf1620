"""A name that a program sets reaches neither a source nor a path as it is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.config import plain_name
from shadesmith.runtime.session import session as sessions

NAMES = (
    "../../x", "a\nb", "a\0b", "x" * 300, "\u00e9t\u00e9", "\u00e9" * 200, "CON", "nul", "Com1", "a b", "", "*/ int z;", "\\",
    "a/b", "..", ".", "'\"", "\u202e", "\ud800", "// @base 0123456789abcdef", "int", "-rf", "~", "$HOME", "`id`", "%s", "<x>",
    "x:y", "task", "main", "a" * 10_000,
)  # fmt: skip
ADD = """
    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] = x[i] + 1.0


    def make(name):
        function = add.definition.function
        copy = type(function)(function.__code__, globals(), name="add")
        copy.__name__ = copy.__qualname__ = name
        copy.__annotations__ = function.__annotations__
        return ti.kernel(copy)
"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_names_are_escaped(target: str, tmp_path: Path, name: str) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    program = written_programs.write(tmp_path / "p.py", ADD)
    ti.init(
        arch=sessions.CURRENT.arch, log_level=ti.WARN, dump_dir=str(tmp_path / "dump"), edits_dir=str(tmp_path / "e")
    )
    kernel, x = program.make(name), np.zeros(3, np.float32)
    path = kernel.edit(x)
    path.write_text(re.sub(r"1\.0(f?);", r"2.0\1;", path.read_text()))
    kernel(x)
    assert x.tolist() == [2, 2, 2] and kernel.last_launch.variant == "edit"
    module = ti.aot.Module(sessions.CURRENT.arch)
    module.add_kernel(kernel, name="k")
    module.archive(tmp_path / "k.tcm")
    ti.aot.load(tmp_path / "k.tcm").k(x)
    first = kernel.source(x).partition("\n")[0]
    named = r"// shadesmith [\d.]+, \w+ [0-9a-f]{8}, p\.py:4:( \w+\(x: ndarray\[f32, 1\]\))?"
    assert re.fullmatch(named, first) and first.isascii()
    for file in written_programs.below(tmp_path):
        for part in file.relative_to(tmp_path).parts:
            assert len(part.encode()) < 200 and re.fullmatch(r"[\w.@-]+", part), part
            assert not re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", part), part
    assert {file.relative_to(tmp_path).parts[0] for file in written_programs.below(tmp_path)} <= {
        "p.py", "e", "dump", "k.tcm", "__pycache__",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_plain_names(name: str) -> None:
    found = plain_name(name)
    assert re.fullmatch(r"[\w.]+", found) and len(found.encode()) <= 65 and found.strip(".") and found[0] != "."
    assert plain_name("x" * 300 + "a") != plain_name("x" * 300 + "b")
