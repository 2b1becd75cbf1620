"""The lines of a printed function, how a long one is wrapped, and which Python line each one comes from."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

from ...errors import NOWHERE, SourceLocation
from ..languages.common.one_line import COLUMNS, INDENT
from ..module.interface import END_OF_BODY

FOLDS = {
    " ? ": 6, " : ": 6, " || ": 5, " && ": 4, " | ": 3, " & ": 3, " < ": 3, " > ": 3, " <= ": 3, " >= ": 3, " == ": 3,
    " != ": 3, " + ": 2, " - ": 2, " * ": 1,
}  # fmt: skip
"""Operators before which a line may end, with how good a place that is; after a comma is the best."""
COMMA, SEMICOLON = 7, 8
BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


class Line(NamedTuple):
    """One line of a body.

    location: the Python line whose source starts here, if any.
    comment: the Python line that the comment in this line shows, if any.
    """

    depth: int
    text: str
    location: SourceLocation | None = None
    comment: SourceLocation | None = None


DEEPEST = 2
"""Brackets inside which a line may end where that saves a line."""


def wrapped(code: str, width: int) -> list[str]:
    """Return a line of code as lines of at most `width` columns, if its tokens allow; further lines are indented.

    A line ends before an operator or a member, or after a comma or semicolon, within as few brackets as possible
    without more lines.
    """
    if len(code) <= width:
        return [code]
    choices = [_wrapped(code, width, free) for free in range(DEEPEST + 1)]
    return min(choices, key=lambda lines: (max(map(len, lines)) > width, len(lines)))


def _wrapped(code: str, width: int, free: int) -> list[str]:
    """Return these lines. free: so many brackets around the end of a line are as good as none."""
    lines = []
    while len(code) > width:
        end = _line_end(code, width, free)
        if end == 0:
            break
        lines.append(code[:end].rstrip())
        code = INDENT + code[end:].lstrip()
    return [*lines, code]


def _line_end(code: str, width: int, free: int) -> int:
    """Return where the first line of a statement ends, 0 if nowhere: not in its first part, if that is possible."""
    best, depth, quoted, opened = (False, 0.0, 0, 0), 0, False, 0
    start = len(code) - len(code.lstrip())
    least = start + (width - start) // 4
    for index, character in enumerate(code[: width + 1]):
        if character == '"' and code[index - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += BRACKETS.get(character, 0)
            opened = index + 1 if character == "(" and start < index < width else opened
            rank = _rank(code, index) if index > start else 0
            if rank:
                # After `=` only if the value has no better place outside of inner brackets.
                level = min(free - depth, 0) if rank > 0 else -1.5
                found = (index > least, level, rank, index)
                best = max(best, found) if best[3] else found
    return best[3] or opened


def _rank(code: str, index: int) -> int:
    """Return how good a place `index` is to end a line, 0 if it is none."""
    if code[index] == "." and code[index - 1] in ")]":
        return 1
    if code[index] != " ":
        return 0
    if code[index - 1] == ";":
        return SEMICOLON
    if code[index - 1] == ",":
        return COMMA
    return -1 if code[index - 2 : index] == " =" else FOLDS.get(code[index : code.find(" ", index + 1) + 1], 0)


def wrapped_head(head: str) -> str:
    """Return the head of a function, `float f(int i) {`, as lines of at most 100 columns."""
    if len(head) <= COLUMNS:
        return head
    name, _, rest = head.partition("(")
    parameters, _, end = rest.rpartition(")")
    return "\n".join([f"{name}(", *wrapped(INDENT + parameters, COLUMNS), f"){end}"])


def wrapped_text(text: str, width: int, first: str = "", rest: str = "    ") -> list[str]:
    """Return a text as lines of at most `width` columns that start with `first` and `rest`.

    What is in square brackets stays together if it can: `field[f32, 512]`.
    """
    if text and text[-1] != " " and len(first) + len(text) <= width and text.isprintable():
        return [first + text]  # most
    depth, joined = 0, ""
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        joined += "\0" if character == " " and depth > 0 else character
    for candidate in (joined, text):
        lines = wrap(candidate, width, initial_indent=first, subsequent_indent=rest, break_long_words=False)
        if max(map(len, lines), default=0) <= width:
            break
    return [line.replace("\0", " ") for line in lines]


def wrapped_comment(text: str, width: int) -> list[str]:
    """Return a comment as lines of at most `width` columns."""
    if len(text) <= width - 3:
        return [f"// {text}"]
    return wrapped_text(text, width, "// ", "//     ")


def fitted(source: str) -> str:
    """Return a source with lines of at most 100 columns; those of bodies are already as short as they can be."""
    lines = source.split("\n")
    if max(map(len, lines)) <= COLUMNS:
        return source
    return "\n".join(part for line in lines for part in ([line] if len(line) <= COLUMNS else _fitted_line(line)))


def _fitted_line(line: str) -> list[str]:
    """Return a long line as several: a comment, a directive, or code with or without a comment at its end."""
    code = line.lstrip()
    indent = line[: len(line) - len(code)]
    if code.startswith("//"):
        return [indent + part for part in wrapped_comment(code[3:], COLUMNS - len(indent))]
    if code.startswith("#"):
        return _fitted_directive(indent, code)
    code, mark, comment = code.partition("  // ")
    above = wrapped_comment(comment, COLUMNS - len(indent)) if mark else []
    return [indent + part for part in (*above, *wrapped(code, COLUMNS - len(indent)))]


def _fitted_directive(indent: str, code: str) -> list[str]:
    """Return a macro or a pragma as lines that end in backslashes."""
    if not code.startswith("#define "):
        lines = [indent + code]
        for clause in (" if (", " num_threads("):
            end = lines[0].rfind(clause)
            if len(lines[0]) + 2 * (len(lines) > 1) > COLUMNS and end > 0:
                lines[:1] = [lines[0][:end], indent + INDENT + lines[0][end + 1 :]]
        return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]
    end = code.find(") ") + 1
    if end <= 0:
        return [indent + code]
    parts = wrapped(f"{indent}{INDENT}{code[end:].lstrip()}", COLUMNS - 2)
    return [*(f"{part} \\" for part in (indent + code[:end], *parts[:-1])), parts[-1]]


def one_line(head: str, body: Sequence[Line]) -> str:
    """Return a function of one short statement as one line, "" if it has more or does not fit."""
    if len(body) != 1 or body[0].depth > 0 or body[0].text.startswith(("//", "#")) or "\n" in head:
        return ""
    code, mark, comment = body[0].text.partition("  // ")
    line = f"{head} {code} }}"
    comment = "" if comment.startswith(":") and len(line + mark + comment) > COLUMNS else mark + comment
    return line + comment if len(line + comment) <= COLUMNS else ""


class PrintedBody(NamedTuple):
    """A function of a source.

    head: its lines above the body, or a function of one line. start: where it starts in Python, or `NOWHERE`.
    opening: how many generated lines follow the head.
    """

    head: str
    body: list[Line]
    start: SourceLocation = NOWHERE
    opening: int = 0


def map_of_lines(source: str, begin: int, printed: Sequence[Line]) -> list[tuple[int, str, int]]:
    """Return where Python lines start among lines that a template has arranged, and where these end.

    begin: the line of the source from which they are looked for, in order.
    """
    lines = [line.strip() for line in source.split("\n")]
    entries: list[tuple[int, str, int]] = []
    for line in printed:
        if line.text.strip() in lines[begin:]:
            begin = lines.index(line.text.strip(), begin) + 1
            if line.location is not None:
                entries.append((begin, line.location.file, line.location.line))
    return [*entries, (begin + 1, *END_OF_BODY)] if entries else []


def line_map(source: str, functions: Sequence[PrintedBody]) -> tuple[tuple[int, str, int], ...]:
    """Return where Python lines start in `source`, and where the bodies end that contain some.

    Bodies follow the heads of their functions, in order.
    """
    lines = source.split("\n")
    entries: list[tuple[int, str, int]] = []
    start = 0
    for function in functions:
        head = function.head.split("\n")
        start = lines.index(head[0], start) + len(head) + 1 + function.opening
        count = len(entries)
        if not function.head.endswith("{"):
            location = function.body[0].location or function.start
            if location is not NOWHERE:
                entries += [(start - 1, location.file, location.line), (start, *END_OF_BODY)]
            continue
        if function.start is not NOWHERE:
            entries.append((start - 1 - function.opening, function.start.file, function.start.line))
        for offset, line in enumerate(function.body):
            if line.location is not None:
                entries.append((start + offset, line.location.file, line.location.line))
        if len(entries) > count:
            entries.append((start + len(function.body) + 1, *END_OF_BODY))
    return tuple(entries)
