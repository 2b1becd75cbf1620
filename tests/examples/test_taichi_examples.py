"""Must 7: programs of Taichi's wheel, read from it where one is installed, run 20 frames and draw what they should.

SHADESMITH_TAICHI_EXAMPLES names the folder `taichi/examples` where no Taichi is installed, or that of a copy of the wheel.
Frames are left under SHADESMITH_FRAMES, if set, for somebody to look at.
"""

from __future__ import annotations

import importlib.util
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

FRAMES = 20
HEADLESS = Path(__file__).with_name("headless.py")
PROGRAMS = {
    "rendering/cornell_box.py": 0.5,
    "rendering/sdf_renderer.py": 0.9,
    "features/gui/keyboard.py": 0.0005,
    "rendering/rasterizer.py": 0.2,
    "features/sparse/taichi_bitmasked.py": 0.005,
    "features/sparse/taichi_sparse.py": 0.3,
    "algorithm/marching_squares.py": 0.3,
    "algorithm/mciso_advanced.py": 0.03,
    "simulation/comet.py": 0.01,
    "simulation/initial_value_problem.py": 0.1,
    "simulation/laplace_equation.py": 0.01,
    "simulation/mandelbrot_zoom.py": 0.2,
    "simulation/mpm99.py": 0.03,
    "simulation/mpm3d.py": 0.03,
    "simulation/mass_spring_game.py": 0.005,
    "simulation/pbf2d.py": 0.03,
    "simulation/stable_fluid.py": 0.03,
}
"""By program: the least part of the picture that differs from its most frequent colour."""
PRINTED = {
    "features/sparse/explicit_activation.py": """field x[2, 4] = 0
field x[2, 5] = 0
field x[3, 4] = 0
field x[3, 5] = 0
Active block2: [1, 2]
Active block1: [0, 1]
Activity of block2[2, 0] = 0
Activity of block2[2, 1] = 0
Activity of block2[2, 2] = 1
Activity of block2[2, 3] = 0
Active block1: [0, 1]
[2, 4]
[2, 4]
1
0
1
0""",
    "features/sparse/tutorial.py": """use_bitmask=False
field x[i, j]=0
field x[i, j]=2
field x[i, j]=0
field x[i, j]=0
field x[i, j]=0
field x[i, j]=0
field x[i, j]=3
field x[i, j]=0
Active block: [1, 1]
Active block: [2, 3]""",
    "features/sparse/taichi_dynamic.py": "",
}
"""What programs without pictures print with Taichi 1.7.4; loops over active cells may do it in another order."""
SLOW = {"vulkan": ("rendering/cornell_box.py", "rendering/sdf_renderer.py", "simulation/stable_fluid.py")}
"""Programs that take minutes on lavapipe; they run at full length only."""


def examples() -> Path | None:
    named = os.environ.get("SHADESMITH_TAICHI_EXAMPLES")
    if named:
        return Path(named)
    spec = importlib.util.find_spec("taichi")
    return Path(spec.origin).parent / "examples" if spec is not None and spec.origin is not None else None


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_program_of_taichis_wheel_runs(target: str, program: str, full: bool, tmp_path: Path) -> None:
    folder = examples()
    if folder is None or not (folder / program).exists():
        pytest.skip("no Taichi is installed, and SHADESMITH_TAICHI_EXAMPLES names no folder of its examples")
    if target == "python":
        pytest.skip("the interpreter would take hours")
    if full != (program in SLOW.get(target, ())):
        pytest.skip("lavapipe takes minutes for some programs: they run at full length, others do not")
    frames = Path(os.environ.get("SHADESMITH_FRAMES", tmp_path)) / target / Path(program).stem
    frames.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SHADESMITH_ARCH": target, "SHADESMITH_GUI_DIR": str(frames)}
    command = [sys.executable, str(HEADLESS), str(folder / program), str(FRAMES)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    pictures = sorted(frames.glob("*.png"))
    assert len(pictures) == FRAMES
    assert drawn_part(pictures[-1]) >= PROGRAMS[program]
    assert pictures[0].read_bytes() != pictures[-1].read_bytes(), "nothing moves"


@pytest.mark.parametrize("program", PRINTED)
def test_a_program_of_taichis_wheel_prints_the_same(target: str, program: str, tmp_path: Path) -> None:
    folder = examples()
    if folder is None or not (folder / program).exists():
        pytest.skip("no Taichi is installed, and SHADESMITH_TAICHI_EXAMPLES names no folder of its examples")
    environment = {**os.environ, "SHADESMITH_ARCH": target}
    command = [sys.executable, str(HEADLESS), str(folder / program), "1"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert sorted(done.stdout.splitlines()) == sorted(PRINTED[program].splitlines())


def drawn_part(picture: Path) -> float:
    """Return the part of a picture that is not its most frequent colour."""
    pixels = decode_png(picture.read_bytes()).reshape(-1, 3)
    _, counts = np.unique(pixels @ np.array([65536, 256, 1]), return_counts=True)
    return 1 - counts.max() / len(pixels)


def decode_png(data: bytes) -> np.ndarray:
    """Return the pixels, (height, width, 3), of a PNG as `ti.GUI` writes it: 8-bit RGB, rows without a filter."""
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT") + 4
    (size,) = struct.unpack(">I", data[start - 8 : start - 4])
    rows = np.frombuffer(zlib.decompress(data[start : start + size]), np.uint8).reshape(height, 1 + width * 3)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)
