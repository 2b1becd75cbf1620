"""A subset of YAML, written and read: only what recordings need, and simple enough to check by eye.

In: dictionaries, lists, strings, numbers, booleans and None. Out: YAML that every YAML 1.2 reader accepts, and back.

    arch: c                         a plain string: letters, digits, `_`, `-`, `.`, `/`, and not a keyword of YAML
    file: "a b.py"                  any other string, as in JSON
    turns: [128, 1]                 a list or dictionary on one line, as in JSON
    kernels:
      - name: fill                  a list of dictionaries, indented by two more spaces
        tasks:
          - {"name": "fill_0"}

The reader accepts only this form: no anchors, tags, several documents, block strings, or comments after values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
"""Strings that need no quotes, except `KEYWORDS`."""
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYWORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that JSON allows unescaped and YAML does not."""
MAX_DEPTH = 32
MAX_WIDTH = 120
"""Maximum columns of a list or dictionary of plain values on one line."""


def dump_yaml(data: Any) -> str:
    """Return a dictionary as YAML. Raises: TypeError, ValueError for values outside the subset."""
    if not isinstance(data, dict) or not data:
        raise TypeError(f"a dictionary with entries was expected, found {type(data).__name__}")
    return "\n".join(_block(data, 0)) + "\n"


def _block(data: Any, depth: int) -> Iterator[str]:
    """Yield the lines of a dictionary or list that does not fit on one line."""
    pad = "  " * depth
    if isinstance(data, dict):
        for key, value in data.items():
            if not _is_key(key):
                raise ValueError(f"{key!r} is not a valid key")
            yield from _entry(f"{pad}{key}:", value, depth)
        return
    for item in data:
        if not _fits_on_line(item):
            lines = list(_block(item, depth + 1))
            yield f"{pad}- {lines[0].lstrip()}" if isinstance(item, dict) else f"{pad}-"
            yield from lines[1:] if isinstance(item, dict) else lines
        else:
            yield f"{pad}- {_flow(item)}"


def _entry(head: str, value: Any, depth: int) -> Iterator[str]:
    if _fits_on_line(value):
        yield f"{head} {_flow(value)}"
    else:
        yield head
        yield from _block(value, depth + 1)


def _fits_on_line(value: Any) -> bool:
    """Return whether a value fits on one line: numbers, strings, and short collections of these."""
    if not isinstance(value, (dict, list)):
        return True
    if not value or (isinstance(value, dict) and not all(map(_is_key, value))):
        return True
    items = list(value.values() if isinstance(value, dict) else value)
    is_flat = not any(isinstance(item, dict) or (isinstance(item, list) and any(map(_is_long, item))) for item in items)
    return is_flat and len(_flow(value)) <= MAX_WIDTH


def _is_key(key: Any) -> bool:
    return isinstance(key, str) and bool(KEY.fullmatch(key)) and key.lower() not in KEYWORDS


def _is_long(item: Any) -> bool:
    return isinstance(item, (dict, list))


def _flow(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in KEYWORDS:
        return value
    return _as_json(value)


def _as_json(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_as_json(key)}: {_as_json(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_as_json, value))}]"
    literal = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if isinstance(value, float):
        return literal if "." in literal else literal.replace("e", ".0e")  # without a point it is a string in YAML 1.1
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", literal)


# --- reading --------------------------------------------------------------------------------------------------------


def load_yaml(text: str) -> dict[str, Any]:
    """Return the dictionary of a YAML file in the form of `dump_yaml`. Raises: ValueError naming the line."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        content = line.lstrip(" ")
        if content and not content.startswith("#"):
            if "\t" in line[: len(line) - len(line.lstrip())]:
                _fail(number, "tabs do not indent")
            lines.append((number, len(line) - len(content), content.rstrip()))
    found = _Lines(lines).block(0, 0)
    if not isinstance(found, dict):
        _fail(1, "expected `key: value`")
    return found


class _Lines:
    """The lines that are not read yet: number, indentation, content."""

    def __init__(self, lines: list[tuple[int, int, str]]) -> None:
        self._lines = lines
        self._next = 0

    def block(self, indent: int, depth: int) -> Any:
        """Read the dictionary or list that starts at the next line, which must have this indentation."""
        if self._next == len(self._lines):
            _fail(self._lines[-1][0] if self._lines else 1, "unexpected end of the file")
        number, found, content = self._lines[self._next]
        if found != indent:
            _fail(number, f"expected {indent} leading spaces, found {found}")
        if depth > MAX_DEPTH:
            _fail(number, "nested too deep")
        if content == "-" or content.startswith("- "):
            return self._list(indent, depth)
        return self._dictionary(indent, depth)

    def _dictionary(self, indent: int, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while (line := self._at(indent)) is not None:
            number, content = line
            key, colon, rest = content.partition(":")
            if not colon or not KEY.fullmatch(key) or (rest and rest[0] != " "):
                _fail(number, f"expected `key: value`, found `{content[:40]}`")
            if key in result:
                _fail(number, f"duplicate key `{key}`")
            self._next += 1
            result[key] = _value(rest.strip(), number) if rest.strip() else self.block(indent + 2, depth + 1)
        return result

    def _list(self, indent: int, depth: int) -> list[Any]:
        result: list[Any] = []
        while (line := self._at(indent)) is not None:
            number, content = line
            if content != "-" and not content.startswith("- "):
                _fail(number, f"expected `- `, found `{content[:40]}`")
            rest = content[2:].strip()
            key, colon, _ = rest.partition(":")
            if rest and not (colon and KEY.fullmatch(key)):
                self._next += 1
                result.append(_value(rest, number))
            elif rest:  # a dictionary, whose first entry is on the line of the dash
                self._lines[self._next] = number, indent + 2, rest
                result.append(self.block(indent + 2, depth + 1))
            else:
                self._next += 1
                result.append(self.block(indent + 2, depth + 1))
        return result

    def _at(self, indent: int) -> tuple[int, str] | None:
        """Return the next line if it has this indentation, None after the end of the block."""
        if self._next == len(self._lines):
            return None
        number, found, content = self._lines[self._next]
        if found > indent:
            _fail(number, f"expected {indent} leading spaces, found {found}")
        return (number, content) if found == indent else None


def _value(text: str, number: int) -> Any:
    if PLAIN.fullmatch(text) and text not in ("true", "false", "null"):
        return text
    try:
        return json.loads(text, parse_constant=lambda name: _fail(number, f"`{name}` is not a number here"))
    except (json.JSONDecodeError, RecursionError):
        _fail(number, f"`{text[:40]}` is not a plain string, a number, a quoted string, a list or a dictionary")


def _fail(number: int, message: str) -> NoReturn:
    raise ValueError(f"line {number}: {message}")
