"""Every block of Python in docs/coming-from-taichi.md and docs/meshes.md runs, and prints what its comments say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("coming-from-taichi.md", "meshes.md"))
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGES, re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


@pytest.mark.sampled(2)
@pytest.mark.one_target
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_prints_what_it_says(number: int, tmp_path: Path) -> None:
    program = tmp_path / "block.py"
    program.write_text(BLOCKS[number])
    environment = {key: value for key, value in os.environ.items() if key not in ("SHADESMITH_ARCH", "TI_ARCH")}
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = [line for comment in PRINTED.findall(BLOCKS[number]) for line in comment.split(" / ")]
    assert done.stdout.splitlines() == expected
