"""Comments that show the Python line of a statement: above it where its words differ, at its end where they do not.

    // saxpy.py:6  y[i] = alpha * x[i] + y[i]
    y(i) = args.alpha * x(i) + y(i);                ->    y(i) = args.alpha * x(i) + y(i);  // :6

In: the lines of a printed function. Out: the same statements; the comment of a Python line is its number if the
statement has no name and no number that Python has not, and the reverse. The line map does not depend on comments.
Remarks of statements are comments too: where they are printed, and in which characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from ...errors import NOWHERE, SourceLocation, basename
from ...ir.nodes import Remark, Statement
from ..languages.common.language import Language
from ..languages.common.one_line import COLUMNS, INDENT
from .lines import Line

ADJOINT = "adjoint of"
NUMBER = re.compile(
    r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?:[fFhH]|[uU]?[lL]{0,2}|LF|lf)?(?!\w)"
)
NAME = re.compile(r"[A-Za-z_]\w*")
WORD = re.compile(f"{NAME.pattern}|{NUMBER.pattern}")
"""A name or a number, in one search. A number that touches a name is none of both."""
FLUSHED = frozenset({"flushed_f32", "flushed_f64"})
"""Functions that a statement may call without a word in Python: a remark tells why (`flush_subnormals`)."""
BETWEEN_RUNS = "".join(c if c.isalnum() or c in "_." else " " for c in map(chr, range(128)))
"""A table of characters: blanks between runs that contain all of a word, except for the sign of an exponent."""
COMMENT = re.compile(r"//[^\n]*")
CHAIN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
DECLARED_TYPE = re.compile(r"^[A-Za-z_]\w* (?=[A-Za-z_]\w* = )")
PYTHON_KEYWORDS = frozenset({
    "if", "elif", "else", "for", "in", "while", "and", "or", "not", "is", "return", "break", "continue", "pass", "True",
    "False", "None", "range", "ndrange", "static", "grouped", "ti", "tm", "math", "np",
})  # fmt: skip
KEYWORDS = frozenset({
    "if", "else", "for", "while", "return", "break", "continue", "true", "false", "const", "args", "unsigned", "long",
})  # fmt: skip
VECTOR_TYPE = re.compile(r"[a-z]*(?:vec|mat)\d+(?:x\d+)?")


def python_comment(location: SourceLocation) -> str:
    """Return `demo.py:14  s = a[i, j]`, inert in every language: one line that does not end in a backslash.

    Only the first line of a statement is known; dots mark that it continues.
    """
    line = location.python_line
    if not (line.isascii() and line.isprintable()):
        line = "".join(c if c.isprintable() else " " for c in line)
    text = f"{basename(location.file)}:{location.line}  {line.replace('??/', '? ?/')}".rstrip("\\ ")
    return f"{text} ..." if _continues(line) else text


def adjoint_comment(location: SourceLocation, is_known: bool) -> str:
    """Return the comment of a line that may be differentiated. is_known: its Python line is shown above already."""
    if not location.is_derivative:
        return python_comment(location)
    return f"{ADJOINT} :{location.line}" if is_known else f"{ADJOINT} {python_comment(location)}"


def shortened(lines: Sequence[Line], language: Language, file: str) -> list[Line]:
    """Return the lines with a number in place of each comment that repeats its statement. file: the kernel's."""
    types = _names_of_types(language)
    result: list[Line] = []
    position = 0
    while position < len(lines):
        line, first = lines[position], position
        position += 1
        if line.comment is None:
            result.append(line)
            continue
        while position < len(lines) and lines[position].comment is line.comment:
            position += 1  # the rest of a long Python line
        start = position
        while start < len(lines) and lines[start].comment is None and lines[start].text.startswith("//"):
            start += 1  # a remark
        statement = _statement(lines, start) if line.text.startswith("//") else [line]
        if not statement:
            result += lines[first:position]
            continue
        code, _, remark = statement[0].text.partition("  // ")
        text = _numbered(code, "" if statement[0] is line else remark, line, file)
        words = [code, *(s.text for s in statement[1:])]
        if line.text.startswith(f"// {ADJOINT} :"):
            result += _adjoint(line, code, remark) or [*lines[first:start], statement[0]]
            position = start + 1
        elif text and _repeats(line.comment.python_line, words, types):
            if statement[0] is not line:
                result += lines[position:start]
                position = start + 1
            result.append(Line(statement[0].depth, text, statement[0].location, statement[0].comment))
        else:
            result += lines[first:position]
    return result


@cache
def _names_of_types(language: Language) -> frozenset[str]:
    return frozenset(name for text in language.types.values() for name in NAME.findall(text))


def without_comments(source: str) -> str:
    """Return the code of a source, without the comments of its lines and without empty lines."""
    return "\n".join(filter(None, map(str.rstrip, COMMENT.sub("", source).split("\n"))))


def _statement(lines: Sequence[Line], start: int) -> list[Line]:
    """Return the only statement of the comment above line `start`, wrapped lines included; [] if there are several."""
    if start == len(lines) or not lines[start].text:
        return []
    end, depth = start + 1, lines[start].depth
    while end < len(lines):
        line = lines[end]
        is_next = line.location is not None or line.comment is not None or line.text.startswith("//")
        if is_next or line.depth != depth or line.text.strip("} ") == "":
            break
        if not line.text.startswith(INDENT):
            return []
        end += 1
    return list(lines[start:end])


def _adjoint(comment: Line, code: str, remark: str) -> list[Line]:
    """Return a statement that is alone below the comment of its adjoint as one line, [] if that is too long."""
    text = f"{code}  {comment.text}, {remark}" if remark else f"{code}  {comment.text}"
    fits = len(INDENT) * (comment.depth + 1) + len(text) <= COLUMNS
    return [comment._replace(text=text)] if fits else []


def _numbered(code: str, remark: str, line: Line, file: str) -> str:
    """Return a statement with the number of its Python line, if it fits; "" if a remark does not fit after it."""
    location = line.comment
    assert location is not None
    number = f"{'' if location.file == file else basename(location.file)}:{location.line}"
    text = f"{code}  // {number}, {remark}" if remark else f"{code}  // {number}"
    if len(INDENT) * (line.depth + 1) + len(text) <= COLUMNS:
        return text
    return "" if remark else code


def _repeats(python: str, code: Sequence[str], types: frozenset[str]) -> bool:
    """Return whether a statement has the names and the numbers of its Python line, and no others."""
    python = python.partition("#")[0]
    if '"' in python or "'" in python or _continues(python):
        return False
    source = code[0] if len(code) == 1 else " ".join(code)
    declared = DECLARED_TYPE.match(source)
    behind = source if declared is None else source[declared.end() :]
    given, words = _words(python) - PYTHON_KEYWORDS, _words(behind) - KEYWORDS
    if given == words:
        return True  # most
    missing, added = given - words, words - given
    if source.startswith("for ("):
        added -= {0.0, 1.0}
    if float in map(type, (*missing, *added)):
        return False
    known = {word for word in given if isinstance(word, str)}
    members = _members(python) if "." in python else {}
    printed = known - missing
    printed.update(*[_in_python(name, known, members) for name in added if isinstance(name, str)])
    return known - types == printed - types


class _Words(dict[str, frozenset[str | float]]):
    """By a run of letters, digits and dots, which is often the same: its names and the values of its numbers.

    Names of vector types are left out, and suffixes of numbers, by which languages differ.
    """

    def __missing__(self, run: str) -> frozenset[str | float]:
        if len(self) >= MAX_RUNS:
            self.clear()
        self[run] = found = frozenset(_words_in(run))
        return found


def _words_in(run: str) -> list[str | float]:
    digits = run.rstrip("fF")
    if digits.replace(".", "", 1).isdecimal():  # most, and an identifier: no search
        return [float(digits)]
    words = [run] if run.isidentifier() else WORD.findall(run)
    if "vec" in run or "mat" in run:
        words = [word for word in words if not VECTOR_TYPE.fullmatch(word)]
    return list(map(_value, words))


def _words(line: str) -> set[str | float]:
    """Return the names and the values of the numbers in a line."""
    has_exponent = "e-" in line or "e+" in line or "E-" in line or "E+" in line
    # Else the line is split between runs that contain all of a word, in a third of the time.
    runs = line.translate(BETWEEN_RUNS).split() if line.isascii() and not has_exponent else WORD.findall(line)
    none: set[str | float] = set()
    return none.union(*map(WORDS_OF_RUNS.__getitem__, runs))


def _in_python(name: str, names: set[str], members: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the names that one that is not in Python stands for: `sqrt` for `sqrtf`, `a`, `b` for `a_b`.

    Of our functions, `sin` for `short_sin_f32`, and nothing for `flushed_f32`.
    """
    if name in FLUSHED:
        return ()
    if name in members:
        return members[name]
    short, helper = name.removesuffix("f"), name.removeprefix("short_").removeprefix("paired_").removesuffix("_f32")
    return [next((known for known in (short, short[1:], helper) if known in names), name)]


def _members(python: str) -> dict[str, list[str]]:
    """Return the names of a chain of members by the name that it has as one argument: `floor_normal`."""
    chains = [chain.split(".") for chain in CHAIN.findall(python)]
    return {"_".join(chain[:end]): chain[:end] for chain in chains for end in range(2, len(chain) + 1)}


def _value(word: str) -> str | float:
    """Return the value of a number, whatever its suffix, or a name."""
    if word[0].isalpha() or word[0] == "_":
        return word
    if word[:2] in ("0x", "0X"):
        return float(int(word.rstrip("uUlL"), 16))
    return float(word.rstrip("fFhHuUlL"))


MAX_RUNS = 4096
WORDS_OF_RUNS = _Words()


def _continues(line: str) -> bool:
    """Return whether the statement that starts in this line goes on in the next."""
    count = line.count
    return count("(") + count("[") + count("{") > count(")") + count("]") + count("}")


# --- remarks


def remarks_above(statements: Sequence[Statement]) -> dict[int, list[Remark]]:
    """Return the remarks to print above each statement of a block: before all that follows their Python line."""
    above: dict[int, list[Remark]] = {}
    if not [statement for statement in statements if statement.remarks]:
        return above  # most blocks
    for position, statement in enumerate(statements):
        for remark in statement.remarks:
            if remark.where == "above":
                above.setdefault(_start(statements, position, remark), []).append(remark)
    return {position: sorted(remarks, key=lambda remark: _path(remark.location)) for position, remarks in above.items()}


def _start(statements: Sequence[Statement], position: int, remark: Remark) -> int:
    omitted = _path(remark.location)
    start = position
    for before in range(position - 1, -1, -1):
        location = statements[before].location
        path = _path(location)
        calls = len(path) < len(omitted) and path[-1][0] == omitted[len(path) - 1][0]
        if location is NOWHERE or calls:  # of the line whose call contained the omitted statement: before or after it
            continue
        if path <= omitted:
            break
        start = before
    return start


def _path(location: SourceLocation) -> list[tuple[int, int]]:
    """Return the lines of the inlined calls that lead to a location, then its own: sorts locations of one source."""
    path = [(location.line, 0)]
    while location.call_site is not None:
        location = location.call_site
        path.append((location.line, location.column))
    return path[::-1]


def inert(text: str) -> str:
    """Return the text of a comment in one line, which no backslash or trigraph at its end continues."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable.replace("??/", "? ?/").rstrip("\\ ")
