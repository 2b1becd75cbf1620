"""Reproducers run with no shadesmith, give what the kernel gave, and tell when their text gives something else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import compared
import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

ALONE = "import sys, runpy; sys.modules['shadesmith'] = None; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
SUFFIX = {"cpu": ".c", "vulkan": ".comp", "cuda": ".cu"}


@pytest.fixture(autouse=True)
def compiled(target: str) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")


def run(folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-c", ALONE, str(folder / "run.py")]
    done = subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize("maker", compared.MAKERS, ids=lambda maker: maker.__name__)
def test_a_reproducer_runs_without_shadesmith(target: str, tmp_path: Path, maker: Any) -> None:
    kernel, args = maker()
    folder = kernel.export_repro(*args, folder=tmp_path / "repro")
    code, said = run(folder)
    assert code == 0 and ": as expected" in said and "differ" not in said, said


def test_it_tells_what_a_change_of_its_text_changes(target: str, tmp_path: Path) -> None:
    kernel, args = compared.stencil()
    folder = kernel.export_repro(*args, folder=tmp_path / "repro")
    (file,) = folder.glob("*" + SUFFIX[target])
    file.write_text(file.read_text().replace("a(i - 1, j)", "a(i, j)"))
    code, said = run(folder)
    assert code == 1 and "b: 2795 numbers differ, the first at [1, 1]: expected" in said, said


@pytest.mark.all_targets
def test_inputs_are_arrays_where_they_can_be(target: str, tmp_path: Path) -> None:
    kernel, args = compared.product()
    folder = kernel.export_repro(*args, folder=tmp_path / "repro")
    assert np.array_equal(np.load(folder / "expected" / "c.npy"), args[2])
    if target == "cpu":
        assert np.load(folder / "inputs" / "c.npy").shape == (33, 21)


def test_structs_views_and_many_arguments_are_taken_along(target: str, tmp_path: Path) -> None:
    point = ti.types.struct(at=ti.math.vec3, mass=ti.f64)
    points = point.field(shape=(4, 5))

    @ti.kernel
    def weigh(x: ti.types.ndarray(ti.i32, 1), m: ti.types.matrix(4, 4, ti.f64)) -> ti.f64:
        for i, j in points:
            points[i, j].mass += i * j + m[1, 2]
        for i in x:
            x[i] += 1
        return points[3, 4].mass

    whole = ti.ndarray(ti.i32, 64)
    m = ti.Matrix([[float(4 * i + j) for j in range(4)] for i in range(4)], ti.f64)
    folder = weigh.export_repro(whole[::3], m, folder=tmp_path / "repro")
    code, said = run(folder)
    assert code == 0, said
    assert {"points.mass: as expected", "x: as expected", "return value: as expected"} <= set(said.splitlines())
    assert np.all(whole.to_numpy() == 0) and np.load(folder / "expected" / "points.mass.npy")[3, 4] == 18.0


def test_a_folder_in_use_and_a_sparse_tree_are_refused(target: str, tmp_path: Path) -> None:
    kernel, args = compared.bits()
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ti.TaichiRuntimeError, match="is not empty"):
        kernel.export_repro(*args, folder=tmp_path)
    x = ti.field(ti.f32)
    ti.root.pointer(ti.i, 8).place(x)

    @ti.kernel
    def fill():
        x[3] = 1.0

    with pytest.raises(ti.TaichiRuntimeError, match="sparse tree"):
        fill.export_repro(folder=tmp_path / "repro")
