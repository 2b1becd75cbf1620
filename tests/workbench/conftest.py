"""Edits of the tests are made in sources that they know by heart: a thread runs one iteration at a time there."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def narrow_accesses(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out `wide_accesses`, but where a test is marked `wide`."""
    if request.node.get_closest_marker("wide") is None:
        monkeypatch.setenv("SHADESMITH_PASSES", "-wide_accesses")
