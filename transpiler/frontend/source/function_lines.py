"""Finds the lines of a function in its file, as `inspect.getblock` does, without a token for each word of them.

In: the lines of a file from the first line of a `def` or of its decorators on. Out: its syntax tree and its lines.
`inspect` runs Python's own tokenizer, written in Python, which takes as long as all passes on a kernel together. Here
indentation gives the end of the function, and the parser says whether that was right.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence

from ...ir.origins import with_notation

NOT_DECIMAL = re.compile(r"\b0[xXbB]\w+")
HEADER = re.compile(r"(async\s+)?def\b")


def parse_function(lines: list[str], first_line: int) -> tuple[ast.stmt, int] | None:
    """Return the first statement, with line numbers of the file, and how many lines it takes; None if it is malformed.

    first_line: number in the file of the first of `lines`.
    """
    count = _count_by_indentation(lines)
    if count is not None and (statement := _parse(lines[:count], first_line)) is not None:
        return statement, count
    try:
        block = inspect.getblock(lines)
    except (SyntaxError, IndentationError, EOFError):
        return None
    statement = _parse(block, first_line)
    return None if statement is None else (statement, len(block))


def _parse(block: list[str], first_line: int) -> ast.stmt | None:
    source = "".join(block)
    indented = source[:1] in (" ", "\t")
    # An indented function is parsed under an `if`, not dedented: columns stay true and tabs need no thought. Empty
    # lines before it give the right line numbers, for which `ast.increment_lineno` would visit each node.
    before = first_line - 1 - indented
    try:
        tree = ast.parse("\n" * before + ("if 1:\n" if indented else "") + source)
    except SyntaxError:
        return None
    body = tree.body[0].body if indented else tree.body  # type: ignore[attr-defined]
    if not body:
        return None
    statement: ast.stmt = body[0]
    return ast.increment_lineno(statement, before) if before < 0 else statement


def remember_notations(tree: ast.AST, lines: Sequence[str], first_line: int) -> None:
    """Replace the integers of literals in base 16 and 2 by such as remember the literal: what people read keeps it.

    first_line: number in the file of the first of `lines`.
    """
    if not any(NOT_DECIMAL.search(line) for line in lines):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            line = lines[node.lineno - first_line].encode()
            literal = line[node.col_offset : node.end_col_offset].decode()
            if NOT_DECIMAL.fullmatch(literal):
                node.value = with_notation(node.value, literal.replace("_", "").lower())


def _count_by_indentation(lines: list[str]) -> int | None:
    """Return how many lines the function seems to take, None if that is unclear.

    A line ends the function if it is indented no more than the `def`. It may also be inside brackets or a string, or be
    continued from the line before; then the lines up to it are no whole function, and parsing them fails.
    """
    margin = _margin(lines[0])
    header = next((k for k, line in enumerate(lines) if HEADER.match(line, margin) and _margin(line) == margin), None)
    if header is None or not lines[header].rstrip().endswith(":"):
        return None
    inner: int | None = None
    count = header + 1
    for k in range(header + 1, len(lines)):
        line = lines[k]
        column = _margin(line)
        is_comment = line.startswith("#", column)
        if column == len(line) or (is_comment and (inner is None or column < inner)):
            continue  # a line without a token; comments as far in as the body belong to it, up to its end
        if not is_comment and column <= margin:
            break
        if inner is None:
            inner = column
        count = k + 1
    return None if inner is None else count


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())
