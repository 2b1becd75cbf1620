"""The commands of docs/contributing/rows.md print what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "contributing" / "rows.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+?) \| `(.+?)` \| (?:`` ?(.+?) ?``|`(.+?)`) \|$", PAGE, re.MULTILINE)
NEEDED = {"spirv-opt": "S3-36"}


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name != "posix", reason="the commands are a shell's")
@pytest.mark.parametrize(("row", "command", "quoted", "plain"), ROWS, ids=[row[0] for row in ROWS])
def test_the_command_of_a_row_prints_what_the_page_says(
    row: str, command: str, quoted: str, plain: str, tmp_path: Path
) -> None:
    for tool, name in NEEDED.items():
        if row.startswith(name) and shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    program = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    (tmp_path / "rows.py").write_text(program[1])
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, words in (("python", ""), ("shadesmith", "-m shadesmith")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (tools / name).chmod(0o755)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SHADESMITH_ARCH", "TI_"))}
    variables |= {"PYTHONPATH": str(ROOT.parent), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    if row == "W-32":
        command = f"shadesmith edit rows.py:scale --arch cuda && {command}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=300
    )
    assert (quoted or plain) in done.stdout, f"{done.stdout}\n{done.stderr}"


def test_the_page_has_rows_of_each_field() -> None:
    assert len(ROWS) >= 18 and {"W-30", "W-32", "2.5-18"} <= {row[0] for row in ROWS}
