"""All 79 example programs of Taichi's wheel by `shadesmith run`, unchanged, for three frames without a window.

They are read from an installed Taichi, or from the folder SHADESMITH_TAICHI_EXAMPLES. Each ends without an error, or with
the one that names what is missing.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def examples() -> Path | None:
    named = os.environ.get("SHADESMITH_TAICHI_EXAMPLES")
    spec = importlib.util.find_spec("taichi")
    return Path(named) if named else Path(spec.origin).parent / "examples" if spec and spec.origin else None


FOLDER = examples()
PROGRAMS = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.py")) if FOLDER is not None else []
PACKAGES = r"pip install|ModuleNotFoundError: No module named '(matplotlib|cv2|scipy|cairo|wget)|requires cv2"
MISSING = {
    "autodiff/diff_sph/diff_sph.py": "scenes in three dimensions",
    "ggui_examples/mass_spring_3d_ggui.py": "scenes in three dimensions",
    "ggui_examples/mpm3d_ggui.py": "scenes in three dimensions",
    "features/io/export_videos.py": "videos need ffmpeg",
    "simulation/euler.py": "module 'matplotlib.cm' has no attribute 'get_cmap'",
}  # fmt: skip
"""What the error says where something of ours is missing; one that has come since is no failure."""
SLOW = 900
"""[s] `rendering/sdf_renderer.py` takes minutes on two cores."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", [name for name in PROGRAMS if not name.endswith("patterns.py")])
def test_a_program_runs_unchanged(target: str, program: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter would take hours")
    assert FOLDER is not None
    words = [sys.executable, "-m", "shadesmith", "run", "--arch", target, "--frames", "3", str(FOLDER / program)]
    environment = {**os.environ, "MPLBACKEND": "Agg", "SHADESMITH_GUI_DIR": str(tmp_path / "frames")}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SLOW, stdin=subprocess.DEVNULL
    )  # fmt: skip
    if done.returncode != 0:
        allowed = f"{PACKAGES}|{MISSING[program]}" if program in MISSING else PACKAGES
        assert re.search(allowed, done.stderr), done.stderr[-3000:]
