"""Edits that travel: a project with an edited kernel becomes a wheel, which runs the edit where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import written_programs

import shadesmith as ti

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "waves"
version = "1.0"

[tool.setuptools]
packages = ["waves"]

[tool.setuptools.package-data]
waves = ["edits/**/*"]
"""
KERNEL = """
    @ti.kernel
    def scale(a: ti.f32, x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] = a * x[i]
"""
USE = """
import numpy as np
import shadesmith as ti
from waves import scale
ti.init(arch=getattr(ti, "{arch}"), log_level="warn")
x = np.ones(8, np.float32)
scale(2.0, x)
print(x[0], scale.last_launch.variant, scale.last_launch.paths[0])
"""


def run(folder: Path, code: str, installed: Path) -> subprocess.CompletedProcess[str]:
    package = Path(ti.__file__).parent
    paths = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-W", "ignore", "-c", code]
    assert package.is_dir()
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def wheel(target: str, tmp_path: Path) -> Path:
    """A wheel of a project whose kernel multiplies by ten more than the Python says."""
    if target == "python":
        pytest.skip("the interpreter runs no text")
    project = tmp_path / "project"
    (project / "waves").mkdir(parents=True)
    (project / "pyproject.toml").write_text(PROJECT)
    program = written_programs.write(project / "waves" / "__init__.py", KERNEL)
    path = program.scale.edit(2.0, ti.ndarray(ti.f32, 8))
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index", "-w"]
    subprocess.run([*pip, str(tmp_path / "dist"), str(project)], check=True, timeout=300, capture_output=True)
    (found,) = (tmp_path / "dist").glob("*.whl")
    return found


def test_a_wheel_runs_its_edits(target: str, tmp_path: Path, wheel: Path) -> None:
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    done = run(tmp_path, USE.format(arch=target), installed)
    assert done.returncode == 0, done.stderr
    value, variant, path = done.stdout.split()
    assert (float(value), variant) == (12, "edit") and Path(path).is_relative_to(installed / "waves" / "edits")
    source = installed / "waves" / "__init__.py"
    source.write_text(source.read_text().replace("a * x[i]", "a * x[i] * x[i]"))
    before = Path(path).read_text()
    done = run(tmp_path, USE.format(arch=target), installed)
    assert done.returncode == 1 and "made for another generated source" in done.stderr, "a stale edit is refused"
    assert Path(path).read_text() == before
