"""The rooms of DESIGN.md: who may import whom, no cycles, no imports in functions, sizes of files and functions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(p for d in ("transpiler", "runtime") for p in (ROOT / d).rglob("*.py"))

ALLOWED = {
    "transpiler/errors": set(),
    "transpiler/options": set(),
    "transpiler/ir": {"transpiler/errors", "transpiler/options", "transpiler/ir"},
    "transpiler/lang": {"transpiler/errors", "transpiler/options", "transpiler/ir", "transpiler/lang"},
    "transpiler/frontend": {
        "transpiler/errors", "transpiler/options", "transpiler/ir", "transpiler/lang", "transpiler/frontend",
    },
    "transpiler/passes": {"transpiler/errors", "transpiler/options", "transpiler/ir", "transpiler/passes"},
    "transpiler/backend": {"transpiler/errors", "transpiler/options", "transpiler/ir", "transpiler/backend"},
}  # fmt: skip
HEAVY = {"jinja2", "vulkan", "cupy", "cupy_backends", "torch", "paddle", "rich", "glfw", "PIL", "platformdirs"}
NOT_SHIPPED = [ROOT / "runtime" / "c_api" / name for name in ("sections", "join.py", "__pycache__")]
"""What `runtime/c_api/shadesmith.c`, which ships, is made from."""
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60


def room(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] == "runtime":
        return "runtime"
    return "/".join(parts[:2])


def imported(path: Path) -> list[tuple[int, Path | str, bool]]:
    """Return (line, file of ours or name of a foreign package, inside a function) for every import of a file."""
    tree = ast.parse(path.read_text())
    inside = {
        id(n) for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) for n in ast.walk(f)
    }
    found: list[tuple[int, Path | str, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name.split(".")[0], id(node) in inside) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if not node.level:
                found.append((node.lineno, (node.module or "").split(".")[0], id(node) in inside))
                continue
            base = path.parent
            for _ in range(node.level - 1):
                base = base.parent
            base = base.joinpath(*(node.module or "").split(".")) if node.module else base
            for alias in node.names:
                candidates = [
                    base / f"{alias.name}.py",
                    base / alias.name / "__init__.py",
                    base.with_suffix(".py"),
                    base / "__init__.py",
                ]
                target = next((c for c in candidates if c.exists()), None)
                assert target is not None, f"{path}:{node.lineno} imports nothing that exists"
                found.append((node.lineno, target, id(node) in inside))
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down_the_table(path: Path) -> None:
    here = room(path)
    for line, target, inside in imported(path):
        if isinstance(target, str):
            assert target != "shadesmith", f"{path}:{line}: use relative imports inside the package"
            assert not inside or target in HEAVY, f"{path}:{line}: import of {target} inside a function"
            continue
        assert not inside, f"{path}:{line}: import of ours inside a function"
        there = room(target)
        if here in ("transpiler/pipeline", "transpiler/__init__"):
            assert there.startswith("transpiler"), f"{path}:{line} -> {there}"
        elif here != "runtime":
            assert there in ALLOWED[here] or there == "transpiler/__init__", f"{path}:{line}: {here} imports {there}"


def test_no_cycles() -> None:
    graph = {p: {t for _, t, _ in imported(p) if isinstance(t, Path) and t != p} for p in SOURCES}
    state: dict[Path, int] = {}

    def visit(path: Path, trail: tuple[Path, ...]) -> None:
        if state.get(path) == 2:
            return
        assert path not in trail, "cycle: " + " -> ".join(str(p.relative_to(ROOT)) for p in (*trail, path))
        for target in sorted(graph.get(path, ())):
            visit(target, (*trail, path))
        state[path] = 2

    for path in SOURCES:
        visit(path, ())


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
    assert sorted(named) == sorted([*there, ROOT / "py.typed"])


def test_no_syntax_newer_than_python_3_10() -> None:
    for folder in ("transpiler", "runtime", "examples", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            ast.parse(path.read_text(), str(path), feature_version=(3, 10))


def test_the_root_holds_no_other_module() -> None:
    assert {p.name for p in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}
