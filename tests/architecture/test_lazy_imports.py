"""No module imports itself by any way round: imports for type checkers and those by name count as others do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for folder in ("transpiler", "runtime") for path in (ROOT / folder).rglob("*.py"))
FACADES = {"lazy.py", "command_line.py"}
"""Modules that load names of the public interface; everything may be among them, and nothing imports them but the root."""


def module_at(base: Path, dotted: str) -> Path | None:
    path = base.joinpath(*dotted.split(".")) if dotted else base
    return next((found for found in (path.with_suffix(".py"), path / "__init__.py") if found.is_file()), None)


def above(path: Path, level: int) -> Path:
    return path.parents[level - 1]


def written_imports(path: Path, tree: ast.AST) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base, module = above(path, node.level), node.module or ""
            for alias in node.names:
                found = module_at(base, f"{module}.{alias.name}".lstrip(".")) or module_at(base, module)
                assert found is not None, f"{path}:{node.lineno} imports nothing that exists"
                yield found


def imports_by_name(path: Path, tree: ast.AST) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from named_modules(path, node.args[0])


def named_modules(path: Path, name: ast.expr) -> Iterator[Path]:
    """Yield the modules of ours that an argument of `import_module` may mean; a part that is open means all there are."""
    parts = name.values if isinstance(name, ast.JoinedStr) else [name]
    first = parts[0]
    base, text = path.parent, ""
    if isinstance(first, ast.FormattedValue):
        variable = ast.unparse(first.value)
        base = ROOT if variable == "PACKAGE" else path.parent
        assert variable in ("PACKAGE", "__package__"), f"{path}:{name.lineno}: a name that this test cannot follow"
        parts = parts[1:]
    for part in parts:
        text += str(part.value) if isinstance(part, ast.Constant) else "*"
    if not text.startswith("."):
        return  # another package
    level = len(text) - len(text.lstrip("."))
    base = base if isinstance(first, ast.FormattedValue) else above(path, level)
    dotted = text.lstrip(".")
    if dotted.endswith("*"):
        folder = base.joinpath(*dotted.rstrip("*").rstrip(".").split("."))
        assert folder.is_dir(), f"{path}:{name.lineno}: no folder {folder}"
        yield from folder.rglob("*.py")
        return
    found = module_at(base, dotted)
    assert found is not None, f"{path}:{name.lineno} imports nothing that exists"
    yield found


def graph() -> dict[Path, set[Path]]:
    found: dict[Path, set[Path]] = {}
    for path in SOURCES:
        if path.name not in FACADES:
            tree = ast.parse(path.read_text())
            found[path] = {*written_imports(path, tree), *imports_by_name(path, tree)} - {path}
    return found


def first_cycle(edges: dict[Path, set[Path]]) -> list[Path]:
    done: set[Path] = set()

    def visit(path: Path, trail: list[Path]) -> list[Path]:
        if path in trail:
            return [*trail[trail.index(path) :], path]
        if path not in done:
            for target in sorted(edges.get(path, ())):
                if cycle := visit(target, [*trail, path]):
                    return cycle
            done.add(path)
        return []

    return next((cycle for path in sorted(edges) if (cycle := visit(path, []))), [])


def test_no_module_imports_itself_by_any_way_round() -> None:
    cycle = first_cycle(graph())
    assert not cycle, " -> ".join(str(path.relative_to(ROOT)) for path in cycle)


def test_a_cycle_is_found() -> None:
    a, b, c = Path("a"), Path("b"), Path("c")
    assert first_cycle({a: {b}, b: {c}, c: {b}}) == [b, c, b] and first_cycle({a: {b, c}, b: {c}}) == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ('".inner.one"', {"inner/one.py"}),
        ('"..above"', {"../above.py"}),
        ('f".inner.{name}"', {"inner/one.py", "inner/two.py"}),
        ('f"{__package__}.inner.{name}"', {"inner/one.py", "inner/two.py"}),
        ('"json"', set()),
    ],
)
def test_imports_by_name_are_followed(tmp_path: Path, name: str, found: set[str]) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    for file in ("inner/one.py", "inner/two.py", "../above.py"):
        (folder / file).touch()
    expression = ast.parse(name, mode="eval").body
    assert {path.resolve() for path in named_modules(folder / "here.py", expression)} == {
        (folder / file).resolve() for file in found
    }


def test_kernels_know_no_tool_that_knows_kernels() -> None:
    edges = graph()
    waiting, seen = [path for path in edges if path.name in ("kernel.py", "kernel_tools.py")], set[Path]()
    assert len(waiting) == 2
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += edges.get(path, ())
    tools = {"workbench", "commands", "aot", "graph", "recording"}
    assert not [path for path in seen if tools & set(path.relative_to(ROOT).with_suffix("").parts)]
