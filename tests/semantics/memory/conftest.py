"""Collections of garbage are short in these tests, which ask for many."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def what_other_tests_left_is_not_visited() -> None:
    """Let collections pass over all objects that other files of tests made."""
    gc.collect()
    gc.freeze()
