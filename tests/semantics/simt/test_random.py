"""Random programs of threads that meet give on every target what the interpreter gives, which cuts nothing."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from random_blocks import Program

import shadesmith as ti

SEEDS = range(6)


def run(path: Path, arch: str, turns: int) -> np.ndarray:
    ti.init(arch=getattr(ti, arch), log_level=ti.ERROR)
    spec = importlib.util.spec_from_file_location(f"{path.stem}_{arch}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    a, out = np.arange(turns, dtype=np.int32) % 7 - 3, np.zeros((turns, 4), np.int32)
    module.k(a, out, 2, turns)
    return out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.all_targets
def test_threads_meet_as_the_interpreter_has_it(target: str, seed: int, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("it is the measure")
    path = tmp_path / f"blocks_{seed}.py"
    path.write_text(Program(seed, with_subgroups=target != "vulkan").text())  # lavapipe's have 8 lanes
    turns = 48 if seed % 2 else 41
    assert (run(path, target, turns) == run(path, "python", turns)).all(), path.read_text()
