"""shadesmith's own sources and templates are part of keys: a changed copy of the package finds nothing of another's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2]
PROGRAM = """
import sys
import shadesmith as ti

ti.init(arch=ti.cpu, offline_cache=sys.argv[1] != "off", offline_cache_file_path=sys.argv[2])

@ti.kernel
def count(n: ti.i32) -> ti.i32:
    total = 0
    for i in range(n):
        total += i
    return total

print(count.key(5), count(5), ti.cache.stats().frontend_runs)
"""


@pytest.fixture(scope="module")
def say(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Return what runs a program with a copy of the package: its key, its result, and how often a frontend ran."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("runtime", "transpiler", "templates"):
        shutil.copytree(PACKAGE / name, folder / "shadesmith" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE / "__init__.py", folder / "shadesmith")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name != "SHADESMITH_OFFLINE_CACHE"}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(cache: str = "on") -> list[str]:
        command = [sys.executable, str(program), cache, str(folder / "cache")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    run.package = folder / "shadesmith"  # type: ignore[attr-defined]
    return run


@pytest.mark.exhaustive
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["templates/c/range_for.c.j2", "transpiler/passes/cleanup/fold.py"])
def test_a_changed_source_changes_the_key(name: str, say: Callable[..., list[str]]) -> None:
    first, again = say(), say()
    assert first[1] == "10" and again == [*first[:2], "0"]
    assert say("off")[:2] == first[:2]
    path: Path = say.package / name  # type: ignore[attr-defined]
    text = path.read_text()
    path.write_text(text + ("{# changed #}" if name.endswith(".j2") else "# changed\n"))
    changed = say()
    assert changed[0] != first[0] and changed[1:] == ["10", "1"]
    path.write_text(text)
    assert say() == again
