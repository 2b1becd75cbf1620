"""Strings with values: f-strings, `str.format`, the parts of `print`, the message of `assert`."""

from __future__ import annotations

import ast
import operator
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import TaichiIndexError, TaichiNameError, TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.textures import Texture
from ...ir.types import Scalar, element_of, i32
from ...ir.types import Struct as StructInKernel
from ...lang.matrix import Matrix
from ...lang.printf import formatter
from ...lang.struct import Struct
from ..context.context import Context
from ..context.per_iteration import PerIteration
from ..context.values import Formatted, describe_kind, holds_runtime, is_number, is_runtime
from ..source.named_numbers import number_type
from .structs import members_of


def formatted(context: Context, node: ast.JoinedStr) -> str | Formatted:
    """Return an f-string: a plain string if all values are known at compile time."""
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
        format_spec = formatted(context, piece.format_spec)  # type: ignore[arg-type]
        if not isinstance(format_spec, str):
            raise context.error(
                TaichiSyntaxError, "A format specification must be known at compile time", "write it out", piece
            )
        specification = format_spec
    if holds_runtime(value):
        return (value, specification)
    if piece.conversion > 0:
        value = f"{value!r}" if chr(piece.conversion) == "r" else str(value)
    return str(context.python(format, value, specification))


def format_method(
    context: Context, template: str, arguments: Sequence[Any], named: Mapping[str, Any]
) -> str | Formatted:
    """Return `template.format(...)`: a plain string if all values are known at compile time."""
    if not any(holds_runtime(value) for value in (*arguments, *named.values())):
        return str(context.python(template.format, *arguments, **named))
    parts: list[str | tuple[Any, str]] = []
    count = 0
    for literal, name, specification, _ in context.python(lambda: list(string.Formatter().parse(template))):
        parts.append(literal)
        if name is None:
            continue
        if not name:
            name, count = str(count), count + 1
        value = _named_value(context, name, arguments, named)
        specification = specification or ""
        parts.append(
            (value, specification) if holds_runtime(value) else str(context.python(format, value, specification))
        )
    return Formatted(tuple(parts))


PERCENT = re.compile(r"%(?:\((\w+)\))?([-#0 +]*)(\d*)(\.\d+)?([diouxXeEfFgGcrsa%])|%")
"""A conversion of Python's operator `%`: name, flags, width, precision, type."""


def percent_format(context: Context, template: str, given: Any) -> str | Formatted:
    """Return `template % given`: a plain string if all values are known at compile time."""
    values = list(given) if isinstance(given, tuple) else [given]
    named = given if isinstance(given, dict) else {}
    if not any(holds_runtime(value) for value in (*values, *named.values())):
        return str(context.python(operator.mod, template, given))
    parts: list[str | tuple[Any, str]] = []
    end, rest = 0, iter(values)
    for match in PERCENT.finditer(template):
        parts.append(template[end : match.start()])
        end = match.end()
        name, flags, width, precision, kind = match.groups()
        if kind == "%":
            parts.append("%")
            continue
        if kind is None:
            found = template[match.start() : match.start() + 4]
            raise context.error(TaichiTypeError, f"`{found}` is no conversion of `%`", "write `%d`, `%5.2f`, or `%%`")
        value = named.get(name) if name is not None else next(rest, None)
        if value is None:
            wanted = f"value `{name}`" if name is not None else f"value for `{match.group()}`"
            raise context.error(TaichiTypeError, f"There is no {wanted} of the string", "give a value to each `%`")
        if not holds_runtime(value):
            parts.append(str(context.python(operator.mod, match.group().replace(f"({name})", ""), value)))
            continue
        align = "<" if "-" in flags else ">" if width and kind in "rsa" else ""
        sign = "".join(flag for flag in "+ #0" if flag in flags and not (flag == "0" and align))
        kind = {"i": "d", "u": "d", "r": "", "s": "", "a": ""}.get(kind, kind)
        parts.append((_as_kind(context, value, kind), f"{align}{sign}{width}{precision or ''}{kind}"))
    if not named and next(rest, None) is not None:
        raise context.error(TaichiTypeError, "The string has fewer `%` than values", "write a `%` for each value")
    return Formatted((*parts, template[end:]))


def _as_kind(context: Context, value: Any, kind: str) -> Any:
    """Return a number as Python's `%` converts it: `%d` cuts a float, `%f` takes an integer."""
    lifted = context.values.lift(value)
    if not isinstance(lifted.type, Scalar):
        return value
    if kind == "d" and lifted.type.is_float:
        return context.builder.cast(lifted, i32)
    if kind in ("e", "E", "f", "F", "g", "G") and not lifted.type.is_float:
        return context.builder.cast(lifted, context.default_fp)
    return lifted


def _named_value(context: Context, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    if name.isdigit():
        if int(name) < len(arguments):
            return arguments[int(name)]
        raise context.error(
            TaichiIndexError, f"`format` has no argument {name}: it was given {len(arguments)}", "give it"
        )
    if name in named:
        return named[name]
    raise context.error(TaichiNameError, f"`format` has no argument `{name}`", "name a value, without `.` and `[]`")


class Parts:
    """Collects the parts of a `Print` or the message of an `Assert`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.values: list[Statement] = []
        self.parts: list[str | tuple[int, str]] = []

    def literal(self, string: str) -> None:
        """Add a literal string; adjacent strings are joined."""
        if self.parts and isinstance(self.parts[-1], str):
            self.parts[-1] += string
        elif string:
            self.parts.append(string)

    def add(self, value: Any, specification: str = "") -> None:
        """Add a value: a run-time value by its number, a list item by item, another value as a string."""
        if isinstance(value, Formatted):
            for part in value.parts:
                if isinstance(part, str):
                    self.literal(part)
                else:
                    self.add(part[0], part[1])
        elif is_runtime(value) or (isinstance(value, PerIteration) and all(type(k) is int for k in value.present)):
            self._runtime(self.context.values.lift(value), specification)
        elif isinstance(value, Matrix):
            self._sequence(value.to_list(), specification)
        elif isinstance(value, Struct):
            self._struct(dict(value.items), specification)
        elif isinstance(value, (list, tuple)):
            self._sequence(value, specification)
        elif holds_runtime(value):
            element = "a texel: `t.fetch(p, 0)`" if isinstance(value, Texture) else "an element: `x[i]`"
            kind = describe_kind(value)
            raise self.context.error(
                TaichiTypeError, f"{kind[0].upper()}{kind[1:]} cannot be printed as a whole", f"print {element}"
            )
        elif is_number(value):
            type = number_type(value, self.context.options)
            self.literal(formatter(type)(type(value)))
        else:
            self.literal(str(value))

    def _runtime(self, value: Statement, specification: str) -> None:
        assert value.type is not None
        if isinstance(value.type, StructInKernel):
            members = zip(value.type.names, members_of(self.context, value), strict=True)
            self._struct(dict(members), specification)
            return
        try:
            formatter(element_of(value.type), specification)
        except ValueError:
            message = f"The format specification '{specification}' doesn't match '{element_of(value.type)}'"
            raise self.context.error(
                TaichiTypeError, message, "write `:d` for integers, `:.3f` or `:e` for floats"
            ) from None
        self.parts.append((len(self.values), specification))
        self.values.append(value)

    def _struct(self, members: dict[str, Any], specification: str) -> None:
        """Add a struct in the form of Python scope: `{'a': 1, 'v': [1.0, 2.0]}`."""
        self.literal("{")
        for position, (name, member) in enumerate(members.items()):
            self.literal(f"{', ' if position else ''}{name!r}: ")
            self.add(member, specification)
        self.literal("}")

    def _sequence(self, value: Sequence[Any], specification: str) -> None:
        """Add lists and tuples in brackets, as Taichi shows both."""
        self.literal("[")
        for position, item in enumerate(value):
            self.literal(", " if position else "")
            self.add(item, specification)
        self.literal("]")


def message_parts(context: Context, node: ast.expr | None) -> tuple[str, list[Statement]]:
    """Return the message of an assert with {0}, {1} for its values."""
    if node is None:
        return "", []
    parts = Parts(context)
    parts.add(context.value(node))
    template = ""
    for part in parts.parts:
        if isinstance(part, str):
            template += part.replace("{", "{{").replace("}", "}}")
        else:
            template += "{" + str(part[0]) + (f":{part[1]}" if part[1] else "") + "}"
    return template, parts.values
