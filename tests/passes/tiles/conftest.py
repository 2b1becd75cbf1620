"""Tests of tiles have small loops."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def tiles_of_few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few iterations be enough for tiles; leave out the interpreter, which has no blocks."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")
    for name in ("SHORT", "FEWEST", "THIN"):
        monkeypatch.setattr(sys.modules["shadesmith.transpiler.passes.tiles.parts.register_plan"], name, 1)
