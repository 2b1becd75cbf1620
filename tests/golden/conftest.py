"""The fixture `golden`: compares a text with the file that holds what it was when somebody last read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "expected"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return `compare(name, text)`. With --update-golden it writes the file; the diff is then reviewed like code."""
    update = bool(request.config.getoption("--update-golden", default=False))

    def compare(name: str, text: str) -> None:
        path = FILES / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"{path} is missing: run pytest tests/golden --update-golden and read what it wrote"
        assert text == path.read_text(encoding="utf-8")

    return compare
