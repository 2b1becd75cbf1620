"""The programs of the five texts that the project began with, verbatim but for the import; and what they promise.

programs/julia_aot.py is taichi issue 8566, add.py "Life of a Taichi kernel", offline_cache.py issue 4401 (whose text
has no program of its own), taichi_add.py a walk through Taichi 1.2's code generator, recording.py and modules.py the
page of taichi.aot: without derivatives, with the archs that are given on the command line.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.inspect.inspection_tools import listings

PROGRAMS = Path(__file__).parent / "programs"
ARCHES = {"cpu": "cpu", "vulkan": "vulkan", "cuda": "cuda"}


def run_program(name: str, folder: Path, *words: str, **environment: str) -> str:
    """Run a program in a process of its own and return what it printed."""
    headless = {"SHADESMITH_GUI_FRAMES": "3", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAMS / f"{name}.py"), *words],
        cwd=folder, env=os.environ | headless | environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def namespace_of(name: str) -> dict[str, Any]:
    """Run a program here and return its names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", ".* falling back to ")
        return runpy.run_path(str(PROGRAMS / f"{name}.py"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    ti.reset()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- issue 8566: ahead of time -------------------------------------------------------------------------------------


def test_julia_is_archived_by_the_program_as_it_stands(here: Path) -> None:
    output = run_program("julia_aot", here)
    assert output.endswith("Module archived to 'build/module.tcm'\n")
    names = zipfile.ZipFile(here / "build" / "module.tcm").namelist()
    assert "module.json" in names and any(name.endswith(".comp") for name in names)


def test_julia_is_the_same_module_whether_it_ran_before_or_not(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SHADESMITH_GUI_FRAMES": "3", "DISPLAY": "", "WAYLAND_DISPLAY": ""}.items():
        monkeypatch.setenv(name, value)
    run_program("julia_aot", here)
    archive = here / "build" / "module.tcm"
    digests = [digest(archive)]
    compile_aot = namespace_of("julia_aot")["compile_aot"]
    for run in (True, False):
        archive.unlink()
        compile_aot(run=run)
        digests.append(digest(archive))
    assert len(set(digests)) == 1


# --- the life of a kernel ------------------------------------------------------------------------------------------


def test_add_has_two_instances_and_their_signatures(here: Path) -> None:
    names = namespace_of("add")
    add, x, y = names["add"], names["x"], names["y"]
    globals().update(x=x, y=y)
    assert len(add.instances()) == 2
    assert add.signature(x, 42) == add.signature(x, 1) == "(x, i32)"
    assert add.signature(y, 42) == "(y, i32)"
    assert x.to_numpy().tolist() == [43.0] * 128 and y.to_numpy().tolist() == [42.0] * 16


def test_a_kernel_is_compiled_once_an_instance(target: str) -> None:
    @ti.kernel
    def add(tensor: ti.template(), delta: ti.i32):
        for i in tensor:
            tensor[i] += delta

    with pytest.warns(ti.ShadesmithWarning, match="ti.var is the old name of ti.field"):
        x = ti.var(dt=ti.f32, shape=128)
    y = ti.field(ti.f32, 16)
    counts = [len(add.instances())]
    for field, delta in ((x, 42), (x, 1), (y, 42)):
        add(field, delta)
        counts.append(len(add.instances()))
    assert counts == [0, 1, 1, 2]
    assert x.to_numpy().tolist() == [43.0] * 128 and y.to_numpy().tolist() == [42.0] * 16


def test_add_is_not_atomic_and_says_why(target: str) -> None:
    x = ti.field(ti.f32, 128)

    @ti.kernel
    def add(tensor: ti.template(), delta: ti.i32):
        for i in tensor:
            tensor[i] += delta

    for arch in (ti.cpu, ti.vulkan, ti.cuda):
        text = add.source(x, 1, arch=arch)
        assert "not atomic" in text and "atomicAdd" not in text and "omp atomic" not in text


# --- issue 4401: the offline cache ---------------------------------------------------------------------------------


@pytest.mark.one_target
def test_a_second_process_compiles_nothing(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    options = {"SHADESMITH_OFFLINE_CACHE": "1", "SHADESMITH_CACHE_DIR": str(tmp_path / "cache")}
    program = tmp_path / "offline_cache.py"
    counts = "\nprint(ti.cache.stats().frontend_runs, sum(ti.cache.stats().compiler_runs.values()))\n"
    program.write_text((PROGRAMS / "offline_cache.py").read_text() + counts)
    first, second = (run_program(str(program.with_suffix("")), tmp_path, target, **options) for _ in range(2))
    assert first.startswith("16256.0\n2 ") and not first.endswith(" 0\n")
    assert second == "16256.0\n0 0\n"


# --- code generation: a texture and a graph ------------------------------------------------------------------------


def test_the_texture_program_adds_and_has_one_load_and_one_store(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = namespace_of("taichi_add")
    assert sessions.current_config().arch == ti.vulkan
    textures = [ti.Texture(ti.u8, 4, (128,)) for _ in range(2)]
    values = np.arange(512, dtype=np.uint8).reshape(128, 4)
    given = ti.ndarray(ti.types.vector(4, ti.u8), 128)
    given.from_numpy(values)
    textures[0].from_ndarray(given)
    names["g"].run({"in_ten": textures[0], "out_ten": textures[1], "nsize": 128, "addend": 10})
    sums = np.minimum(values.astype(int) + 10, 255)
    assert np.array_equal(textures[1].to_numpy().reshape(128, 4), sums)
    inspection = names["taichi_add"].inspect(*textures, 128, 10)
    text = inspection.source
    assert text.count("imageLoad(") == 1 and text.count("imageStore(") == 1
    (listing,) = listings(inspection.module, "spirv", inspection.gpu)
    assert listing.text.count("OpImageRead") == 1 and listing.text.count("OpImageWrite") == 1
    assert "taichi_add" in capfd.readouterr().out  # print_ir


# --- taichi.aot ----------------------------------------------------------------------------------------------------


def test_the_recording_program_is_recorded_and_replayed(here: Path) -> None:
    run_program("recording", here)
    text = (here / "record.yml").read_text()
    assert "name: compute_loss" in text and "name: do_some_works" in text
    words = [sys.executable, "-m", "shadesmith", "replay", "record.yml"]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "2 launches" in done.stdout, done.stderr


@pytest.mark.one_target
def test_fields_kernels_and_templates_are_saved(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    run_program("modules", tmp_path, target)
    archive = zipfile.ZipFile(tmp_path / "module.tcm")
    saved = {str(p.relative_to(tmp_path / "module")) for p in (tmp_path / "module").rglob("*") if p.is_file()}
    names = set(archive.namelist())
    assert names <= saved and (names == saved or target == "vulkan")  # its folder has files for Taichi's tools, too
    for name in names:
        assert (tmp_path / "module" / name).read_bytes() == archive.read(name)
