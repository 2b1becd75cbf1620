"""Must 2: the program of Taichi issue #8566, kernel and GUI loop, runs with only its import changed."""

from __future__ import annotations

import importlib.util
import re
import struct
import zlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import shadesmith as ti

SEED = Path(__file__).parents[2] / "seeds" / "programs" / "julia_aot.py"
ARCHIVES = re.compile(r"^    mod = .*?(?=^if __name__)", re.DOTALL | re.MULTILINE)
"""The lines of the program that archive a module: the interpreter has no archives, and tests/seeds runs them."""
PROGRAM = ARCHIVES.sub("", SEED.read_text())

SIZES = {"cpu": 1024, "cuda": 1024, "vulkan": 256, "python": 16}
SIZES_IN_FULL = {**SIZES, "vulkan": 1024}
FRAMES = 2


def julia(n: int, t: float) -> np.ndarray:
    """Return what the kernel means, in float32: (2 n, n)."""
    f = np.float32
    i, j = np.meshgrid(np.arange(2 * n, dtype=f), np.arange(n, dtype=f), indexing="ij")
    x, y = (i / f(n) - f(1)) * f(2), (j / f(n) - f(0.5)) * f(2)
    steps = np.zeros((2 * n, n), np.int32)
    for _ in range(50):
        going = np.sqrt(x * x + y * y) < f(20)
        x, y = (
            np.where(going, x * x - y * y + f(-0.8), x),
            np.where(going, y * x * f(2) + np.cos(f(t)) * f(0.2), y),
        )
        steps += going
    return f(1) - steps.astype(f) * f(0.02)


def program(target: str, folder: Path, size: int) -> ModuleType:
    text = PROGRAM.replace("ti.vulkan", f"ti.{target}").replace("n = 1024", f"n = {size}")
    path = folder / "seed.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("seed", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_png(path: Path) -> np.ndarray:
    """Return the red channel of one of our own PNGs, as (width, height) from the bottom left, 0 to 1."""
    data = path.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    packed, place = b"", 8
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        packed += data[place + 8 : place + 8 + size] if kind == b"IDAT" else b""
        place += size + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)[:, 1:]
    return rows.reshape(height, width, 3)[::-1, :, 0].T / 255


def test_the_program_paints_julia_sets(
    target: str, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (SIZES_IN_FULL if full else SIZES)[target]
    monkeypatch.setenv("SHADESMITH_GUI_DIR", str(tmp_path / "frames"))
    monkeypatch.setenv("SHADESMITH_GUI_FRAMES", str(FRAMES))
    monkeypatch.delenv("DISPLAY", raising=False)
    images: list[np.ndarray] = []
    show = ti.GUI.set_image
    monkeypatch.setattr(ti.GUI, "set_image", lambda gui, image: (images.append(image.copy()), show(gui, image))[1])
    program(target, tmp_path, size).compile_aot(run=True)
    files = sorted((tmp_path / "frames").glob("Julia_Set-*.png"))
    assert len(images) == len(files) == FRAMES
    for number, (image, file) in enumerate(zip(images, files)):
        expected = julia(size, (number + 1) * 0.03)
        assert image.dtype == np.float32
        assert (np.abs(image - expected) > 1e-4).mean() <= 0.001
        assert np.abs(read_png(file) - image.clip(0, 1)).max() <= 1 / 255 + 1e-6  # fractions are dropped, as in Taichi


def test_the_program_without_its_loop(target: str, tmp_path: Path) -> None:
    program(target, tmp_path, SIZES[target]).compile_aot()
    assert ti.lang.impl.current_cfg().arch == getattr(ti, target)
