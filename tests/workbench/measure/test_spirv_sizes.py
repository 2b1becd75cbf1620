"""spirv-opt: switched on by an option, sizes before and after in reports, same results."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.commands.command_line import main
from shadesmith.runtime.devices.vulkan import glslang
from shadesmith.transpiler.errors import TaichiRuntimeError

needs_spirv_opt = pytest.mark.skipif(shutil.which("spirv-opt") is None, reason="spirv-opt is not installed")


def make():
    @ti.kernel
    def waves(x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
        total = 0.0
        for i in x:
            s = 0.0
            for k in range(4):
                s += ti.sin(x[i] * k) if i % 2 == 0 else ti.cos(x[i] + k)
            x[i] = s
            total += s
        return total

    return waves


@needs_spirv_opt
@pytest.mark.all_targets
def test_sizes_before_and_after_are_in_the_report(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level="warn")
    report = make().report(np.zeros(8, np.float32))
    if target != "vulkan":
        assert report.sizes == {} and "SPIR-V" not in str(report)
        return
    assert all(0 < after < before for before, after in report.sizes.values()) and report.sizes
    assert "bytes of SPIR-V" in str(report) and "after spirv-opt" in str(report)


@needs_spirv_opt
@pytest.mark.targets("vulkan")
def test_optimized_kernels_compute_the_same(target: str, tmp_path) -> None:
    if target != "vulkan":
        pytest.skip("only Vulkan runs SPIR-V")
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    results = []
    for optimized in (False, True):
        ti.init(arch=ti.vulkan, spirv_opt=optimized, offline_cache_file_path=tmp_path, log_level="warn")
        y = x.copy()
        results.append((make()(y), y))
    assert np.allclose(results[0][1], results[1][1], atol=1e-6) and results[0][0] == pytest.approx(results[1][0], 1e-5)


@pytest.mark.targets("vulkan")
def test_without_the_tool_a_launch_says_how_to_get_it(target: str, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    if target != "vulkan":
        pytest.skip("only Vulkan runs SPIR-V")
    monkeypatch.setattr(glslang, "find_optimizer", lambda: None)
    ti.init(arch=ti.vulkan, spirv_opt=True, offline_cache_file_path=tmp_path, log_level="warn")
    with pytest.raises(TaichiRuntimeError, match="spirv-tools"):
        make()(np.zeros(3, np.float32))


@needs_spirv_opt
@pytest.mark.exhaustive
def test_the_report_page_has_a_table_of_sizes(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "half.py"
    program.write_text(
        "import shadesmith as ti\n\n@ti.kernel\ndef half(x: ti.types.ndarray(ti.f32, 1)):\n    for i in x:\n"
        "        x[i] *= 0.5\n"
    )
    assert main(["report", str(program), "-o", str(tmp_path / "page.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernels"] == ["half"]
    page = (tmp_path / "page.html").read_text()
    assert "after spirv-opt [bytes]" in page and "ti.init(spirv_opt=True)" in page
