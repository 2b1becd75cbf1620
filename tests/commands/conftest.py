"""Running commands of `shadesmith` in this process, on programs written to a folder of the test."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import shadesmith as ti
from shadesmith.runtime.commands.command_line import main


@dataclass(frozen=True)
class Said:
    """What a command gave. text: its standard output; notes: its standard error."""

    status: int
    text: str
    notes: str

    @property
    def data(self) -> Any:
        return json.loads(self.text)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Call it with the words of a command line."""
    for name in ("FORCE_COLOR", "SHADESMITH_ARCH", "TI_ARCH"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: object) -> Said:
        capsys.readouterr()
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:
            status = int(end.code or 0)
        said = capsys.readouterr()
        print(said.out, said.err, sep="\n", file=sys.stderr)  # shown where the test fails
        return Said(status, said.out, said.err)

    yield run
    ti.reset()


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """Write a program that has shadesmith as `ti`, and return its path."""

    def write(text: str, name: str = "program.py") -> Path:
        path = tmp_path / name
        path.write_text("import numpy as np\nimport shadesmith as ti\n\n" + dedent(text))
        return path

    return write


@pytest.fixture(autouse=True)
def narrow_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out `wide_accesses`: edits of the tests are made in sources of which a thread runs one iteration."""
    monkeypatch.setenv("SHADESMITH_PASSES", "-wide_accesses")
