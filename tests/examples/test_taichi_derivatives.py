"""Taichi's example programs that differentiate, unchanged, with Taichi 1.7.4 and with us: the same numbers after 20 steps.

FUZZ_TAICHI names a Python that has Taichi; without it the tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

DRIVER = Path(__file__).with_name("taichi_derivatives.py")
PROGRAMS = {
    "autodiff/jacobian.py": 1e-6,
    "autodiff/minimization.py": 1e-5,
    "autodiff/regression.py": 1e-5,
    "autodiff/simple_derivative.py": 1e-6,
    "simulation/ad_gravity.py": 1e-5,
    "simulation/fem99.py": 1e-4,
    "simulation/fem128.py": 1e-4,
    "simulation/mpm_lagrangian_forces.py": 1e-4,
    "ggui_examples/fem128_ggui.py": 1e-4,
    "autodiff/diff_sph/diff_sph.py": 1e-6,
}
"""The difference that is allowed, as a part of the largest number."""
STEPS = {"diff_sph.py": 1}
"""Tapes: of `diff_sph` one, smaller, since Taichi needs a minute for it, and gives each candidate of `ti.atomic_max` the
gradient of the maximum: with 78 equal candidates a step, 1,000 times too much."""


def numbers(python: str, engine: str, program: Path, folder: Path, arch: str) -> np.ndarray:
    environment = {**os.environ, "TI_ARCH": "x64" if engine == "taichi" else "", "SHADESMITH_ARCH": arch}
    environment = {name: value for name, value in environment.items() if value}
    command = [python, str(DRIVER), engine, str(program), str(STEPS.get(program.name, 20))]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("NUMBERS "))
    return np.array(json.loads(line[len("NUMBERS ") :]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.all_targets
def test_a_program_of_taichi_gives_its_numbers(target: str, program: str, tmp_path: Path) -> None:
    python = os.environ.get("FUZZ_TAICHI")
    if python is None or target == "python":
        pytest.skip("FUZZ_TAICHI names no Python with Taichi, or the interpreter would take hours")
    if program.endswith("diff_sph.py") and target != "cpu":
        pytest.skip("line 113 stores behind the end of `output`, on GPUs into `target_centers`; debug=True names it")
    where = [python, "-c", "import importlib.util as u; print(u.find_spec('taichi').origin)"]
    found = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
    path = Path(found).parent / "examples" / program
    expected, actual = (
        numbers(*which, path, tmp_path, target) for which in ((python, "taichi"), (sys.executable, "shadesmith"))
    )
    assert actual.shape == expected.shape
    assert np.max(np.abs(actual - expected)) <= PROGRAMS[program] * np.max(np.abs(expected))
