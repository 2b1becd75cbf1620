"""The layers of the source tree, lowest first, and every import between them: `import`, TYPE_CHECKING and importlib."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path
    for folder in ("transpiler", "runtime")
    for path in (ROOT / folder).rglob("*.py")
    if "distribution" not in path.parts  # a package of its own
)
FILES = {str(path): path for path in (*SOURCES, *ROOT.glob("*.py"), *(ROOT / "examples").rglob("*.py"))}
"""Modules that others may import, by their paths: looking for each on the disk takes as long as parsing them."""

LAYERS = """
transpiler/lazy_dataclasses
transpiler/errors
transpiler/options
transpiler/nesting
transpiler/ir
transpiler/ir/elements
transpiler/ir/serialize
transpiler/ir/edited
transpiler/lang
transpiler/frontend/source
transpiler/frontend/context
transpiler/frontend/library
transpiler/frontend/builders
transpiler/frontend
transpiler/passes/context
transpiler/passes/rewrite
transpiler/passes/analysis
transpiler/passes/atomics
transpiler/passes/tasks
transpiler/passes/checks
transpiler/passes/sparse
transpiler/passes/tiles
transpiler/passes/threads
transpiler/passes/loops
transpiler/passes/rows
transpiler/passes/lowering
transpiler/passes/derivatives
transpiler/passes/gathers
transpiler/passes/cleanup
transpiler/passes/wide
transpiler/passes/addresses
transpiler/passes/arithmetic
transpiler/passes/vectors
transpiler/passes/branches
transpiler/passes/drivers
transpiler/passes
transpiler/backend/module
transpiler/backend/languages/common
transpiler/backend/languages/c_family
transpiler/backend/languages/c
transpiler/backend/languages/cuda
transpiler/backend/languages/hip
transpiler/backend/languages/glsl
transpiler/backend/languages
transpiler/backend/layout
transpiler/backend/print
transpiler/backend/assemble
transpiler/backend/interpret
transpiler/backend
transpiler/content_key
transpiler/derivative_accesses
transpiler/pipeline
transpiler
runtime/loading
runtime/close_names
runtime/viewed
runtime/locks
runtime/events
runtime/templates
runtime/passes
runtime/config
runtime/public_names
runtime/missing_names
runtime/store
runtime/devices
runtime/devices/host
runtime/devices/vulkan
runtime/devices/cuda
runtime/devices/python
runtime/session
runtime/arrays
runtime/fields
runtime/launch/arguments
runtime/cache
runtime/launch
runtime/ad
runtime/workbench/check
runtime/workbench/macros
runtime/workbench/compiler_parameters
runtime/workbench/edits
runtime/workbench/measure
runtime/workbench/bisect
runtime/workbench/adopt
runtime/workbench/inspect
runtime/workbench/profile
runtime/workbench
runtime/recording
runtime/graph
runtime/aot
runtime/gui
runtime/tools
runtime/algorithms
runtime/linalg
runtime/taichi_name
runtime/notebook
runtime/commands
runtime/ti
runtime/targets
runtime/compat
runtime
""".split()
"""Each layer may import those earlier in this list. A module belongs to the longest of these names with which its path starts."""

APART = ("transpiler/frontend", "transpiler/passes", "transpiler/backend")
"""Neighbours that do not import each other."""

LOADERS = ("import_module", "loader")
"""Functions that import a module by its name, their first argument."""
LOADING = ROOT / "runtime/loading.py"
"""Defines `loader`, whose calls are read where they are."""


class Import(NamedTuple):
    """One import of a file. target: a file of this project, or the name of a foreign package. how: `function`: in a function."""

    line: int
    target: Path | str
    how: str


def layer_of(path: Path) -> str:
    """Return the layer of a file."""
    name = path.relative_to(ROOT).with_suffix("").as_posix().removesuffix("/__init__")
    while name not in LAYERS:
        name = name.rpartition("/")[0]
        assert name, f"{path} belongs to no layer"
    return name


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file, parsed once for all tests of a process, as Python 3.10 would."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 10))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's tree, in the order of `ast.walk`, which takes a second for all files."""
    return tuple(ast.walk(tree_of(path)))


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Return all imports of a file, also those for annotations only and those by `import_module` and `loader`."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    for node, is_inside in _nodes(path):
        how = "function" if is_inside else "module"
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name.split(".")[0], how) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield Import(node.lineno, (node.module or "").split(".")[0], how)
        elif isinstance(node, ast.ImportFrom):
            for target in _named(path, node):
                yield Import(node.lineno, target, how)
        elif isinstance(node, ast.Call) and path != LOADING and _last_name(node.func) in LOADERS:
            for found in loaded_modules(path, node):
                yield Import(node.lineno, found, "importlib")


def _nodes(path: Path) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the imports and calls of a file in the order of `ast.walk`; of imports, whether they are in a function."""
    nodes = nodes_of(path)
    functions = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, any(node.lineno in lines for lines in functions)
        elif isinstance(node, ast.Call):
            yield node, False


def _named(path: Path, node: ast.ImportFrom) -> Iterator[Path]:
    base = "/".join((str(path).rsplit("/", node.level)[0], *(node.module or "").split("."))).rstrip("/")
    for alias in node.names:
        candidates = (
            f"{base}/{alias.name}.py",
            f"{base}/{alias.name}/__init__.py",
            f"{base}.py",
            f"{base}/__init__.py",
        )
        target = next((FILES[name] for name in candidates if name in FILES), None)
        assert target is not None, f"{path}:{node.lineno} imports nothing that exists"
        yield target


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def loaded_modules(path: Path, node: ast.Call) -> Iterator[Path | str]:
    """Yield what a call of `import_module` may load: every module that fits where parts of its name are computed."""
    argument = node.args[0]
    parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
    name = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
    assert name != "*", f"{path}:{node.lineno} imports a module whose name cannot be read here"
    if name.startswith("."):
        level = len(name) - len(name.lstrip("."))
        base, name = path.parents[level - 1], name.lstrip(".")
    elif name.startswith("*."):  # f"{PACKAGE}.transpiler.pipeline"
        base, name = ROOT, name[2:]
    else:
        yield name.split(".")[0]
        return
    pattern = name.replace(".", "/").replace("*", "**/*")  # a computed part may have dots: "edits.selection"
    modules = {*base.glob(f"{pattern}.py"), *base.glob(f"{pattern}/__init__.py")}
    assert modules, f"{path}:{node.lineno} imports `{name}`, which does not exist"
    yield from sorted(modules)
