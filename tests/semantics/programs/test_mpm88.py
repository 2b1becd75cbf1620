"""Must 3: mpm88, as Taichi's wheel ships it and as we wrote it: total mass is exact, the centre of mass is Taichi's."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.examples import mpm88 as ours

CENTRES = {
    10: (0.39917305351809773, 0.39849998004501686),
    50: (0.39917305351809773, 0.390021736806375),
    200: (0.39917305351809773, 0.3526422112754517),
    2000: (0.4725173291368492, 0.20293418065011792),
}
"""Taichi 1.7.4, arch=cpu, on `start_positions(8192)`: centre of mass after so many substeps."""

SUBSTEPS = {"cpu": 2000, "cuda": 2000, "vulkan": 200, "python": 3}
SUBSTEPS_IN_FULL = {**SUBSTEPS, "vulkan": 2000}
"""lavapipe needs half a minute for 2000."""


def start_positions(count: int) -> np.ndarray:
    return (np.random.default_rng(88).random((count, 2)) * 0.4 + 0.2).astype(np.float32)


def wheel_program() -> Path | None:
    """Return Taichi's own mpm88.py where some Taichi is installed."""
    named = os.environ.get("SHADESMITH_TAICHI_WHEEL")
    if named:
        return Path(named)
    spec = importlib.util.find_spec("taichi")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "examples" / "simulation" / "mpm88.py"


def load(text: str, path: Path) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def centre(position: Any) -> np.ndarray:
    return position.to_numpy().astype(np.float64).mean(0)


@pytest.mark.all_targets
def test_the_program_of_taichis_wheel(target: str, full: bool, tmp_path: Path) -> None:
    path = wheel_program()
    if path is None or not path.exists():
        pytest.skip("no Taichi is installed, and SHADESMITH_TAICHI_WHEEL names no mpm88.py")
    text = path.read_text().replace("import taichi as ti", "import shadesmith as ti")
    head = text[: text.index("\ninit()\n")].replace("ti.init(arch=ti.gpu)", "")
    steps = (SUBSTEPS_IN_FULL if full else SUBSTEPS)[target]
    if target == "python":
        head = head.replace("n_particles = 8192", "n_particles = 64").replace("n_grid = 128", "n_grid = 16")
    module = load(head, tmp_path / "mpm88_of_the_wheel.py")
    count = module.n_particles
    module.init()
    assert 0.2 <= module.x.to_numpy().min() <= module.x.to_numpy().max() <= 0.6
    module.x.from_numpy(start_positions(count))
    for _ in range(steps):
        module.substep()
    mass = module.grid_m.to_numpy().astype(np.float64).sum()
    assert mass == pytest.approx(count * module.p_mass, rel=1e-6)
    if target != "python":
        assert np.abs(centre(module.x) - CENTRES[steps]).max() <= 1e-3


def test_the_whole_program_with_its_gui_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = wheel_program()
    if path is None or not path.exists():
        pytest.skip("no Taichi is installed, and SHADESMITH_TAICHI_WHEEL names no mpm88.py")
    monkeypatch.setenv("SHADESMITH_GUI_DIR", str(tmp_path / "frames"))
    monkeypatch.setenv("SHADESMITH_GUI_FRAMES", "2")
    monkeypatch.setenv("TI_ARCH", "cpu")
    monkeypatch.delenv("DISPLAY", raising=False)
    load(path.read_text().replace("import taichi as ti", "import shadesmith as ti"), tmp_path / "whole.py")
    assert len(list((tmp_path / "frames").glob("*.png"))) == 2
    ti.reset()


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_our_own_program(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count, steps = (ours.PARTICLES, 50) if target != "python" else (32, 2)
    monkeypatch.setattr(ours, "PARTICLES", count)
    ours.allocate()
    ours.start()
    first = start_positions(count)
    ours.position.from_numpy(first)
    for _ in range(steps):
        ours.substep()
    mass = ours.mass.to_numpy().astype(np.float64).sum()
    assert mass == pytest.approx(count * ours.VOLUME, rel=1e-6)
    # Until the block touches a wall only gravity changes its momentum.
    n = steps
    fall = n * ours.STEP + ours.GRAVITY * ours.STEP**2 * n * (n + 1) / 2
    assert np.abs(centre(ours.position) - (first.astype(np.float64).mean(0) - [0, fall])).max() <= 1e-4
