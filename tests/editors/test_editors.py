"""What editors and type checkers know of the package: the stubs are those of its names, and five programs pass."""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shadesmith as ti
from shadesmith.runtime.launch.kernel_tools import METHODS_OF_ARGUMENTS

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "stubs" / "shadesmith-stubs"
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
TOOLS = {"source", "edit", "inspect", "ir", "key", "compare", "bench", "tune", "report", "use", "last_launch", "grad"}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with the package and its stubs, as an installation has them."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "shadesmith").symlink_to(ROOT)
    (folder / "shadesmith-stubs").symlink_to(STUBS)
    return folder


def files_of(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.one_target
def test_the_stubs_are_those_of_the_package(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "stubs" / "generate.py"), str(tmp_path)], check=True)
    assert files_of(tmp_path) == files_of(STUBS), "run `make stubs`"


def test_the_stub_of_a_kernel_has_its_tools() -> None:
    stub = (STUBS / "__init__.pyi").read_text().partition("class Kernel(")[2].partition("\n@overload")[0]
    assert [name for name in METHODS_OF_ARGUMENTS if f"def {name}(" not in stub] == []


@pytest.mark.one_target
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = Path(shutil.copy(program, tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHADESMITH_ARCH", "python")
    runpy.run_path(str(copy), run_name="__main__")
    ti.reset()


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_mypy_accepts_the_programs(packages: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    environment = os.environ | {"PYTHONPATH": str(packages)}
    # Below the package's own folder, mypy reads a program as a module of the package, and its modules without the stubs.
    programs = [str(shutil.copy(program, tmp_path)) for program in PROGRAMS]
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--config-file", "/dev/null"]
    command += ["--cache-dir", str(tmp_path / "cache"), *programs]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_pyright_accepts_the_programs(packages: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    for program in PROGRAMS:
        shutil.copy(program, tmp_path)
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(packages)], "exclude": [packages.name]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings | {"pythonVersion": "3.10"}))
    command = [sys.executable, "-m", "pyright", "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = [item for item in json.loads(done.stdout)["generalDiagnostics"] if item["severity"] == "error"]
    assert found == []


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_jedi_completes_the_tools_of_a_kernel(packages: Path) -> None:
    jedi = pytest.importorskip("jedi")
    code = "import shadesmith as ti\n@ti.kernel\ndef fill(value: ti.f32) -> None: ...\nfill."
    script = jedi.Script(code, project=jedi.Project(str(packages), added_sys_path=[str(packages)]))
    assert {completion.name for completion in script.complete(4, 5)} >= TOOLS
