"""Calls with messages: `print` at run time, `ti.static_assert` at compile time."""

from __future__ import annotations

import ast
from typing import Any

from ...errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from ...ir.statements import Print
from ..context.context import Context
from ..context.per_iteration import PerIteration
from ..context.values import Formatted, holds_runtime, is_runtime
from .format_strings import Parts


def build_print(context: Context, node: ast.Call) -> None:
    """`print(...)` with `sep` and `end`: literal strings are joined, values become operands."""
    separator, end = " ", "\n"
    for keyword in node.keywords:
        value = context.value(keyword.value)
        if keyword.arg not in ("sep", "end") or not isinstance(value, str | None):
            raise context.error(
                TaichiSyntaxError,
                f"`print` takes `sep` and `end` as strings, found `{keyword.arg}`",
                "write the string itself, such as `end=''`",
                keyword.value,
            )
        if keyword.arg == "sep" and value is not None:
            separator = value
        elif keyword.arg == "end" and value is not None:
            end = value
    parts = Parts(context)
    for position, argument in enumerate(node.args):
        parts.literal(separator if position else "")
        parts.add(context.value(argument))
    parts.literal(end)
    context.builder.add(Print(parts.values, parts.parts))


def static_assert(context: Context, cond: Any, msg: Any = None) -> None:
    """`ti.static_assert(condition, message)`, both known at compile time."""
    if is_runtime(cond):
        raise context.error(
            TaichiTypeError, "`ti.static_assert` needs a condition known at compile time", "use `assert`"
        )
    if holds_runtime(msg) or isinstance(msg, Formatted):
        message = "The message of `ti.static_assert` contains a value that is known at run time only"
        raise context.error(TaichiTypeError, message, "leave the value out, or use `assert`")
    if isinstance(cond, PerIteration) and all(cond.present):
        return
    if not context.python(bool, cond):
        raise context.error(
            TaichiCompilationError,
            "Static assertion failed" + ("" if msg is None else f": {msg}"),
            "see the condition above",
        )
