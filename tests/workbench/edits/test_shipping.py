"""Edits that travel: a project with an edited kernel becomes a wheel, which runs the edit where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti

PROJECT = """
[project]
name = "waves"
version = "1.0"
description = "kernels with edits"

"""
SETUPTOOLS = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
packages = ["waves"]

[tool.setuptools.package-data]
waves = ["edits/**/*"]
"""
HATCHLING = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
"""
FLIT = """
[build-system]
requires = ["flit_core"]
build-backend = "flit_core.buildapi"
"""
BACKENDS = {
    "setuptools": (["setuptools", "wheel"], SETUPTOOLS),
    "setuptools-68": (["setuptools==68.0.0", "wheel"], SETUPTOOLS),
    "hatchling": (["hatchling"], HATCHLING),
    "flit": (["flit_core"], FLIT),
}
"""What pip installs, and what docs/hand-tuning.md says to write."""

PROGRAM = """
    @ti.kernel
    def scale(a: ti.f32, x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] = a * x[i]


    @ti.data_oriented
    class Body:
        def __init__(self, mass):
            self.mass = mass

        @ti.kernel
        def weigh(self, x: ti.types.ndarray(ti.f32, 1)):
            for i in x:
                x[i] = self.mass
"""
USE = """
import numpy as np
import shadesmith as ti
from waves import Body, scale
ti.init(arch=getattr(ti, "{arch}"), log_level="warn", edits="{edits}")
x = np.ones(8, np.float32)
scale(2.0, x)
print(x[0], scale.last_launch.variant, *scale.last_launch.paths)
for mass in (3.0, 4.0):
    Body(mass).weigh(x)
    print(x[0], Body.weigh.last_launch.variant)
"""
CHANGES = {
    "the line of the edit": ("a * x[i]", "a * x[i] * x[i]"),
    "another line": ("for i in x:", "for j in x:\n        i = j"),
}


def run(
    folder: Path, arch: str, python: str, paths: list[str], edits: str = "strict"
) -> subprocess.CompletedProcess[str]:
    """Run a program that uses the installed package. paths: where it and shadesmith are found."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [python, "-W", "ignore", "-c", USE.format(arch=arch, edits=edits)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def project(folder: Path, backend: str) -> Path:
    """Write a project with an edited kernel, and an edited method of one object."""
    (folder / "waves").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT + backend)
    program = written_programs.write(folder / "waves" / "__init__.py", PROGRAM)
    path = program.scale.edit(2.0, ti.ndarray(ti.f32, 8))
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    path = program.Body(3.0).weigh.edit(np.ones(8, np.float32))
    written_programs.replaced(path, "= 3.0f" if "3.0f" in path.read_text() else "= 3.0", "= 33.0")
    return folder


def built(folder: Path, python: str) -> Path:
    """Return the wheel that a Python with the build backend makes of a project."""
    pip = [python, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index", "-w"]
    done = subprocess.run([*pip, str(folder / "dist"), str(folder)], timeout=300, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (found,) = (folder / "dist").glob("*.whl")
    return found


def check(target: str, folder: Path, installed: Path, python: str, paths: list[str]) -> None:
    """Check that the edits run, and that after a change of the Python they are refused and not touched."""
    done = run(folder, target, python, paths)
    assert done.returncode == 0, done.stderr
    first, *bodies = done.stdout.splitlines()
    value, variant, path = first.split()
    assert (float(value), variant) == (12, "edit") and Path(path).is_relative_to(installed / "waves" / "edits")
    assert bodies == ["33.0 edit", "4.0 generated"], "the edit of one object is not run for another"
    source = installed / "waves" / "__init__.py"
    written, before = source.read_text(), Path(path).read_bytes()
    for old, new in CHANGES.values():
        source.write_text(written.replace(old, new, 1))
        assert source.read_text() != written
        done = run(folder, target, python, paths)
        assert done.returncode == 1 and "EditError" in done.stderr, done.stdout + done.stderr
        assert Path(path).read_bytes() == before
        done = run(folder, target, python, paths, "fallback")
        assert done.returncode == 0 and done.stdout.startswith("2.0 generated"), done.stderr
    source.write_text(written)
    assert run(folder, target, python, paths).stdout.startswith("12.0 edit")


@pytest.fixture
def compiled(target: str) -> str:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    return target


def own_paths(folder: Path) -> list[str]:
    """Return the paths of this package, whatever its folder is called, and of what it needs."""
    package = folder / "own" / "shadesmith"
    package.parent.mkdir(parents=True, exist_ok=True)
    package.symlink_to(Path(ti.__file__).resolve().parent)
    given = filter(None, [os.environ.get("PYTHONPATH")])
    return [str(package.parent), *given, *(path for path in sys.path if path.endswith("-packages"))]


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_a_wheel_runs_its_edits(compiled: str, tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    wheel = built(project(tmp_path / "project", SETUPTOOLS), sys.executable)
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
        assert not [name for name in archive.namelist() if ".base" in name], "an edit needs no base to run"
    check(compiled, tmp_path, installed, sys.executable, [str(installed), *own_paths(tmp_path)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_each_build_backend_ships_edits(compiled: str, tmp_path: Path, backend: str) -> None:
    """A fresh environment builds the wheel with the backend, and another, elsewhere, runs it."""
    packages, recipe = BACKENDS[backend]
    builder, user = tmp_path / "builder", tmp_path / "elsewhere" / "user"
    for folder in (builder, user):
        venv.create(folder, with_pip=True)
    pip = [str(builder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]
    done = subprocess.run(pip, timeout=300, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"pip cannot install {packages[0]}: {done.stderr[-200:]}")
    wheel = built(project(tmp_path / "project", recipe), str(builder / "bin" / "python"))
    python = str(user / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, timeout=300, capture_output=True)
    (installed,) = user.glob("lib/python*/site-packages")
    check(compiled, tmp_path / "elsewhere", installed, python, own_paths(tmp_path))
