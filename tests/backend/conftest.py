"""Tests of the parts of the printers begin with a sketch of a kernel."""

from __future__ import annotations

import pytest
from sketch import Sketch


@pytest.fixture
def sketch() -> Sketch:
    return Sketch()
