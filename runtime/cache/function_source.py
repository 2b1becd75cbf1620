"""The source or bytecode of a Python function and the names in it, found without parsing.

In: a function. Out: for a function that kernels build (`FunctionSource`), its source lines and every dotted name in
them; for a function that Python runs during compilation (`FunctionBytecode`), its bytecode and the names in it.
A syntax tree would be exact but cost as much as the frontend. So names are taken from the whole source, comments and
strings included: a superfluous name may change a key needlessly, a missing one would make it wrong.
"""

from __future__ import annotations

import linecache
import re
import unicodedata
from collections.abc import Iterator
from dis import get_instructions
from itertools import chain
from opcode import opmap
from operator import itemgetter
from types import CodeType
from typing import Any

from ...transpiler.lazy_dataclasses import dataclass

NAME_CHAIN = re.compile(r"[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*")
"""A name and its attributes: `self.grid.dx`."""
IDENTIFIER = re.compile(r"[^\W\d]\w*")
FOREIGN = r"(?:[A-Za-z_]|[^\x00-\x7f])(?:\w|[^\x00-\x7f])*"
FOREIGN_NAME_CHAIN = re.compile(rf"{FOREIGN}(?:\s*\.\s*{FOREIGN})*")
"""The same for names with letters that `\\w` does not match, such as those with combining accents."""
PLAIN_GETATTR = re.compile(r"\b(?:get|has)attr\s*\(\s*[\w.]+\s*,\s*(['\"])\w+\1\s*[,)]")
"""With the whole name in one literal: further literals, `+` or a method would give another name."""
GETATTR = re.compile(r"\b(?:get|has)attr\b")
PLAIN_FORMAT = re.compile(r"['\"]\s*\.\s*format\s*\(")
FORMAT = re.compile(r"\.\s*format(?:_map)?\b")
"""`"{0.member}".format(value)` reads members too; if a literal precedes it, their names are in the source."""
LINE = itemgetter(2)
"""The line number in an item of `co_lines`."""
TRIPLE = re.compile(r'"""|\'\'\'')


class SourceUnavailable(Exception):
    """The source of a function cannot be read; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function that kernels build.

    lines: from its first decorator to the end of its block, without newlines.
    chains: dotted names in order of first appearance.
    names: all parts of them.
    constants: of its bytecode.
    computed: it reads members by computed names.
    """

    file: str
    first_line: int
    lines: tuple[str, ...]
    chains: tuple[tuple[str, ...], ...]
    names: frozenset[str]
    constants: str
    computed: bool


@dataclass(frozen=True, slots=True)
class FunctionBytecode:
    """A function that Python runs.

    code: its bytecode with that of nested functions, as a string.
    outer: names that it reads from outside.
    names: these and all identifiers in its strings.
    imports: it imports a module.
    formats: it reads members by computed formats, or by formats of others.
    matches: it has a `match` with class patterns.
    iterates_over_set: it has a loop over a set of strings, whose order differs between processes.
    """

    code: str
    outer: tuple[str, ...]
    names: frozenset[str]
    imports: bool
    formats: bool
    matches: bool
    iterates_over_set: bool


def source_of(function: Any) -> FunctionSource:
    """Return the source of a function. Raises: SourceUnavailable."""
    code: CodeType = function.__code__
    lines = _source_lines(code, function.__globals__)
    text = "\n".join(lines)
    chains = tuple(dict.fromkeys(_chains(_without_own_name(text, code.co_name))))
    joined = [item for inner in _nested(code) for item in inner.co_consts if isinstance(item, str)]
    names = frozenset(chain.from_iterable([*chains, IDENTIFIER.findall(" ".join(joined)) if joined else ()]))
    computed = "attr" in text and len(GETATTR.findall(text)) > len(PLAIN_GETATTR.findall(text))
    computed = computed or ("format" in text and len(FORMAT.findall(text)) > len(PLAIN_FORMAT.findall(text)))
    constants = "".join(_constants(code))
    return FunctionSource(code.co_filename, code.co_firstlineno, lines, chains, names, constants, computed)


def _without_own_name(text: str, name: str) -> str:
    """Return a source in which `def` is followed by no name: it reads nothing, least of all a global of that name."""
    return re.sub(rf"\bdef\s+{re.escape(name)}\b", "def", text, count=1)


def _chains(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names in a source, and their normal forms, which Python uses (NFKC)."""
    found = NAME_CHAIN.findall(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        found += NAME_CHAIN.findall(text) + FOREIGN_NAME_CHAIN.findall(text)
    for name in dict.fromkeys(found):
        yield tuple("".join(name.split()).split(".")) if "." in name else (name,)


def bytecode_of(function: Any) -> FunctionBytecode:
    """Return the bytecode that Python runs when it calls a function."""
    code: CodeType = function.__code__
    outer: dict[str, None] = {}
    names: set[str] = set()
    imports = matches = False
    pieces = []
    for inner in _nested(code):
        outer.update(dict.fromkeys(inner.co_names))
        names.update(inner.co_names, inner.co_freevars)
        for constant in inner.co_consts:
            for item in constant if isinstance(constant, tuple) else (constant,):
                if isinstance(item, str):
                    names.update(IDENTIFIER.findall(item), (item,))
        imports = imports or IMPORT_NAME in inner.co_code[::2]
        matches = matches or MATCH_CLASS in inner.co_code[::2]
        pieces.append(
            f"{inner.co_name} {inner.co_argcount} {inner.co_posonlyargcount} {inner.co_kwonlyargcount} {inner.co_flags}"
            f" {inner.co_names} {inner.co_varnames} {inner.co_freevars} {inner.co_cellvars} {inner.co_code.hex()}"
        )
    pieces += _constants(code)
    text, has_sets = "\n".join(pieces), _iterates_over_set(code)
    return FunctionBytecode(text, tuple(outer), frozenset(names), imports, _formats(code), matches, has_sets)


def _formats(code: CodeType) -> bool:
    """Return whether a function calls `str.format` of anything but one of its own literals."""
    calls, strings = 0, list[str]()
    for inner in _nested(code):
        strings += [item for item in inner.co_consts if isinstance(item, str) and ("{" in item or "}" in item)]
        if not FORMATS.isdisjoint(inner.co_names):
            calls += sum(step.argval in FORMATS for step in get_instructions(inner) if isinstance(step.argval, str))
    return calls > len(strings) or (calls > 0 and any(_is_cut(text) for text in strings))


def _iterates_over_set(code: CodeType) -> bool:
    """Return whether a set of strings is used for more than membership tests."""
    for inner in _nested(code):
        if any(isinstance(item, frozenset) and not all(map(is_number, item)) for item in inner.co_consts):
            steps = list(get_instructions(inner))
            for step, after in zip(steps, steps[1:], strict=False):
                if isinstance(step.argval, frozenset) and after.opname != "CONTAINS_OP":
                    return True
    return False


def is_number(value: Any) -> bool:
    """Return whether a value has the same position in a set in every process."""
    return isinstance(value, (int, float, complex))


def _is_cut(text: str) -> bool:
    rest = WHOLE_FIELD.sub("", text)
    return "{" in rest or "}" in rest


FORMATS = frozenset({"format", "format_map"})
WHOLE_FIELD = re.compile(r"\{\{|\}\}|\{[^{}]*\}")


IMPORT_NAME, MATCH_CLASS = opmap["IMPORT_NAME"], opmap["MATCH_CLASS"]


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _constants(code: CodeType) -> Iterator[str]:
    """Yield the constants of a function and its nested functions as strings that are equal in every process."""
    for inner in _nested(code):
        for constant in inner.co_consts:
            if not isinstance(constant, CodeType):
                yield f"{_constant(constant)};"


def _constant(value: Any) -> str:
    if isinstance(value, frozenset):
        return f"frozenset({sorted(map(_constant, value))})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    return f"{type(value).__name__} {value!r}"


def _source_lines(code: CodeType, module_globals: dict[str, Any]) -> tuple[str, ...]:
    file = code.co_filename
    if file.startswith("<") and file.endswith(">"):
        lines = linecache.getlines(file)  # not through a module's loader, as `frontend.source.definition` says
    else:
        linecache.checkcache(file)
        lines = linecache.getlines(file, module_globals)
    first = code.co_firstlineno - 1
    if not 0 <= first < len(lines):
        raise SourceUnavailable(f"the source of `{code.co_name}` cannot be read")
    end = max(max(filter(None, map(LINE, inner.co_lines())), default=first + 1) for inner in _nested(code))
    return tuple(line.rstrip("\r\n") for line in lines[first : _end_of_block(lines, first, end)])


def _end_of_block(lines: list[str], first: int, end: int) -> int:
    """Return the end of the block with code up to line `end`: the next line that is indented no deeper than its start.

    Lines inside a string of several lines belong to the block at any indentation.
    """
    depth = _depth(lines[first])
    end = min(max(end, first + 1), len(lines))
    opened = _triples("\n".join(lines[first:end])) % 2
    last = end
    while end < len(lines):
        line = lines[end]
        stripped = line.lstrip()
        if not opened and stripped and stripped[0] != "#" and _depth(line) <= depth:
            break
        opened = (opened + _triples(line)) % 2
        end += 1
        if stripped:
            last = end
    return last


def _triples(text: str) -> int:
    return len(TRIPLE.findall(text)) if '"""' in text or "'''" in text else 0


def _depth(line: str) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())
