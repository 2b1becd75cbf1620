"""Random sparse trees do what a model of sets and NumPy arrays does: `support/kernels/random_sparse.py`. A third is checked."""

from __future__ import annotations

import os

import pytest
from random_sparse import Case

import shadesmith as ti

TOGETHER = 4
"""Trees in one test."""
COUNTS = {"python": 16, "cpu": 8, "vulkan": 4, "cuda": 16}
COUNT = max(COUNTS.values())
STEPS = 12
FULL = bool(os.environ.get("SHADESMITH_FULL"))
"""Whether each target has all trees: compilers take seconds for the kernels of one."""


@pytest.mark.parametrize("first", range(0, 120 if FULL else COUNT, TOGETHER))
def test_random_trees_do_what_sets_do(target: str, first: int) -> None:
    if not FULL and first >= COUNTS[target]:
        pytest.skip("SHADESMITH_FULL=1 runs it")
    for seed in range(first, first + TOGETHER):
        ti.init(arch=getattr(ti, target), debug=seed % 3 == 0, enable_fallback=False, log_level=ti.WARN)
        Case(seed, target not in ("vulkan", "cuda")).run(STEPS)
