"""Sabotaged edits: none ends or hangs this process, and all that change a result are caught (`sabotaged.py`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import sabotaged
from sabotaged import SABOTAGED

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

pytestmark = [pytest.mark.exhaustive, pytest.mark.isolated]


@pytest.fixture(autouse=True)
def edits(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no source")
    sessions.CURRENT.config.edits_dir = str(tmp_path)


def chosen(text: Any, target: str) -> str:
    return text[target] if isinstance(text, dict) else text


def edit(kernel: Any, args: tuple[Any, ...], target: str, old: Any, new: Any) -> None:
    """Start an edit and replace a part of it."""
    before, after = chosen(old, target), chosen(new, target)
    if target == "vulkan":
        before, after = (re.sub(r"(\d\.\d+|\de\d+)f\b", r"\1", text) for text in (before, after))
    path = kernel.edit(*args)
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        text = file.read_text() if file.is_file() else ""
        changed = re.sub(before[3:], after, text, count=1) if before.startswith("re:") else text.replace(before, after)
        if changed != text:
            file.write_text(changed)
            return
    raise AssertionError(f"{before} is nowhere in {path}")


def answer(kernel: Any, args: tuple[Any, ...], **options: Any) -> str:
    """Return what `compare` says, also as an error."""
    try:
        return str(kernel.compare(*args, time_limit=3.0, **options))
    except (ti.TaichiCompilationError, ti.TaichiRuntimeError) as error:
        return str(error)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SABOTAGED)
def test_a_sabotaged_edit_is_caught_and_ends_nothing(target: str, name: str) -> None:
    sabotage = SABOTAGED[name]
    if target not in sabotage.targets:
        pytest.skip("it cannot be written in this language")
    kernel, args = sabotage.maker()
    edit(kernel, args, target, sabotage.old, sabotage.new)
    said = answer(kernel, args)
    assert re.search(chosen(sabotage.caught, target), said), said
    assert not re.search(r"\bTraceback\b", said)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_there_are_fifty(target: str) -> None:
    wrong = [name for name, sabotage in SABOTAGED.items() if sabotage.caught != sabotaged.HARMLESS]
    assert len(wrong) >= 50
