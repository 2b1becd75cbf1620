"""A file of a pass has that pass alone, and no other module imports it: what passes share is in `analysis` or `parts`."""

from __future__ import annotations

from pathlib import Path

import pytest
from layers import ROOT, SOURCES, imports

from shadesmith.transpiler.passes import PASSES, Cleanup

FOLDER = ROOT / "transpiler/passes"
CLEANS = "`wide_accesses` cleans up the copies of a body that it makes"
ENGINES = {
    "analysis/call_effects": "`single_iterations` adds functions, whose callers need to know what they read and write",
    "cleanup/common_subexpressions": CLEANS,
    "cleanup/dead_code": CLEANS,
    "cleanup/fold": CLEANS,
    "cleanup/simplify": CLEANS,
}
"""Passes that other passes run, each with a reason."""

NAMES: dict[str, set[str]] = {}
"""The passes of each file."""
for group in PASSES.values():
    for item in group:
        for step in item if isinstance(item, Cleanup) else (item,):
            file = step.__module__.partition(".transpiler.passes.")[2].replace(".", "/")
            NAMES.setdefault(file, set()).add(step.__name__)


def name_of(path: Path) -> str:
    """Return the path of a module below the folder of the passes."""
    return path.relative_to(FOLDER).with_suffix("").as_posix()


MODULES = [path for path in SOURCES if FOLDER in path.parents and path.parent != FOLDER and path.name != "__init__.py"]


def test_a_pass_has_the_name_of_its_file() -> None:
    assert [file for file, names in NAMES.items() if file.rpartition("/")[2] not in names] == []


def test_what_is_no_pass_is_in_a_folder_that_says_so() -> None:
    others = [name_of(path) for path in MODULES if name_of(path) not in NAMES]
    assert [name for name in others if not name.startswith("analysis/") and "/parts/" not in name] == []
    assert [name for name in NAMES if "/parts/" in name] == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_pass_imports_another(path: Path) -> None:
    targets = [target for _, target, _ in imports(path) if isinstance(target, Path) and FOLDER in target.parents]
    assert [name for name in map(name_of, targets) if name in NAMES and name not in ENGINES] == []


def test_each_engine_is_needed() -> None:
    imported = {target for path in MODULES for _, target, _ in imports(path) if isinstance(target, Path)}
    assert [name for name in ENGINES if FOLDER / f"{name}.py" not in imported] == []


def test_tests_of_a_pass_are_in_the_folder_of_its_name() -> None:
    folders = {path.name: path.parent.name for path in (ROOT / "tests/passes").glob("*/test_*.py")}
    assert [name for name in folders.values() if not (FOLDER / name).is_dir()] == []
    own = {file: folders.get(f"test_{file.rpartition('/')[2]}.py") for file in NAMES}
    assert [file for file, folder in own.items() if folder is not None and folder != file.partition("/")[0]] == []
