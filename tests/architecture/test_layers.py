"""Imports go one way, from each layer to those below it; folders, files and functions stay small enough to be read."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from layers import APART, LAYERS, ROOT, SOURCES, imports, layer_of, loaded_modules

NAMES_ON_DEMAND = (ROOT / "runtime/compat/lazy.py", ROOT / "runtime/compat/inner.py")
"""Load what programs name below `shadesmith`: any public module."""
MAX_MODULES = 20


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_imports_go_down() -> None:
    assert [wrong for path in SOURCES for wrong in imports_up(path)] == []


def imports_up(path: Path) -> Iterator[str]:
    here = layer_of(path)
    for line, target, how in imports(path):
        if isinstance(target, str) or path in NAMES_ON_DEMAND and how == "importlib":
            continue
        there = layer_of(target)
        if there == "transpiler" and target.name == "__init__.py":
            continue  # the package itself, for its path
        if LAYERS.index(there) > LAYERS.index(here):
            yield f"{path}:{line}: {here} imports {there}, which is above it"
        apart = [next((a for a in APART if layer.startswith(a)), "") for layer in (here, there)]
        if "" not in apart and apart[0] != apart[1]:
            yield f"{path}:{line}: {here} imports {there}"


def test_no_file_is_imported_by_what_it_imports() -> None:
    graph = {
        path: {t for _, t, _ in imports(path) if isinstance(t, Path) and t != path and path not in NAMES_ON_DEMAND}
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


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ('".inner.one"', {"inner/one.py"}),
        ('"..above"', {"../above.py"}),
        ('f".inner.{name}"', {"inner/one.py", "inner/two.py"}),
        ('"json"', set()),
    ],
)
def test_imports_by_name_are_followed(tmp_path: Path, name: str, found: set[str]) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    for file in ("inner/one.py", "inner/two.py", "../above.py"):
        (folder / file).touch()
    call = ast.parse(f"import_module({name})", mode="eval").body
    assert isinstance(call, ast.Call)
    modules = {path.resolve() for path in loaded_modules(folder / "here.py", call) if isinstance(path, Path)}
    assert modules == {(folder / file).resolve() for file in found}


@pytest.mark.parametrize("call", ['import_module(".nowhere")', "import_module(name)", "loader(name, __package__)"])
def test_imports_that_cannot_be_followed_are_refused(tmp_path: Path, call: str) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    with pytest.raises(AssertionError, match=r"here\.py:1 imports"):
        list(loaded_modules(tmp_path / "here.py", node))


def test_calls_by_name_are_imports(tmp_path: Path) -> None:
    (tmp_path / "one.py").touch()
    here = tmp_path / "here.py"
    here.write_text(
        "import importlib\nimportlib.import_module('.one', __package__)\nuse(loader('.one', __package__))\n_my_loader(api)"
    )
    assert [(found.line, found.how) for found in imports(here)][1:] == [(2, "importlib"), (3, "importlib")]
