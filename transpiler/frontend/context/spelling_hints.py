"""Remedies for undefined names: the name that was probably meant, or the scope of a variable.

Input: a name, and the visible names. Output: the hint of an error. A successful build runs none of this.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from ...errors import PACKAGE
from ...lang import functions, math, operations
from .scope import Frame

MIN_LENGTH = 3
"""Minimum length: shorter names resemble too many others."""

MAX_SHOWN = 8
"""Maximum number of attributes that a hint lists."""

OTHER_LIBRARIES = {
    **dict.fromkeys(("length", "len", "magnitude", "mag", "abs"), "norm"),
    **dict.fromkeys(("length_sq", "length_squared", "lengthSquared", "squaredNorm", "mag_sq"), "norm_sqr"),
    **dict.fromkeys(("unit", "normalize", "hat"), "normalized"),
    **dict.fromkeys(("T", "t"), "transpose"),
    **dict.fromkeys(("inv", "I"), "inverse"),
    "det": "determinant",
    "outer": "outer_product",
}
"""Methods of vectors and matrices by their names in GLSL, NumPy, Eigen and others."""

CUTOFF = 0.7
"""Minimum similarity of two names, from 0 to 1."""


def close_name(name: str, known: Iterable[str]) -> str | None:
    """Return the name among `known` that was probably meant."""
    if len(name) < MIN_LENGTH:
        return None
    names = {other: other for other in known if not other.startswith("_")}
    matches = get_close_matches(name, names, 1, CUTOFF) or get_close_matches(name.lower(), names, 1, CUTOFF)
    return matches[0] if matches else None


def missing_name_hint(frame: Frame, node: ast.Name) -> str:
    """Return the remedy for a name that is not defined at `node`."""
    return _scope_hint(frame.definition.tree, node) or _spelling_hint(frame, node.id)


def _spelling_hint(frame: Frame, name: str) -> str:
    alias = _alias(frame)
    for module, prefix in ((operations, alias), (functions, alias), (math, f"{alias}.math")):
        if callable(getattr(module, name, None)) and not name.startswith("_"):
            return f"write `{prefix}.{name}`"
    close = close_name(name, frame.known_names()) or close_name(name, dir(builtins))
    return f"did you mean `{close}`?" if close else f"assign `{name}` before it is used"


def _alias(frame: Frame) -> str:
    """Return the name of shadesmith in the function's module: usually `ti`."""
    for name, value in frame.definition.function.__globals__.items():
        if isinstance(value, ModuleType) and value.__name__ == PACKAGE:
            return name
    return "ti"


def _scope_hint(tree: ast.FunctionDef, node: ast.Name) -> str | None:
    """Return the scope of a variable of that name that the function assigns elsewhere, None if there is none."""
    name, stores = node.id, []
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Store):
            stores.append(inner.lineno)
        if isinstance(inner, ast.For) and name in _names(inner.target):
            return f"a loop variable ends with its loop; assign it to a variable made before the loop: `last = {name}`"
    if not stores:
        return None
    if min(stores) >= node.lineno:
        return f"assign `{name}` before it is used"
    return f"a variable lives in the block that first assigns it; assign `{name}` before that block"


def _names(target: ast.expr) -> list[str]:
    return [inner.id for inner in ast.walk(target) if isinstance(inner, ast.Name)]


def missing_attribute_hint(owner: str, name: str, known: Iterable[str]) -> str:
    """Return the remedy for a missing attribute of `owner`, given as its source."""
    known = [other for other in known if not other.startswith("_")]
    if OTHER_LIBRARIES.get(name) in known:
        return f"write `{owner}.{OTHER_LIBRARIES[name]}()`"
    close = close_name(name, known)
    if close:
        return f"did you mean `{owner}.{close}`?"
    listed = ", ".join(f"`{other}`" for other in known)
    return f"it has {listed}" if 0 < len(known) <= MAX_SHOWN else f"check the spelling of `{name}`"


def owner_text(node: ast.expr) -> str:
    """Return the source of an expression, `x` if it is long."""
    source = ast.unparse(node)
    return source if len(source) <= 24 else "x"


def describe_owner(value: Any, kind: str, source: str) -> str:
    """Return the description of an object that lacks an attribute. kind: of the value. source: of the expression."""
    if isinstance(value, ModuleType):
        is_own = value.__name__.startswith(f"{PACKAGE}.")  # `ti.math`, whose name is a path that nobody imports
        return f"module `{source if is_own else value.__name__}`"
    return f"`{source}`, an object of class `{type(value).__name__}`," if kind.startswith("a Python") else kind
