"""Printers hand on what they know: nothing in the backend reads printed source again."""

from __future__ import annotations

import ast
from pathlib import Path

from layers import tree_of

BACKEND = Path(__file__).resolve().parents[2] / "transpiler" / "backend"
EXPRESSIONS = {
    "languages/common/helpers.py": "chunks of the helper libraries, read once",
    "languages/common/library_source.py": "the macros of a helper library, read once",
    "languages/common/literals.py": "a number as Python writes it",
    "languages/common/syntax_forms.py": "templates of tables",
    "shared_functions.py": "the words of functions that differ only in arrays or in one type, to see that one text is both",
    "one_file.py": "the sections of a file of several tasks, which a person may have edited",
    "line_comments.py": "the words of a statement, which decide how much its comment shows",
    "read_module.py": "a module that was stored",
}
"""Modules that may use regular expressions, and what they match."""
REPLACES = {
    "remarks": "the text of a remark",
    "line_comments": "a line of Python",
    "lines": "a line of a comment",
    "tree_structs": "a name of the user's",
    "read_module": "a stored module",
    "render": "the version of Jinja, for the name of a file",
}  # fmt: skip
"""Modules outside `languages` that replace parts of a string, and of which."""


def modules() -> list[tuple[str, ast.Module]]:
    found = sorted(BACKEND.rglob("*.py"))
    return [(str(p.relative_to(BACKEND)), tree_of(p)) for p in found]


def test_regular_expressions_match_no_printed_source() -> None:
    users = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(alias.name == "re" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "re" and not node.level)
    }
    assert {name if name.startswith("languages/") else Path(name).name for name in users} <= set(EXPRESSIONS)


def test_printers_replace_nothing_in_what_they_printed() -> None:
    users = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "replace"
        and len(node.args) >= 2
        and not name.startswith("languages/")
    }
    assert {Path(name).stem for name in users} <= set(REPLACES)
