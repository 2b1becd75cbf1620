"""`one_file=True`: GLSL of several tasks in one file, which runs, is checked, edited, listed and shipped as others are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.backend.module.one_file import text_of

floats = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def twice(x: floats) -> ti.f32:
    for i in x:
        x[i] += 1.0
    x[0] = 3.0
    ti.loop_config(block_dim=64)
    for i in x:
        x[i] *= 2.0
    total = 0.0
    for i in x:
        total += x[i]
    return total


@pytest.fixture
def one_file(target: str, tmp_path: Path) -> Any:
    ti.init(arch=getattr(ti, target), one_file=True, edits_dir=str(tmp_path / "edits"), passes="-wide_accesses")
    return np.ones(1000, np.float32)


@pytest.mark.all_targets
def test_a_kernel_of_several_tasks_is_one_file(one_file: Any, target: str) -> None:
    assert twice(one_file) == (3 + 999 * 2) * 2 and one_file[:2].tolist() == [6, 4]
    module = twice.inspect(one_file).module
    assert len(module.files) == 1 and len(module.tasks) >= 4
    if target == "vulkan":
        text = module.files[0].text
        assert text.count("void main() {") == 4 and text.count("uniform Args {") == 1
        assert text.index("#if TASK == 2") < text.index("#define BLOCK 64") < text.index("#if TASK == 3")


@pytest.mark.targets("vulkan")
def test_an_edit_of_it_runs_and_is_checked_at_its_lines(one_file: Any, target: str) -> None:
    if target != "vulkan":
        pytest.skip("GLSL alone has a file for each task")
    path = twice.edit(one_file)
    text = path.read_text()
    path.write_text(text.replace("x(i) *= 2.0", "x(i) *= 4.0").replace("BLOCK 64", "BLOCK 32"))
    x = np.ones(1000, np.float32)
    assert twice(x) == (3 + 999 * 2) * 4 and twice.last_launch.variant == "edit"
    assert "of block 32:" in str(twice.launch_plan(x))
    for old, new, said in (("x(i) *= 2.0", "x(i) *= two", "two"), ("int x_n;", "float x_n;", "x_n")):
        line = next(k for k, one in enumerate(text.split("\n"), 1) if old in one)
        path.write_text(text.replace(old, new))
        with pytest.raises(ti.EditError) as raised:
            twice(x)
        assert f"twice.comp:{line}: " in str(raised.value) and said in str(raised.value)
        assert str(raised.value).count(f"twice.comp:{line}: ") == 1


@pytest.mark.targets("vulkan")
def test_listings_and_archives_have_each_task(one_file: Any, target: str, tmp_path: Path) -> None:
    if target != "vulkan":
        pytest.skip("GLSL alone has a file for each task")
    assert twice.inspect(one_file).spirv.count("OpEntryPoint") == 4
    module = ti.aot.Module(ti.vulkan)
    module.add_kernel(twice, template_args={"x": ti.ndarray(ti.f32, 1000)})
    module.archive(tmp_path / "twice.tcm")
    y = ti.ndarray(ti.f32, 1000)
    y.fill(1.0)
    assert ti.aot.load(tmp_path / "twice.tcm").kernels["twice"](y) == (3 + 999 * 2) * 2


def test_lines_of_other_sections_are_blank() -> None:
    text = "a\n#if TASK == 0\nb\n#if X\nc\n#endif\n#endif  // TASK\n#if TASK == 1\nd\n#endif\ne"
    assert text_of(text, 0) == "a\n\nb\n#if X\nc\n#endif\n\n\n\n\ne"
    assert text_of(text, 1) == "a\n\n\n\n\n\n\n\nd\n\ne"
