"""All 79 example programs of Taichi's wheel by `shadesmith run`, unchanged, without a window.

They are read from an installed Taichi, or from the folder SHADESMITH_TAICHI_EXAMPLES. Each ends without an error, or with
the one that names what is missing, and draws and prints what Taichi 1.7.4 does (`record_taichi_pictures.py` recorded it).
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from record_taichi_pictures import CELLS, thumbnail  # noqa: E402


def examples() -> Path | None:
    named = os.environ.get("SHADESMITH_TAICHI_EXAMPLES")
    spec = importlib.util.find_spec("taichi")
    return Path(named) if named else Path(spec.origin).parent / "examples" if spec and spec.origin else None


FOLDER = examples()
PROGRAMS = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.py")) if FOLDER is not None else []
RECORDED = json.loads((Path(__file__).parents[1] / "data/taichi_examples.json").read_text())
PACKAGES = r"pip install|ModuleNotFoundError: No module named '(matplotlib|cv2|scipy|cairo|wget)|requires cv2"
MISSING = {
    "features/io/export_videos.py": "videos need ffmpeg",
    "simulation/euler.py": "module 'matplotlib.cm' has no attribute 'get_cmap'",
}  # fmt: skip
"""What the error says where something of ours is missing; one that has come since is no failure."""
SLOW = 900
"""[s] `rendering/sdf_renderer.py` takes minutes on two cores."""
NEAR = 2.5
"""Difference of the means of 16 x 16 parts of a picture, of 255; texts have another font, and circles other edges."""
RANDOM = re.compile(r"ti\.random|tm\.random|np\.random|perf_counter|time\.time(_ns)?\(|ti\.randn|import random")
"""In programs whose pictures differ from run to run, or with the seed."""
ALIKE = 16
"""Difference of the mean colours of the pictures of these, of 255."""
LESS_ALIKE = {"rendering/rasterizer.py": 48}
"""The same for a program that draws a few large random triangles."""


def pixels_of(data: bytes) -> np.ndarray:
    """Return the pixels of a PNG as we write it, (height, width, 3): 8 bits, grey or with colours."""
    width, height, _, kind = np.frombuffer(data[16:24], ">u4").tolist() + [data[24], data[25]]
    channels, at, packed = {0: 1, 2: 3, 6: 4}[kind], 8, b""
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        packed += data[at + 8 : at + 8 + size] if data[at + 4 : at + 8] == b"IDAT" else b""
        at += size + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)[..., :3] * np.ones(3, np.uint8)


def check_picture(program: str, frames: list[Path], is_random: bool) -> None:
    """Compare a frame with Taichi's."""
    known = RECORDED[program]
    expected = np.frombuffer(base64.b64decode(known["thumbnail"]), np.uint8).reshape(CELLS, CELLS, 3).astype(int)
    assert frames, "no frame was drawn"
    found = thumbnail(pixels_of(frames[min(known["frame"], len(frames)) - 1].read_bytes())).astype(int)
    if is_random:
        assert np.abs(found.mean((0, 1)) - expected.mean((0, 1))).max() < LESS_ALIKE.get(program, ALIKE)
    else:
        assert np.abs(found - expected).mean() < NEAR


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", [name for name in PROGRAMS if not name.endswith("patterns.py")])
def test_a_program_runs_unchanged(target: str, program: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter would take hours")
    assert FOLDER is not None
    frames = tmp_path / "frames"
    words = [sys.executable, "-m", "shadesmith", "run", "--arch", target, "--frames", "3", str(FOLDER / program)]
    environment = {**os.environ, "MPLBACKEND": "Agg", "SHADESMITH_GUI_DIR": str(frames)}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SLOW, stdin=subprocess.DEVNULL
    )  # fmt: skip
    if done.returncode != 0:
        allowed = f"{PACKAGES}|{MISSING[program]}" if program in MISSING else PACKAGES
        assert re.search(allowed, done.stderr), done.stderr[-3000:]
        pytest.skip("a package or a feature is missing")
    known, is_random = RECORDED.get(program, {}), RANDOM.search((FOLDER / program).read_text()) is not None
    if "thumbnail" in known:
        check_picture(program, sorted(frames.glob("*.png")), is_random)
    elif "lines" in known and not is_random:
        assert sorted(map(numbers_rounded, done.stdout.splitlines())) == sorted(map(numbers_rounded, known["lines"]))


def numbers_rounded(line: str) -> str:
    """Return a line with 4 digits of each number: sums of floats depend on the order."""
    return re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda found: f"{float(found[0]):.3g}", line).strip()
