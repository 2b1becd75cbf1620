"""The numbers that a condition compares, so that a failed SM_ASSERT shows them."""

from __future__ import annotations

import re
from collections.abc import Container

_COMPARISON = re.compile(r"(?<![<>=!&|+\-*/%^-])(<=|>=|==|!=|<(?!<)|>(?!>))(?!=)")
_SHIFT_OR_TEMPLATE = re.compile(r"<<|>>|->|\?|&&|\|\|")
_CHANGES = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)")
_NUMBER = re.compile(r"[\d.]")
_CALL = re.compile(r"(?<!\0)\b([A-Za-z_]\w*)\s*\(")


def operands(condition: str, accessors: Container[str] = ()) -> list[str]:
    """Return the sides of a comparison that are worth showing: no literals, nothing with effects.

    accessors: names of macros that read an array; other calls may have effects.
    """
    condition = _CALL.sub(lambda match: f"\0{match[1]}(" if match[1] in accessors else match[0], condition)
    if _SHIFT_OR_TEMPLATE.search(condition):
        return []
    found = [match for match in _COMPARISON.finditer(condition) if _depth(condition[: match.start()]) == 0]
    if len(found) != 1:
        return []
    sides = (condition[: found[0].start()].strip(), condition[found[0].end() :].strip())
    return [side.replace("\0", "") for side in sides if side and _is_plain(side)]


def is_repeatable(expression: str) -> bool:
    """Return whether an expression may be evaluated twice: it changes nothing and calls nothing."""
    return not _CHANGES.search(expression) and not _CALL.search(expression)


def _is_plain(side: str) -> bool:
    return is_repeatable(side) and re.search(r"[A-Za-z_]", re.sub(r"\b[\d.][\w.]*", "", side)) is not None


def _depth(text: str) -> int:
    return sum(text.count(c) for c in "([{") - sum(text.count(c) for c in ")]}")
