"""Where imports are written, sizes of files and functions, docstrings, and what a distribution holds."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from layers import ROOT, SOURCES, imports

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef]

HEAVY = {"jinja2", "vulkan", "cupy", "cupy_backends", "torch", "paddle", "rich", "glfw", "PIL", "platformdirs"}
NOT_SHIPPED = [ROOT / "runtime" / "c_api" / name for name in ("sections", "join.py", "__pycache__")]
"""What `runtime/c_api/shadesmith.c`, which ships, is made from."""
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_are_at_the_top_of_the_file(path: Path) -> None:
    for line, target, how in imports(path):
        assert target != "shadesmith", f"{path}:{line}: use relative imports inside the package"
        if how == "function":
            assert target in HEAVY, f"{path}:{line}: import of {target} inside a function"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= MAX_FILE_LINES, f"{path} has {text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{path}:{node.lineno} {node.name} has {length} lines"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_opens_with_a_docstring(path: Path) -> None:
    text = path.read_text()
    assert not text.strip() or ast.get_docstring(ast.parse(text)), f"{path} has no docstring"


def test_package_list_equals_the_folders() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {"shadesmith"} | {
        "shadesmith." + ".".join(p.parent.relative_to(ROOT).parts)
        for d in ("transpiler", "runtime", "examples")
        for p in (ROOT / d).rglob("__init__.py")
    }
    assert listed == folders


def test_package_data_names_every_template() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["shadesmith"]
    named = [p for pattern in patterns for p in ROOT.glob(pattern) if p.is_file()]
    there = [
        p
        for folder in ("templates", "examples/edits", "runtime/c_api")
        for p in (ROOT / folder).rglob("*")
        if p.is_file() and not any(p.is_relative_to(source) for source in NOT_SHIPPED)
    ]
    sources = list((ROOT / "runtime/devices/host").glob("*.c"))
    assert sorted(named) == sorted([*there, *sources, ROOT / "py.typed"])


def test_no_syntax_newer_than_python_3_10() -> None:
    for folder in ("transpiler", "runtime", "examples", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            ast.parse(path.read_text(), str(path), feature_version=(3, 10))


def test_the_root_holds_no_other_module() -> None:
    assert {p.name for p in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}
