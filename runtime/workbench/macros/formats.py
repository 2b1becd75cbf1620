"""The format strings of SM_PRINT and SM_ASSERT: those of C's printf."""

from __future__ import annotations

import re

from ...launch.macro_records import CONVERSION, LETTERS
from .uses import PRINT, MacroError, Use, string_of


def check_format(use: Use) -> None:
    """Raise MacroError unless a format has one conversion for each value."""
    if use.text is None:
        if any(string_of(value) is not None for value in use.values):
            hint = f'write `{use.name}("...", ...)`' if use.name == PRINT else "delete it"
            raise MacroError(f"only the first argument of `{use.name}` is a string", hint, use.start, use.end)
        return
    count = 0
    for match in CONVERSION.finditer(use.text):
        if match[0] == "%%":
            continue
        count += 1
        if match[2] not in LETTERS:
            raise MacroError(
                f"`{match[0]}` in the format of `{use.name}` is no conversion",
                f"conversions are a percent sign and one of {' '.join(LETTERS)}; `%%` is a percent sign",
                use.start,
                use.end,
            )
    if count != len(use.values):
        conversions = "1 conversion" if count == 1 else f"{count} conversions"
        values = "1 value is given" if len(use.values) == 1 else f"{len(use.values)} values are given"
        raise MacroError(
            f"the format of `{use.name}` has {conversions}, and {values}",
            "write one for each value",
            use.start,
            use.end,
        )


def folded(use: Use) -> tuple[str | None, tuple[str, ...]]:
    """Return the format with the strings among the values in it, and the other values."""
    if use.text is None:
        return None, use.values
    waiting, left = list(use.values), []

    def replaced(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return match[0]
        value = waiting.pop(0)
        text = string_of(value)
        if text is None:
            left.append(value)
            return match[0]
        return (f"%{match[1]}s" % text).replace("%", "%%")

    return CONVERSION.sub(replaced, use.text), tuple(left)
