"""Kernels with textures under `compare`, `bench` and `export_repro`: they run on copies of the textures."""

from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.commands.command_line import main


@ti.kernel
def add_one(t: ti.types.rw_texture(num_dimensions=1, fmt=ti.Format.r32f)):
    for i in range(8):
        t.store(i, t.load(i) + 1.0)


@ti.kernel
def blend(
    source: ti.types.texture(num_dimensions=2),
    target: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8),
    out: ti.types.ndarray(dtype=ti.f32, ndim=1),
):
    for i, j in ti.ndrange(4, 4):
        texel = source.fetch(ti.Vector([i, j]), 0)
        target.store(ti.Vector([j, i]), texel * 0.5)
    for i in out:
        out[i] = source.sample_lod(ti.Vector([i / 8.0, 0.5]), 0.0)[0]


def skip_interpreter(target: str) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")


@pytest.fixture
def edits(target: str, tmp_path: Path):
    """A session whose edits stand in a folder of the test's own."""
    skip_interpreter(target)
    arch = ti.cpu if target == "cpu" else getattr(ti, target)
    ti.init(arch=arch, enable_fallback=False, log_level=ti.WARN, edits_dir=str(tmp_path / "edits"))
    return tmp_path / "edits"


def edit(kernel, args, old: str, new: str) -> None:
    path = kernel.edit(*args)
    files = [path] if path.is_file() else [p for p in path.iterdir() if p.suffix in (".comp", ".c", ".cu")]
    changed = [file for file in files if old in file.read_text()]
    assert changed
    for file in changed:
        file.write_text(file.read_text().replace(old, new))


@pytest.mark.all_targets
def test_a_text_that_stores_the_same_passes(edits: Path) -> None:
    texture = ti.Texture(ti.Format.r32f, 8)
    edit(add_one, [texture], "1.0", "1.00")
    comparison = add_one.compare(texture)
    assert comparison.passed and list(comparison.outputs) == ["t"]
    np.testing.assert_array_equal(texture.to_numpy(), 0)


@pytest.mark.all_targets
def test_a_text_that_stores_another_texel_fails_by_name(edits: Path) -> None:
    texture = ti.Texture(ti.Format.r32f, 8)
    edit(add_one, [texture], "1.0", "3.0")
    comparison = add_one.compare(texture)
    assert not comparison.passed
    assert "t[0]" in str(comparison)
    np.testing.assert_array_equal(texture.to_numpy(), 0)


@pytest.mark.all_targets
def test_sampled_textures_and_arrays_are_compared_together(edits: Path) -> None:
    source, target = ti.Texture(ti.Format.rgba8, (4, 4)), ti.Texture(ti.Format.rgba8, (4, 4))
    source.from_numpy(np.arange(64).reshape(4, 4, 4) * 4)
    out = ti.ndarray(ti.f32, 8)
    edit(blend, [source, target, out], "0.5", "0.25")
    comparison = blend.compare(source, target, out)
    assert set(comparison.outputs) == {"source", "target", "out"}
    assert not comparison.outputs["target"].passed and comparison.outputs["source"].passed
    np.testing.assert_array_equal(target.to_numpy(), 0)
    np.testing.assert_array_equal(out.to_numpy(), 0)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_times_are_taken_on_copies(target: str) -> None:
    skip_interpreter(target)
    texture = ti.Texture(ti.Format.r32f, 8)
    assert "generated" in str(add_one.bench(texture, seconds=0.05))
    np.testing.assert_array_equal(texture.to_numpy(), 0)


@pytest.mark.all_targets
def test_a_living_texture_is_no_hindrance_to_others(edits: Path) -> None:
    @ti.kernel
    def double(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            x[i] = x[i] * 2.0

    kept = ti.Texture(ti.Format.r32f, 8)
    x = ti.ndarray(ti.f32, 8)
    edit(double, [x], "2.0", "2.00")
    assert double.compare(x).passed
    assert kept.shape == (8,)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_reproducer_holds_no_texture(target: str, tmp_path: Path) -> None:
    skip_interpreter(target)
    with pytest.raises(
        ti.TaichiRuntimeError, match="kernel `add_one` takes textures, which are not plain memory. Hint"
    ):
        add_one.export_repro(ti.Texture(ti.Format.r32f, 8), folder=tmp_path / "repro")


def test_a_report_names_textures(tmp_path: Path) -> None:
    ti.init(arch=ti.cpu)
    path = tmp_path / "program.py"
    path.write_text(Path(__file__).read_text())
    target = tmp_path / "report.html"
    assert main(["report", f"{path}:blend", "-o", str(target)]) == 0
    text = target.read_text()
    assert "handle of source" in text and "handle of target" in text
