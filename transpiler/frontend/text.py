"""Texts with values in them: f-strings, the parts of `print`, the message of `assert`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from ..errors import TaichiSyntaxError
from ..ir.nodes import Statement
from .context import Context
from .values import holds_runtime, is_runtime


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text with run-time values in it. parts: texts, and (value, format specification) pairs."""

    parts: tuple[str | tuple[Any, str], ...]


def formatted(context: Context, node: ast.JoinedStr) -> str | Formatted:
    """Return an f-string: a plain text if all is known at compile time."""
    parts: list[str | tuple[Any, str]] = []
    for piece in node.values:
        if isinstance(piece, ast.Constant):
            parts.append(str(piece.value))
        elif isinstance(piece, ast.FormattedValue):
            parts.append(_formatted_value(context, piece))
    if all(isinstance(part, str) for part in parts):
        return "".join(str(part) for part in parts)
    return Formatted(tuple(parts))


def _formatted_value(context: Context, piece: ast.FormattedValue) -> str | tuple[Any, str]:
    value = context.value(piece.value)
    specification = ""
    if piece.format_spec is not None:
        found = formatted(context, piece.format_spec)  # type: ignore[arg-type]
        if not isinstance(found, str):
            raise context.error(TaichiSyntaxError, "A format specification must be known at compile time", None, piece)
        specification = found
    if holds_runtime(value):
        return (value, specification)
    if piece.conversion > 0:
        value = f"{value!r}" if chr(piece.conversion) == "r" else str(value)
    return str(context.python(format, value, specification))


class Parts:
    """Collects the parts of a `Print` or the text of an `Assert`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.values: list[Statement] = []
        self.parts: list[str | tuple[int, str]] = []

    def text(self, text: str) -> None:
        """Add a literal text; neighbours are joined."""
        if self.parts and isinstance(self.parts[-1], str):
            self.parts[-1] += text
        elif text:
            self.parts.append(text)

    def add(self, value: Any, specification: str = "") -> None:
        """Add a value: run-time values by number, lists item by item, everything else as text."""
        if isinstance(value, Formatted):
            for part in value.parts:
                if isinstance(part, str):
                    self.text(part)
                else:
                    self.add(part[0], part[1])
        elif is_runtime(value):
            self.parts.append((len(self.values), specification))
            self.values.append(self.context.lift(value))
        elif isinstance(value, list | tuple) and holds_runtime(value):
            self._sequence(value, specification)
        else:
            self.text(str(value))

    def _sequence(self, value: Any, specification: str) -> None:
        opening, closing = ("[", "]") if isinstance(value, list) else ("(", ")")
        self.text(opening)
        for position, item in enumerate(value):
            self.text(", " if position else "")
            self.add(item, specification)
        self.text(closing)


def message_parts(context: Context, node: ast.expr | None) -> tuple[str, list[Statement]]:
    """Return the message of an assert with {0}, {1} for its values."""
    if node is None:
        return "", []
    parts = Parts(context)
    parts.add(context.value(node))
    text = ""
    for part in parts.parts:
        if isinstance(part, str):
            text += part.replace("{", "{{").replace("}", "}}")
        else:
            text += "{" + str(part[0]) + (f":{part[1]}" if part[1] else "") + "}"
    return text, parts.values
