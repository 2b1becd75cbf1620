"""`shadesmith example`, `gallery` and `debug`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2]


def shadesmith(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "shadesmith", *map(str, words)]
    return subprocess.run(command, env=variables, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def test_examples_are_listed_printed_and_copied(command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed = {row["name"]: row["purpose"] for row in command("example", "--json").data["examples"]}
    assert {"julia", "mpm88", "pi"} <= set(listed) and all(listed.values())
    assert "def paint" in command("example", "julia", "-p").text
    assert command("example", "pi.py", "-s").text == "pi.py\n"
    assert (tmp_path / "pi.py").read_text() == (PACKAGE / "examples" / "pi.py").read_text()
    said = command("example", "pi", "-s")
    assert said.status == 2 and "exists already" in said.notes
    said = command("example", "julio")
    assert said.status == 2 and "did you mean `julia`?" in said.notes
    gallery = command("gallery", "--json").data["gallery"]
    assert {"cloth", "sph"} <= {row["name"] for row in gallery}


@pytest.mark.exhaustive
def test_an_example_runs_and_a_picture_is_made(tmp_path: Path) -> None:
    done = shadesmith("example", "pi", "--arch", "cpu", cwd=tmp_path)
    assert done.returncode == 0 and "3.1" in done.stdout
    done = shadesmith("gallery", "julia", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "julia.png").stat().st_size > 1000


WRONG = """import taichi as ti
ti.init(arch=ti.cpu, log_level=ti.WARN)
x = ti.field(ti.i32, shape=3)
@ti.kernel
def fill(n: ti.i32):
    for i in range(n):
        x[i] = i
fill(4)
"""


@pytest.mark.exhaustive
def test_debug_checks_indices_and_pdb_stops_at_the_error(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    done = shadesmith("debug", "wrong.py", cwd=tmp_path)
    assert done.returncode == 1 and "x[i] = i" in done.stderr and "Accessing field (x) of size (3)" in done.stderr
    done = shadesmith("debug", "--pdb", "wrong.py", cwd=tmp_path)
    assert "Entering post mortem debugging" in done.stdout and "fill(4)" in done.stdout
