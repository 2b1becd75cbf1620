"""What a Python function says, found without parsing it: its lines, and the names in them.

In: a function. Out: for one that kernels build (`TextOfFunction`), its lines as its author wrote them and every dotted
name in them; for one that Python runs while it compiles (`CodeOfFunction`), its bytecode and the names in that.
A syntax tree would be exact, and would cost as much as the frontend; so names are taken from all of the text, comments
and strings included: what is named too often makes a key change too often, never too seldom.
"""

from __future__ import annotations

import linecache
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from dis import get_instructions
from itertools import chain
from opcode import opmap
from operator import itemgetter
from types import CodeType
from typing import Any

CHAIN = re.compile(r"[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*")
"""A name with the attributes behind it: `self.grid.dx`."""
WORD = re.compile(r"[^\W\d]\w*")
FOREIGN = r"(?:[A-Za-z_]|[^\x00-\x7f])(?:\w|[^\x00-\x7f])*"
FOREIGN_CHAIN = re.compile(rf"{FOREIGN}(?:\s*\.\s*{FOREIGN})*")
"""The same where names may have letters that `\\w` does not know, as those that are put together with an accent."""
PLAIN_GETATTR = re.compile(r"\b(?:get|has)attr\s*\(\s*[\w.]+\s*,\s*(['\"])\w+\1\s*[,)]")
"""With the whole name in one literal: more literals, `+` or a method behind it make another name."""
GETATTR = re.compile(r"\b(?:get|has)attr\b")
PLAIN_FORMAT = re.compile(r"['\"]\s*\.\s*format\s*\(")
FORMAT = re.compile(r"\.\s*format(?:_map)?\b")
"""`"{0.member}".format(value)` reads members too; with the literal before it their names are in the text."""
LINE = itemgetter(2)
"""The line of what `co_lines` gives."""
TRIPLE = re.compile(r'"""|\'\'\'')


class NoText(Exception):
    """A function's text cannot be read; the words say why."""


@dataclass(frozen=True, slots=True)
class TextOfFunction:
    """A function that kernels build. lines: from its first decorator to where its block ends, without line ends.

    chains: dotted names in order of first appearance. names: all parts of them. constants: what its bytecode holds.
    computed: it reads members by names that it computes.
    """

    file: str
    first_line: int
    lines: tuple[str, ...]
    chains: tuple[tuple[str, ...], ...]
    names: frozenset[str]
    constants: str
    computed: bool


@dataclass(frozen=True, slots=True)
class CodeOfFunction:
    """A function that Python runs. code: its bytecode with all inside, as text. outer: names it reads from outside.

    names: those and all words in its strings. imports: it imports. formats: it reads members by formats that are put
    together, or are not its own. matches: it has a `match` with patterns of classes. goes_through_set: it has a loop
    over a set of texts, whose order is another in each process.
    """

    code: str
    outer: tuple[str, ...]
    names: frozenset[str]
    imports: bool
    formats: bool
    matches: bool
    goes_through_set: bool


def text_of(function: Any) -> TextOfFunction:
    """Return what a function says. Raises: NoText."""
    code: CodeType = function.__code__
    lines = _lines_of(code, function.__globals__)
    text = "\n".join(lines)
    chains = tuple(dict.fromkeys(_chains(text)))
    joined = [item for inner in _nested(code) for item in inner.co_consts if isinstance(item, str)]
    names = frozenset(chain.from_iterable([*chains, WORD.findall(" ".join(joined)) if joined else ()]))
    computed = "attr" in text and len(GETATTR.findall(text)) > len(PLAIN_GETATTR.findall(text))
    computed = computed or ("format" in text and len(FORMAT.findall(text)) > len(PLAIN_FORMAT.findall(text)))
    constants = "".join(_constants(code))
    return TextOfFunction(code.co_filename, code.co_firstlineno, lines, chains, names, constants, computed)


def _chains(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names of a text, those in which Python joins letters as Python has them."""
    found = CHAIN.findall(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        found += CHAIN.findall(text) + FOREIGN_CHAIN.findall(text)
    for name in dict.fromkeys(found):
        yield tuple("".join(name.split()).split(".")) if "." in name else (name,)


def code_of(function: Any) -> CodeOfFunction:
    """Return what Python runs when it calls a function."""
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
                    names.update(WORD.findall(item), (item,))
        imports = imports or IMPORT_NAME in inner.co_code[::2]
        matches = matches or MATCH_CLASS in inner.co_code[::2]
        pieces.append(
            f"{inner.co_name} {inner.co_argcount} {inner.co_posonlyargcount} {inner.co_kwonlyargcount} {inner.co_flags}"
            f" {inner.co_names} {inner.co_varnames} {inner.co_freevars} {inner.co_cellvars} {inner.co_code.hex()}"
        )
    pieces += _constants(code)
    text, has_sets = "\n".join(pieces), _goes_through_set(code)
    return CodeOfFunction(text, tuple(outer), frozenset(names), imports, _formats(code), matches, has_sets)


def _formats(code: CodeType) -> bool:
    """Tell whether a function calls `str.format` of what is not a whole literal of its own."""
    calls, strings = 0, list[str]()
    for inner in _nested(code):
        strings += [item for item in inner.co_consts if isinstance(item, str) and ("{" in item or "}" in item)]
        if not FORMATS.isdisjoint(inner.co_names):
            calls += sum(step.argval in FORMATS for step in get_instructions(inner) if isinstance(step.argval, str))
    return calls > len(strings) or (calls > 0 and any(_is_cut(text) for text in strings))


def _goes_through_set(code: CodeType) -> bool:
    """Tell whether a set of texts is used for more than to ask what is in it."""
    for inner in _nested(code):
        if any(isinstance(item, frozenset) and not all(map(is_number, item)) for item in inner.co_consts):
            steps = list(get_instructions(inner))
            for step, after in zip(steps, steps[1:], strict=False):
                if isinstance(step.argval, frozenset) and after.opname != "CONTAINS_OP":
                    return True
    return False


def is_number(value: Any) -> bool:
    """Tell whether a value has the same place in a set in every process."""
    return isinstance(value, int | float | complex)


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
    """Yield the constants of a function and all inside as texts that are equal in every process."""
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


def _lines_of(code: CodeType, module_globals: dict[str, Any]) -> tuple[str, ...]:
    file = code.co_filename
    if file.startswith("<") and file.endswith(">"):
        lines = linecache.getlines(file)  # not through a module's loader, as `frontend.definition` says
    else:
        linecache.checkcache(file)
        lines = linecache.getlines(file, module_globals)
    first = code.co_firstlineno - 1
    if not 0 <= first < len(lines):
        raise NoText(f"the text of `{code.co_name}` cannot be read")
    end = max(max(filter(None, map(LINE, inner.co_lines())), default=first + 1) for inner in _nested(code))
    return tuple(line.rstrip("\r\n") for line in lines[first : _end_of_block(lines, first, end)])


def _end_of_block(lines: list[str], first: int, end: int) -> int:
    """Return where the block ends that has code up to line `end`: before the next line that stands no deeper.

    A string over several lines may stand less deep; what its quotes enclose belongs to the block.
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
