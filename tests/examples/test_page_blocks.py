"""Every block of Python in the pages for newcomers runs, and prints what its comments say."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shadesmith as ti

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("first-kernel", "editors", "performance", "coming-from-others")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = [
    (page, n, text) for page in PAGES for n, text in enumerate(BLOCK.findall((DOCS / f"{page}.md").read_text("utf-8")))
]
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


@pytest.mark.one_target
@pytest.mark.parametrize(("page", "number", "text"), BLOCKS, ids=[f"{page}-{n}" for page, n, _ in BLOCKS])
def test_a_block_prints_what_it_says(
    page: str, number: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHADESMITH_ARCH", "python" if page != "performance" else "cpu")
    program = tmp_path / f"block{number}.py"
    program.write_text(text, encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, str(program), "exec"), {"__name__": "__main__"})
    ti.reset()
    assert printed.getvalue().splitlines() == PRINTED.findall(text)


def test_the_page_of_messages_is_that_of_the_catalogue(tmp_path: Path) -> None:
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    code = f"import runpy; print(runpy.run_path({str(DOCS.parent / '.ci' / 'site.py')!r})['troubleshooting'](), end='')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == (DOCS / "troubleshooting.md").read_text("utf-8"), "run `make docs`"
