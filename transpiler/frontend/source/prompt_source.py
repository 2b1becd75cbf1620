"""The source of a function that was typed at Python's prompt, from the lines that readline remembers.

Before Python 3.13 the prompt stores no source: the file of each statement is `<stdin>`, and its first line is line 1.
In: a code object. Out: its lines, if the history has lines that compile to the same code. Lines are counted in the
statement.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from types import CodeType

PROMPT = "<stdin>"
MOST_LINES = 2000
"""Lines of the history that are searched, the latest first."""


def prompt_lines(code: CodeType) -> list[str]:
    """Return the lines of a function from its first decorator on, [] if they are not remembered."""
    readline = sys.modules.get("readline")  # the prompt has loaded it, if it edits lines
    if code.co_filename != PROMPT or readline is None:
        return []
    count = readline.get_current_history_length()
    numbers = range(max(1, count - MOST_LINES), count + 1)
    return find_function(code, [readline.get_history_item(number) or "" for number in numbers])


def find_function(code: CodeType, history: Sequence[str]) -> list[str]:
    """Return the latest lines that define a function with this code, each with its end; [] if there are none."""
    header = re.compile(rf"(async\s+)?def\s+{re.escape(code.co_name)}\s*\(")
    entries = [line for entry in history for line in entry.split("\n")]
    for at in range(len(entries) - 1, -1, -1):
        if header.match(entries[at]):
            first = _first_decorator(entries, at)
            lines = [f"{line}\n" for line in _statement(entries, first, at)]
            if _defines(lines, code):
                return ["\n"] * (code.co_firstlineno - 1) + lines
    return []


def _first_decorator(entries: Sequence[str], at: int) -> int:
    """Return where the decorators above a `def` begin; a decorator may take several lines."""
    first = at
    for k in range(at - 1, -1, -1):
        if entries[k].startswith("@"):
            first = k
        elif not entries[k][:1].isspace() and not entries[k].startswith((")", "]", "}")):
            break
    return first


def _statement(entries: Sequence[str], first: int, header: int) -> list[str]:
    """Return the lines up to the first one below the header that is not indented."""
    end = header + 1
    while end < len(entries) and (entries[end][:1].isspace() or entries[end][:1] in ("", ")", "#")):
        end += 1
    return list(entries[first:end])


def _defines(lines: Sequence[str], code: CodeType) -> bool:
    try:
        compiled = compile("".join(lines), code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    found = (constant for constant in compiled.co_consts if isinstance(constant, CodeType))
    return any(_describe(one) == _describe(code) for one in found if one.co_name == code.co_name)


def _describe(code: CodeType) -> tuple[object, ...]:
    """Return what a function does, without where it is."""
    constants = tuple(_describe(c) if isinstance(c, CodeType) else (type(c), repr(c)) for c in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars
