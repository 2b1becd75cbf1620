"""Functions that read and replace the operands of a statement, made for each class at its first use.

Passes read the operands of every statement again and again. A function that names the attributes of its class takes a
third of the time of a loop over their names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

Reader = Callable[[Any], list[Any]]
"""Returns the operands of a statement, in order, as a new list."""
Resolver = Callable[[Any, dict[Any, Any]], None]
"""Replaces the operands of a statement that are keys of a mapping, and so the results of its blocks."""


class Readers(dict[type, Reader]):
    """By class of statement."""

    def __missing__(self, kind: type) -> Reader:
        made: Reader = _made("statement", [f"return [{', '.join(map(_item, _operands(kind)))}]"])
        self[kind] = made
        return made


class Resolvers(dict[type, Resolver]):
    """By class of statement."""

    def __missing__(self, kind: type) -> Resolver:
        lines = [line for member in _operands(kind) for line in _replacement(*member)]
        for name in kind.BLOCKS:  # type: ignore[attr-defined]
            lines += [
                f"block = statement.{name}",
                "if block is not None and block.result in mapping:",
                "    block.result = mapping[block.result]",
            ]
        made: Resolver = _made("statement, mapping", lines or ["pass"])
        self[kind] = made
        return made


def _operands(kind: type) -> list[tuple[str, str]]:
    """Return the names of the operands of a class, each with "list", "one", or "any" if its annotation says neither."""
    annotations = {member.name: str(member.type) for member in fields(kind)}
    found = []
    for name in kind.OPERANDS:  # type: ignore[attr-defined]
        annotation = annotations[name]
        known = {"list[Statement]": "list", "Statement": "one"}.get(annotation, "any")
        found.append((name, known))
    return found


def _item(member: tuple[str, str]) -> str:
    name, form = member
    value = f"statement.{name}"
    if form == "any":
        return f"*({value} if {value}.__class__ is list else () if {value} is None else ({value},))"
    return f"*{value}" if form == "list" else value


def _replacement(name: str, form: str) -> list[str]:
    of_list = ["for index, operand in enumerate(value):", "    if operand in mapping:"]
    of_list.append("        value[index] = mapping[operand]")
    of_one = ["if value in mapping:", f"    statement.{name} = mapping[value]"]
    if form == "any":
        indented = [f"    {line}" for line in of_list]
        lines = ["if value.__class__ is list:", *indented, f"elif value is not None and {of_one[0][3:]}", of_one[1]]
    else:
        lines = of_list if form == "list" else of_one
    return [f"value = statement.{name}", *lines]


def _made(parameters: str, lines: list[str]) -> Any:
    names: dict[str, Any] = {}
    body = "\n    ".join(lines)
    exec(f"def access({parameters}):\n    {body}", names)  # noqa: S102 - made of names of members
    return names["access"]


READERS = Readers()
RESOLVERS = Resolvers()
