"""A kernel's Python source as text that keeps its formatting: what a directive changes is changed, and nothing else.

In: the lines of a function, from its first decorator on, and its syntax tree. Out: other lines. Pure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from ....transpiler.frontend.source.definition import column_of
from ....transpiler.frontend.source.function_lines import parse_function


@dataclass(frozen=True, slots=True)
class Replacement:
    """A piece of text in place of another. Lines count from 1 in the file, columns from 0 in characters."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True)
class FunctionText:
    """A function. lines: without their ends. first_line: of them in the file. tree: of them, with lines of the file."""

    lines: tuple[str, ...]
    first_line: int
    tree: ast.FunctionDef

    def line(self, number: int) -> str:
        """Return a line of the file."""
        return self.lines[number - self.first_line]

    def span(self, node: Any) -> tuple[int, int, int, int]:
        """Return line, column, last line and column behind a node, in characters."""
        begin = column_of(self.line(node.lineno), node.col_offset) - 1
        return node.lineno, begin, node.end_lineno, column_of(self.line(node.end_lineno), node.end_col_offset) - 1

    def text(self, node: Any) -> str:
        """Return the source of a node."""
        line, begin, end_line, end = self.span(node)
        if line == end_line:
            return self.line(line)[begin:end]
        inner = [self.line(number) for number in range(line + 1, end_line)]
        return "\n".join([self.line(line)[begin:], *inner, self.line(end_line)[:end]])

    def line_in(self, before: FunctionText, number: int) -> int:
        """Return which line of the function as it was a line is now; of a new line, the one that follows it."""
        row = number - self.first_line
        for _, i1, i2, j1, j2 in SequenceMatcher(None, before.lines, self.lines, autojunk=False).get_opcodes():
            if j1 <= row < j2:
                return before.first_line + min(i1 + row - j1, max(i1, i2 - 1))
        return number

    def replaced(self, node: Any, text: str) -> FunctionText | None:
        """Return the function with other source for a node, None if that is no function any more."""
        return self.with_replacements([Replacement(*self.span(node), text)])

    def with_replacements(self, replacements: Sequence[Replacement]) -> FunctionText | None:
        """Return the function with pieces replaced, which do not overlap; None if that is no function any more."""
        lines = list(self.lines)
        for one in sorted(replacements, key=lambda r: (r.line, r.column), reverse=True):
            first, last = one.line - self.first_line, one.end_line - self.first_line
            joined = lines[first][: one.column] + one.text + lines[last][one.end_column :]
            lines[first : last + 1] = joined.split("\n")
        return function_text(lines, self.first_line)

    def with_line_above(self, node: ast.stmt, text: str) -> FunctionText | None:
        """Return the function with a statement in a line of its own above another one."""
        line, begin, *_ = self.span(node)
        margin = self.line(line)[:begin]
        if margin.strip():  # something is before it in its line
            return None
        return self.with_replacements([Replacement(line, 0, line, 0, f"{margin}{text}\n")])

    def without_head(self, node: ast.If) -> FunctionText | None:
        """Return the function with the body of an `if` in its place; comments stay."""
        line, begin, *_ = self.span(node)
        margin = self.line(line)[:begin]
        body_line, body_begin, *_ = self.span(node.body[0])
        end = node.end_lineno or line
        if margin.strip() or self.line(line)[begin : begin + 2] != "if":
            return None
        if body_line == line:  # `if a: b`
            return self.with_replacements([Replacement(line, begin, line, body_begin, "")])
        inner = self.line(body_line)[:body_begin]
        if inner.strip() or not inner.startswith(margin):
            return None
        lines = []
        for number in range(line, end + 1):
            text = self.line(number)
            if number < body_line:
                comment = _comment_of(text, number, node)
                lines += [margin + comment] if comment else []
            else:
                lines.append(margin + text[len(inner) :] if text.startswith(inner) else text)
        return self.with_replacements([Replacement(line, 0, end, len(self.line(end)), "\n".join(lines))])


def _comment_of(text: str, number: int, node: ast.If) -> str:
    """Return the comment behind the head of an `if`, or of a line between the head and the body."""
    behind = text.encode()[node.test.end_col_offset :].decode() if number == node.test.end_lineno else text
    _, sign, comment = behind.partition("#")
    return sign + comment if sign else ""


def function_text(lines: Sequence[str], first_line: int) -> FunctionText | None:
    """Return lines as a function, None if they are none, or more than that."""
    found = parse_function([f"{line}\n" for line in lines], first_line)
    if found is None or not isinstance(found[0], ast.FunctionDef) or found[1] != len(lines):
        return None
    return FunctionText(tuple(lines), first_line, found[0])


def statements_before(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt | None, ast.stmt]]:
    """Yield each statement of a function, in blocks too, with the one before it in its block."""
    for before, node in zip((None, *body), body):
        yield before, node
        for name in ("body", "orelse", "finalbody"):
            yield from statements_before(getattr(node, name, []))
