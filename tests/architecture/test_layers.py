"""Imports go one way, from each layer to those below it; folders, files and functions stay small enough to be read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from layers import APART, LAYERS, ROOT, SOURCES, imports, layer_of

NAMES_ON_DEMAND = ROOT / "runtime/compat/lazy.py"
"""Loads what programs name below `shadesmith`: any public module."""
MAX_MODULES = 20


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=ids)
def test_imports_go_down(path: Path) -> None:
    here = layer_of(path)
    for line, target, how in imports(path):
        if isinstance(target, str) or path == NAMES_ON_DEMAND and how == "importlib":
            continue
        there = layer_of(target)
        if there == "transpiler" and target.name == "__init__.py":
            continue  # the package itself, for its path
        assert LAYERS.index(there) <= LAYERS.index(here), f"{path}:{line}: {here} imports {there}, which is above it"
        apart = [next((a for a in APART if layer.startswith(a)), "") for layer in (here, there)]
        assert "" in apart or apart[0] == apart[1], f"{path}:{line}: {here} imports {there}"


def test_no_file_is_imported_by_what_it_imports() -> None:
    graph = {
        path: {t for _, t, _ in imports(path) if isinstance(t, Path) and t != path and path != NAMES_ON_DEMAND}
        for path in SOURCES
    }
    state: dict[Path, int] = {}

    def visit(path: Path, trail: tuple[Path, ...]) -> None:
        if state.get(path) == 2:
            return
        assert path not in trail, "cycle: " + " -> ".join(map(ids, (*trail[trail.index(path) :], path)))
        for target in sorted(graph.get(path, ())):
            visit(target, (*trail, path))
        state[path] = 2

    for path in SOURCES:
        visit(path, ())


def test_no_folder_is_crowded() -> None:
    crowds = {folder: n for folder, n in Counter(path.parent for path in SOURCES).items() if n > MAX_MODULES}
    assert not crowds, crowds


def test_every_layer_exists() -> None:
    missing = [name for name in LAYERS if not (ROOT / name).is_dir() and not (ROOT / f"{name}.py").exists()]
    assert not missing
