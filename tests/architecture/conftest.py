"""Syntax trees of all sources, which the tests of this folder share, are left out of later collections of garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def later_tests_do_not_visit_the_trees() -> Iterator[None]:
    """Freeze the trees: they are millions of objects, and a collection that visits them takes more than a second."""
    yield
    gc.freeze()
