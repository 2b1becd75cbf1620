"""When a named variant runs: the line `// @when device == "NVIDIA H200" and x.shape[0] >= 1024` in its source.

In: sources, and the arguments of a launch. Out: which variant runs. A rule is a Python condition on `device`, `target`
and `arch`, on the kernel's parameters and on shapes of arrays by their names; it can access nothing else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..check.edit_error import EditError

_WHEN = re.compile(r"^\s*//\s*@when\b[ \t:]*(.*)$", re.MULTILINE)
FACTS = ("device", "target", "arch")
_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn,
    ast.Constant, ast.Name, ast.Load, ast.Tuple, ast.Attribute, ast.Subscript,
)  # fmt: skip
HINT = 'write `// @when x.shape[0] >= 1024 and "H200" in device`'


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition. text: in Python. names: what it reads. holds: takes a mapping of names to values."""

    text: str
    names: frozenset[str]
    holds: Callable[[Mapping[str, Any]], bool]

    @property
    def is_static(self) -> bool:
        """Whether it can be decided before there are arguments."""
        return self.names <= set(FACTS)


def refuse_rule(source: str, path: Path) -> None:
    """Raise EditError for a rule in an edit without a name, which would run whatever the rule says."""
    match = _WHEN.search(source)
    if match is not None:
        location = f"{path}:{source[: match.start(1)].count(chr(10)) + 1}"
        raise EditError(
            f"{location}: `@when` decides when a named variant runs, but this edit has no name and always runs",
            f"rename the file to {path.stem}@mine{path.suffix}, or remove the line",
        )


def rule_of(source: str, path: Path, known: frozenset[str]) -> Rule | None:
    """Return the rule in a source, None if it has none. known: names of parameters and arrays.

    Raises: EditError for an invalid condition, or one that reads an unknown name.
    """
    match = _WHEN.search(source)
    if match is None:
        return None
    location = f"{path}:{source[: match.start(1)].count(chr(10)) + 1}"
    condition = match[1].strip()
    try:
        tree = ast.parse(condition, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = getattr(error, "msg", str(error))
        raise EditError(f"{location}: `@when {condition}` is not a Python condition: {reason}", HINT) from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED) or (isinstance(node, ast.Attribute) and node.attr not in ("shape", "ndim")):
            raise EditError(f"{location}: `@when` accepts only comparisons of names, shapes and constants", HINT)
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    unknown = sorted(names - known - set(FACTS))
    if unknown:
        listed = ", ".join((*FACTS, *sorted(known)))
        raise EditError(f"{location}: `@when` reads `{unknown[0]}`, which is unknown here; known are {listed}", HINT)
    code = compile(tree, f"<rule of {path.name}>", "eval")

    def holds(values: Mapping[str, Any]) -> bool:
        try:
            return bool(eval(code, {"__builtins__": {}}, dict(values)))  # noqa: S307 - only the nodes above
        except (TypeError, IndexError, ValueError, ZeroDivisionError, OverflowError, AttributeError) as error:
            raise EditError(f"{location}: `@when {condition}` cannot be evaluated: {error}", HINT) from None

    return Rule(condition, names, holds)
