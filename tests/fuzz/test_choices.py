"""A sample of the random kernels that are aimed at the choices for GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.choices import Choices, differences, small_is_large
from fuzz.loops import FAMILIES as LOOPS
from fuzz.shared_values import FAMILIES as SHARED

import shadesmith as ti

FAMILIES = ("rows", "moves", "stencil", "tiles", "local", "serial", "scatter", "cells", "corners", *LOOPS, *SHARED)
FIRST = {"cpu": 0, "vulkan": 100, "cuda": 200}
MANY, FEW = 20, 1


@pytest.mark.all_targets
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", FAMILIES)
def test_choices(target: str, family: str, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if target not in FIRST or (target == "cpu" and family not in (*LOOPS, "corners", "halves")):
        pytest.skip("it has none of these passes")
    small_is_large(monkeypatch.setattr)
    for seed in range(FIRST[target], FIRST[target] + (MANY if full else FEW)):
        program = Choices(seed, (family,))
        assert differences(program, ti, target, tmp_path) == [], program.source
