"""The steps of docs/hour.md on the processor: loops in order, an edit that computes the same, a directive for CUDA."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "hour.md").read_text(encoding="utf-8")
PROGRAM = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
OF_CUDA, OF_C = re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL)
SLOW = """    for x in range(photo.shape[1]):
        for y in range(photo.shape[0]):
            total = 0.0
            for k in range(-radius, radius + 1):
                row = ti.min(ti.max(y + k, 0), photo.shape[0] - 1)
                total += photo[row, x]
            blurred[y, x] = total / (2 * radius + 1)
"""
FAST = """    for y, x in blurred:
        total = 0.0
        for k in range(-radius, radius + 1):
            row = ti.min(ti.max(y + k, 0), photo.shape[0] - 1)
            total += photo[row, x]
        blurred[y, x] = total / (2 * radius + 1)
"""
SIZE = ("--", "--size", "64")


def run(folder: Path, *words: str) -> str:
    variables = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    command = [sys.executable, "-m", "shadesmith", *words]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def edit(folder: Path, source: str, *options: str) -> Path:
    """Begin an edit, and replace all below the accessors."""
    path = Path(run(folder, "edit", "blur.py:blur", *options, *SIZE).split()[0])
    head = path.read_text().partition("// blur.py:11")[0]
    path.write_text(head.replace("BLOCK 128\n", "BLOCK 128\n#define ITEMS 16\n") + source)
    return path


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_the_hour(tmp_path: Path) -> None:
    assert SLOW in PROGRAM
    (tmp_path / "blur.py").write_text(PROGRAM)
    assert "blur.py:11" in run(tmp_path, "profile", "blur.py", *SIZE)
    (tmp_path / "blur.py").write_text(PROGRAM.replace(SLOW, FAST))
    edit(tmp_path, OF_C)
    assert "passed" in run(tmp_path, "compare", "blur.py:blur", *SIZE)
    assert "faster" in run(tmp_path, "bench", "blur.py:blur", "--", "--size", "512")
    state = run(tmp_path, "status", "blur.py")
    assert "edited" in state and "merges" not in state
    path = edit(tmp_path, OF_CUDA, "--arch", "cuda")
    run(tmp_path, "inspect", "blur.py:blur", "--arch", "cuda", "--variant", "edit", "--stage", "resources", *SIZE)
    path.unlink()
    path = Path(run(tmp_path, "edit", "blur.py:blur", "--arch", "cuda", *SIZE).split()[0])
    path.write_text(path.read_text().replace("BLOCK 128", "BLOCK 256"))
    assert "block_dim=256" in run(tmp_path, "adopt", "blur.py:blur", "--arch", "cuda", "--dry-run")
