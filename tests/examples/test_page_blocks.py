"""Every block of Python in the pages runs, and prints what its comments say; every command in them exists."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import page_frames
import pytest

import shadesmith as ti
from shadesmith.runtime.commands import command_line

DOCS = Path(__file__).resolve().parents[2] / "docs"
PRINTED_IN = ("first-kernel", "editors", "performance", "coming-from-others")
"""Pages whose comments behind `print` are what it prints."""
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
PATHS = {str(path.relative_to(DOCS))[:-3]: path for path in sorted(DOCS.rglob("*.md"))}
PATHS["README"] = DOCS.parent / "README.md"
BLOCKS = [
    (page, number, text)
    for page, path in PATHS.items()
    if page not in page_frames.CHECKED_ELSEWHERE
    for number, text in enumerate(BLOCK.findall(path.read_text("utf-8")))
]
SLOW = {("derivatives", 1), ("performance", 2), ("recording", 0), ("memory", 0)}
CASES = [
    pytest.param(*block, marks=[pytest.mark.exhaustive] if block[0] not in PRINTED_IN or block[:2] in SLOW else [])
    for block in BLOCKS
]


@pytest.mark.one_target
@pytest.mark.parametrize(("page", "number", "text"), CASES, ids=[f"{page}-{number}" for page, number, _ in BLOCKS])
def test_a_block_runs(page: str, number: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_memory = page in ("performance", "recording", "inspection", "derivatives", "passes", "graphs", "memory")
    monkeypatch.setenv("SHADESMITH_ARCH", "cpu" if needs_memory else "python")
    monkeypatch.chdir(tmp_path)
    program = tmp_path / f"block{number}.py"
    program.write_text(page_frames.program(page, number, text), encoding="utf-8")
    printed, init = io.StringIO(), ti.init
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(program.read_text("utf-8"), str(program), "exec"), {"__name__": "__main__"})
    finally:
        ti.init = init
        ti.reset()
    if page in PRINTED_IN:
        assert printed.getvalue().splitlines() == PRINTED.findall(text)


def test_every_command_of_a_page_exists() -> None:
    lines = [
        (page, line)
        for page, path in PATHS.items()
        for block in SHELL.findall(path.read_text("utf-8"))
        for line in block.splitlines()
    ]
    used = [
        (page, words.group(1)) for page, line in lines if (words := re.match(r"(?:\S+ -m )?shadesmith (\w+)", line))
    ]
    assert len(used) > 5
    assert [(page, name) for page, name in used if name not in command_line.COMMANDS] == []
    targets = set(re.findall(r"^([\w-]+):", (DOCS.parent / "Makefile").read_text("utf-8"), re.MULTILINE))
    made = [(page, word.group(1)) for page, line in lines if (word := re.match(r"make ([\w-]+)", line))]
    assert [(page, name) for page, name in made if name not in targets] == []


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_the_page_of_messages_is_that_of_the_catalogue() -> None:
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    code = f"import runpy; print(runpy.run_path({str(DOCS.parent / '.ci' / 'messages.py')!r})['page'](), end='')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == (DOCS / "troubleshooting.md").read_text("utf-8"), "run `python .ci/messages.py`"
