"""In which function of an edited source a character is, which tasks reach that, and which names it can use there.

In: a source with blanks in place of comments and strings, correct or broken. Out: `Function`s; whether a name is that
of an integer variable at a place. What is unknown is left out: then a record has no indices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_TAIL = re.compile(r"\)\s*(?:(?:const|noexcept)\s*)*\Z")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*\Z")
_CONTROL = frozenset({"if", "for", "while", "switch", "do", "else", "return", "sizeof", "layout"})
_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\(")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_INTEGER = r"(?:unsigned(?:\s+(?:int|long(?:\s+long)?))?|u?int(?:(?:8|16|32|64)_t)?|long(?:\s+long)?|size_t)"


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a source. head: where its parameters begin; start, end: its body with the braces."""

    name: str
    head: int
    start: int
    end: int


def without_directives(code: str) -> str:
    """Return code with blanks in place of directives, whose braces need not be in pairs."""
    return _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)


def functions(code: str) -> list[Function]:
    """Return the functions of a source without comments, strings and directives, in order."""
    found: list[Function] = []
    opened: list[tuple[int, tuple[str, int] | None]] = []
    boundary = 0
    for match in re.finditer(r"[{};]", code):
        if match[0] == "{":
            is_inside = any(head is not None for _, head in opened)
            opened.append((match.start(), None if is_inside else _head(code, boundary, match.start())))
        elif match[0] == "}" and opened:
            start, head = opened.pop()
            if head is not None:
                found.append(Function(*head, start, match.end()))
        boundary = match.end()
    return sorted(found, key=lambda function: function.start)


def _head(code: str, start: int, end: int) -> tuple[str, int] | None:
    """Return the name of the function whose head ends a range, and where its parameters begin; None if it has none."""
    tail = _TAIL.search(code, start, end)
    if tail is None:
        return None
    depth, position = 0, tail.start()
    while position >= start:
        depth += {")": 1, "(": -1}.get(code[position], 0)
        if depth == 0:
            break
        position -= 1
    name = _NAME.search(code, start, max(start, position))
    return (name[1], position + 1) if name is not None and name[1] not in _CONTROL else None


def function_at(functions: Sequence[Function], position: int) -> Function | None:
    """Return the function whose body has a character."""
    return next((f for f in functions if f.start <= position < f.end), None)


def reaching(code: str, functions: Sequence[Function], entries: Mapping[str, int]) -> dict[str, int]:
    """Return the first of the tasks that reach a function, by its name. entries: tasks by the names of entry points."""
    names = {function.name for function in functions}
    calls: dict[str, set[str]] = {name: set() for name in names}
    for function in functions:
        calls[function.name] |= names.intersection(_CALL.findall(code, function.start, function.end))
    found: dict[str, int] = {}
    for entry, task in sorted(entries.items(), key=lambda item: item[1]):
        waiting = [entry]
        while waiting:
            name = waiting.pop()
            if name in calls and name not in found:
                found[name] = task
                waiting += calls[name]
    return found


def knows_integer(code: str, function: Function, position: int, name: str) -> bool:
    """Return whether a name is an integer variable or parameter of `function` at a place in its body."""
    declared = re.compile(rf"(?<![\w.])(?:const\s+)?{_INTEGER}\s+(?:const\s+)?{re.escape(name)}(?=\s*[=;,):])")
    if declared.search(code, function.head, function.start):
        return True
    return any(
        match.start() < position <= _end_of_scope(code, match.start(), function)
        for match in declared.finditer(code, function.start, position)
    )


def _end_of_scope(code: str, position: int, function: Function) -> int:
    """Return where the scope of a variable ends that is declared at `position`."""
    loop = re.compile(r"\bfor\s*\(\s*\Z").search(code, function.start, position)
    if loop is None:
        return _closing(code, position, "{", "}", function.end)
    after = _closing(code, position, "(", ")", function.end)
    body = re.compile(r"\s*").match(code, after).end()  # type: ignore[union-attr]
    if code[body : body + 1] == "{":
        return _closing(code, body + 1, "{", "}", function.end)
    end = code.find(";", body, function.end)
    return function.end if end < 0 else end


def _closing(code: str, position: int, opening: str, closing: str, end: int) -> int:
    """Return the position after the bracket that closes the one before `position`."""
    depth = 1
    for match in re.compile(f"[{re.escape(opening + closing)}]").finditer(code, position, end):
        depth += 1 if match[0] == opening else -1
        if depth == 0:
            return match.end()
    return end
