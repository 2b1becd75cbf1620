"""What differs between languages is a property of a `Language`: few files outside its folder compare its name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from layers import nodes_of

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ROOT / "transpiler" / "backend" / "languages"
NAMES = frozenset({"c", "cuda", "glsl", "vulkan", "hip", "cpu"})
OWN = ("c", "c_family", "cuda", "glsl", "hip")
"""The folders of languages."""
MOST_FILES = {"transpiler": 2, "runtime": 7}
"""Files that may compare a target's or language's name."""


def name_comparisons(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Yield the lines that compare a name, look for it in a collection, match it or have it as the key of a dict."""
    for node in nodes:
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            parts = list(node.keys)
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        if any(isinstance(leaf, ast.Constant) and leaf.value in NAMES for part in parts for leaf in leaves(part)):
            yield node.lineno


def leaves(part: ast.AST | None) -> list[ast.AST]:
    if isinstance(part, (ast.Tuple, ast.List, ast.Set)):
        return [leaf for element in part.elts for leaf in leaves(element)]
    return [] if part is None else [part]


def files_that_compare(folder: str) -> dict[str, list[int]]:
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path.parent.parent == LANGUAGES and path.parent.name in OWN:
            continue
        lines = sorted(set(name_comparisons(nodes_of(path))))
        if lines:
            found[str(path.relative_to(ROOT))] = lines
    return found


@pytest.mark.parametrize("folder", MOST_FILES)
def test_few_files_compare_the_name_of_a_language(folder: str) -> None:
    found = files_that_compare(folder)
    assert len(found) <= MOST_FILES[folder], "\n".join(f"{path}: {lines}" for path, lines in found.items())


def test_no_printer_compares_the_name_of_a_language() -> None:
    assert not [path for path in files_that_compare("transpiler") if "/backend/" in path]


@pytest.mark.parametrize(
    "source",
    ['x == "c"', '"cuda" != x', 'x in ("glsl", "c")', '{"vulkan": 1}', 'match x:\n    case "hip":\n        pass'],
)
def test_what_counts_as_a_comparison(source: str) -> None:
    assert list(name_comparisons(ast.walk(ast.parse(source))))


def test_a_name_that_is_only_given_does_not_count() -> None:
    assert not list(name_comparisons(ast.walk(ast.parse('Arch("x64", "c"); x = ["cuda"]; x == "complete"'))))
