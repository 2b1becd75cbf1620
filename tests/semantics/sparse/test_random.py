"""Random sparse trees do what a model of sets and NumPy arrays does: `support/kernels/random_sparse.py`. A third is checked."""

from __future__ import annotations

import pytest
from random_sparse import Case

import shadesmith as ti

TOGETHER = 4
"""Trees in one test."""
COUNT = 120
STEPS = 12


@pytest.mark.one_target
@pytest.mark.sampled(60)  # compilers take seconds for the kernels of one tree
@pytest.mark.parametrize("first", range(0, COUNT, TOGETHER))
def test_random_trees_do_what_sets_do(target: str, first: int) -> None:
    for seed in range(first, first + TOGETHER):
        ti.init(arch=getattr(ti, target), debug=seed % 3 == 0, enable_fallback=False, log_level=ti.WARN)
        Case(seed, target not in ("vulkan", "cuda")).run(STEPS)
