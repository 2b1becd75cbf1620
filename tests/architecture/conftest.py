"""Syntax trees of all sources, which the tests of this folder share, are left out of collections of garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def later_tests_do_not_visit_the_trees() -> Iterator[None]:
    """Freeze the trees: they are millions of objects, and a collection that visits them takes more than a second.

    While they are made there is none either: it takes two of nine seconds, and finds nothing.
    """
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
