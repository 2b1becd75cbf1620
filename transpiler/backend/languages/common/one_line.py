"""Short declarations: functions and structs on one line where they fit, members of one type side by side.

    __device__ inline float dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
    struct Ray { vec3 o, d; };

In: the source of a declaration, or the members of a struct. Out: the shorter source.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from .language import Language

COLUMNS = 100
"""Columns of a line, and columns that an expression may grow to before an operand gets a name."""
INDENT = "    "


def indented(lines: Iterable[str], depth: int) -> str:
    """Return lines at a depth, each ended."""
    return "".join(f"{INDENT * depth}{line}\n" for line in lines)


def on_one_line(source: str) -> str:
    """Return a declaration on one line if it has one line inside its braces and fits; comments above it stay there."""
    lines = source.split("\n")
    comments, code = lines[:-3], lines[-3:]
    if len(code) < 3 or not (code[0].endswith("{") and code[2].startswith("}")) or "//" in code[1]:
        return source
    line = " ".join(part.strip() for part in code)
    fits = len(line) <= COLUMNS and all(comment.startswith("//") for comment in comments)
    return "\n".join([*comments, line]) if fits else source


def struct_source(language: Language, name: str, members: Iterable[tuple[str, str]]) -> str:
    """Return the declaration of a struct. members: types and names."""
    lines = [f"{kind} {', '.join(m for _, m in group)};" for kind, group in groupby(members, key=lambda m: m[0])]
    body = "\n".join(INDENT + line for line in lines)
    return on_one_line(language.struct_declaration.format(name=name, body=body))
