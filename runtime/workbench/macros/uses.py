"""Find SM_PRINT, SM_ASSERT and SM_TRAP_NAN in an edited source, in any of the three languages.

In: a source, correct or broken. Out: `Use`s with the characters that they span, or `MacroError` for one that is written
wrongly. Comments, strings and directives other than `#define` have no uses.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from ..check.parsed_source import NOISE

PRINT, ASSERT, TRAP_NAN = "SM_PRINT", "SM_ASSERT", "SM_TRAP_NAN"
NAMES = (PRINT, ASSERT, TRAP_NAN)

_TOKEN = re.compile(rf"{NOISE.pattern}|(?<!\w)(?:{'|'.join(NAMES)})(?!\w)", re.DOTALL)
_STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"\s*', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)[ \t]*(\w*)")
_OPENING, _CLOSING = "([{", ")]}"
_MAY_FOLLOW = (";", "")
"""After a use; "" is the end of a definition."""


class MacroError(Exception):
    """A macro that is written wrongly. start, end: characters of the source."""

    def __init__(self, message: str, hint: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message, self.hint, self.start, self.end = message, hint, start, end


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a macro: text[start:end] is `NAME(arguments)`.

    arguments: their source, without comments, on one line. text: the first argument if it is a string, else None;
    `values` are the others. condition: of SM_ASSERT. definition: the macro in whose `#define` it is, which has other
    lines where it is used; "" outside of such.
    """

    name: str
    start: int
    end: int
    line: int
    text: str | None
    values: tuple[str, ...]
    condition: str = ""
    definition: str = ""


def has_macros(source: str) -> bool:
    """Return whether a source may have uses: whether it has the beginning of their names."""
    return "SM_" in source and any(name in source for name in NAMES)


def uses(source: str) -> list[Use]:
    """Return the uses in a source, in order. Raises: MacroError."""
    return list(_uses(source)) if has_macros(source) else []


def _uses(source: str) -> Iterator[Use]:
    starts = [0, *(match.end() for match in re.finditer("\n", source))]
    position = 0
    while (match := _TOKEN.search(source, position)) is not None:
        position = match.end()
        if match[0] not in NAMES:
            continue
        directive, defined = _directive_at(source, starts, match.start())
        if directive and (directive != "define" or defined == match[0]):
            if directive == "define":
                message = f"`{match[0]}` is a macro of shadesmith, which an edited source has without defining it"
                raise MacroError(message, "delete this definition", *match.span())
            continue
        arguments, position = _arguments(source, match)
        if not directive:
            _check_end(source, position, match)
        line = bisect_right(starts, match.start())
        yield _use(match, position, line, arguments, defined if directive else "")


def _use(match: re.Match[str], end: int, line: int, arguments: list[str], definition: str) -> Use:
    name, condition = match[0], ""
    if name == ASSERT:
        if not arguments:
            message = "`SM_ASSERT` needs a condition"
            raise MacroError(message, 'write `SM_ASSERT(x > 0)` or `SM_ASSERT(x > 0, "x is %f", x)`', *match.span())
        condition, *arguments = arguments
    if name == TRAP_NAN and not arguments:
        raise MacroError("`SM_TRAP_NAN` needs a value", "write `SM_TRAP_NAN(x)`", *match.span())
    for argument in arguments:
        if argument.startswith('"') and string_of(argument) is None:
            message = f"a string of `{name}` does not end with a comma or the bracket"
            raise MacroError(message, 'write `SM_PRINT("x is %f", x)`', match.start(), end)
    text = string_of(arguments[0]) if arguments and name != TRAP_NAN else None
    if name == ASSERT and arguments and text is None:
        message = "the second argument of `SM_ASSERT` is no string"
        raise MacroError(message, 'write `SM_ASSERT(x > 0, "x is %f", x)`', match.start(), end)
    values = tuple(arguments if text is None else arguments[1:])
    for value in values:
        if not value:
            raise MacroError(f"an argument of `{name}` is empty", "delete the comma", match.start(), end)
    return Use(name, match.start(), end, line, text, values, condition, definition)


def string_of(argument: str) -> str | None:
    """Return the characters of a string literal, or of several in a row; None if an argument is anything else."""
    parts, position = [], 0
    while (match := _STRING.match(argument, position)) is not None:
        parts.append(_ESCAPE.sub(_unescaped, match[1]))
        position = match.end()
    return "".join(parts) if parts and position == len(argument) else None


def _unescaped(match: re.Match[str]) -> str:
    if match[1] or match[2]:
        return chr(int(match[1], 16) if match[1] else int(match[2], 8) & 255)
    return _ESCAPED.get(match[3], match[3].strip("\n"))


def _directive_at(source: str, starts: list[int], position: int) -> tuple[str, str]:
    """Return the directive whose logical line has a character, and the word after it; "" if it is none."""
    line = bisect_right(starts, position) - 1
    while line > 0 and source[: starts[line]].endswith("\\\n"):
        line -= 1
    match = _DIRECTIVE.match(source, starts[line])
    return (match[1], match[2]) if match is not None else ("", "")


def _arguments(source: str, match: re.Match[str]) -> tuple[list[str], int]:
    """Return the arguments of a use, and the position after its bracket."""
    opening = re.compile(r"(?:\s|\\\n)*\(").match(source, match.end())
    if opening is None:
        message = f"`{match[0]}` is used without arguments in brackets"
        raise MacroError(message, f"write `{match[0]}(...);`", *match.span())
    parts: list[str] = []
    opened, start, position = [")"], opening.end(), opening.end()
    while position < len(source):
        noise = NOISE.match(source, position)
        if noise is not None:
            position = noise.end()
            continue
        character = source[position]
        if character in _OPENING:
            opened.append(_CLOSING[_OPENING.index(character)])
        elif character in _CLOSING:
            if character != opened.pop():
                break
            if not opened:
                parts.append(source[start:position])
                found = [_one_line(part) for part in parts]
                return ([] if found == [""] else found), position + 1
        elif character == "," and len(opened) == 1:
            parts.append(source[start:position])
            start = position + 1
        elif character == ";" and len(opened) == 1:
            break
        position += 1
    message = f"the bracket of `{match[0]}` is not closed"
    raise MacroError(message, f"write `{match[0]}(...);`", *match.span())


def _one_line(argument: str) -> str:
    """Return an argument without comments and line ends; strings stay as they are."""
    bare = NOISE.sub(lambda noise: " " if noise[0].startswith("/") else noise[0], argument)
    return re.sub(r"\s*\\?\n\s*", " ", bare).strip()


def _check_end(source: str, position: int, match: re.Match[str]) -> None:
    """Raise MacroError unless a use ends like a statement: what follows would be part of it otherwise."""
    while True:
        position = re.compile(r"\s*").match(source, position).end()  # type: ignore[union-attr]
        noise = NOISE.match(source, position)
        if noise is None or not noise[0].startswith("/"):
            break
        position = noise.end()
    if source[position : position + 1] not in _MAY_FOLLOW:
        message = f"`{match[0]}(...)` is a statement, and `;` is missing after it"
        raise MacroError(message, f"write `{match[0]}(...);`", *match.span())
