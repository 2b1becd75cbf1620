"""All 79 example programs of Taichi's wheel by `shadesmith run`, unchanged, without a window.

Each ends without an error, or with the one that names a package that is missing, and draws, prints and writes what Taichi
1.7.4 does. `taichi_examples.py` runs and compares them, and makes the table of docs/contributing/taichi-examples.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("PIL")
sys.path.insert(0, str(Path(__file__).parent))
from taichi_examples import PROGRAMS, run  # noqa: E402


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_program_runs_unchanged(target: str, program: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter would take hours")
    found = run(program, target, tmp_path)
    if found.state == "missing":
        pytest.skip(f"it needs {found.reason}")
    assert found.state == "same", found.reason
