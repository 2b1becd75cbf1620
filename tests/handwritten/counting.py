"""How much a source asks of its reader: lines that are neither blank nor only a comment.

The same rule holds for emitted and hand-written sources. The hand-written ones are formatted by the tree's
`.clang-format`, with `#pragma` at the indentation of its loop; formatting the emitted ones too changes no ratio by
more than 0.1.
"""

from __future__ import annotations

import re

STRUCT = re.compile(r"^struct .*?\{ (.*) \};")
FUNCTION = re.compile(r"^(?:template <[^>]*> )?(?:__device__|static|inline)\b.*\) \{ (.*) \}")
"""Declarations on one line, and what is in their braces."""
TOKEN = re.compile(r"\w+(?:\.\w+)?|[^\w\s]")


def counted_lines(text: str) -> int:
    """Count the lines of a source that are neither blank nor only a comment."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("//"))


def counted_tokens(text: str) -> int:
    """Count names, numbers and other characters outside comments, which no formatting changes."""
    return len(TOKEN.findall(re.sub(r"//.*", "", text)))


def unfolded_lines(text: str) -> int:
    """Count lines as if each statement and each member of a function or struct on one line had a line of its own."""
    found = [match[1] for line in text.splitlines() for match in [STRUCT.match(line) or FUNCTION.match(line)] if match]
    return counted_lines(text) + sum(1 + inside.count(";") for inside in found)
