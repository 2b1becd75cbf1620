"""Where imports are written, sizes of files and functions, docstrings, and what a distribution holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from layers import ROOT, SOURCES, imports, nodes_of, tree_of

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef]

HEAVY = {
    "jinja2", "vulkan", "cupy", "cupy_backends", "cupyx", "torch", "paddle", "rich", "glfw", "PIL", "platformdirs", "scipy",
}  # fmt: skip
NOT_SHIPPED = [
    *(ROOT / "runtime" / "c_api" / name for name in ("sections", "join.py", "__pycache__")),
    ROOT / "templates" / "__pycache__",
]
"""What `runtime/c_api/shadesmith.c`, which ships, is made from."""
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60


def test_imports_are_at_the_top_of_the_file() -> None:
    inside = [f"{path}:{line}: {what}" for path in SOURCES for line, what in misplaced(path)]
    assert inside == []


def misplaced(path: Path) -> Iterator[tuple[int, str]]:
    for line, target, how in imports(path):
        if target == "shadesmith":
            yield line, "use relative imports inside the package"
        elif how == "function" and target not in HEAVY:
            yield line, f"import of {target} inside a function"


def test_files_and_functions_stay_small() -> None:
    for path in SOURCES:
        lines = path.read_text().count("\n")
        assert lines <= MAX_FILE_LINES, f"{path} has {lines} lines"
        for node in nodes_of(path):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                assert length <= MAX_FUNCTION_LINES, f"{path}:{node.lineno} {node.name} has {length} lines"


def test_every_module_opens_with_a_docstring() -> None:
    without = [path for path in SOURCES if path.read_text().strip() and not ast.get_docstring(tree_of(path))]
    assert without == []


def test_package_list_equals_the_folders() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {"shadesmith", "shadesmith-stubs", "shadesmith-stubs.simt"} | {
        "shadesmith." + ".".join(p.parent.relative_to(ROOT).parts)
        for d in ("transpiler", "runtime", "examples")
        for p in (ROOT / d).rglob("__init__.py")
        if "distribution" not in p.parts
    }
    assert listed == folders


def test_package_data_names_every_template() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["shadesmith"]
    named = [p for pattern in patterns for p in ROOT.glob(pattern) if p.is_file()]
    there = [
        p
        for folder in ("templates", "examples/edits", "runtime/c_api", "runtime/taichi_name/distribution")
        for p in (ROOT / folder).rglob("*")
        if p.is_file() and not any(p.is_relative_to(source) for source in NOT_SHIPPED)
    ]
    sources = list((ROOT / "runtime/devices/host").glob("*.c"))
    assert sorted(named) == sorted([*there, *sources, ROOT / "py.typed"])


def test_no_syntax_newer_than_python_3_10() -> None:
    for folder in ("transpiler", "runtime", "examples", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree_of(path)  # SyntaxError


def test_the_root_holds_no_other_module() -> None:
    assert {p.name for p in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}
