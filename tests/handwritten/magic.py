"""Floats in emitted sources that had a name in Python: captured numbers, and what was computed of them.

dpos = (offset - fx) * dx    ->    vec3 dpos = (offset - fx) * 0.015625f;     # one
half = 0.5 * x[i]            ->    float half = 0.5f * x(i);                  # none: Python has the number there
"""

from __future__ import annotations

import ast
import math
import re
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from shadesmith.transpiler.backend.module.interface import SourceFile

LITERAL = re.compile(r"(?<![\w.])(\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+)(f|lf|F)?(?![\w.])")
NAMED = re.compile(r"^ *(?:static )?const(?:expr)? \w+ \w+(?:\[\d+\])* =[^;]*;", re.MULTILINE)
NAMELESS = {0.0, 1.0, 2.0, 0.5}
"""Numbers that operators are made of: identities, squares, means."""
MOST_DIGITS = 30


def magic_floats(file: SourceFile) -> list[str]:
    """Return the float literals in functions of a source that the Python of these functions does not have."""
    numbers: set[float] = set()
    for path in {python for _, python, _ in file.lines if python}:
        lines = frozenset(line for _, python, line in file.lines if python == path)
        numbers |= _numbers(path, lines)
    return [literal for literal in _literals(file) if _single(float(literal)) not in numbers | NAMELESS]


def _literals(file: SourceFile) -> Iterator[str]:
    """Yield the float literals between the first line of each function that is Python's, and its end."""
    named = {line for found in NAMED.finditer(file.text) for line in _lines_of(found, file.text)}
    lines = file.text.splitlines()
    ends = (*(emitted for emitted, _, _ in file.lines), len(lines) + 1)[1:]
    for (start, python, _), end in zip(file.lines, ends):
        for number in range(start, end) if python else ():
            if number not in named:
                code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', lines[number - 1].partition("//")[0])
                yield from (found[1] for found in LITERAL.finditer(code))


def _lines_of(found: re.Match[str], text: str) -> range:
    first = text.count("\n", 0, found.start()) + 1
    return range(first, first + found[0].count("\n") + 1)


@cache
def _numbers(path: str, lines: frozenset[int]) -> frozenset[float]:
    """Return the numbers that the functions on these lines, or those they name, have or make of literals alone."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    used = [f for f in functions if any(f.lineno <= line <= (f.end_lineno or 0) for line in lines)]
    for function in used:  # which grows
        names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        used += [f for f in functions if f.name in names and f not in used]
    found: set[float] = set()
    for value in (_value(node) for function in used for node in ast.walk(function)):
        if value is not None:
            found |= {_single(value), _single(-value), _single(1.0 - value)}  # 1 - a of `ti.math.mix`
            if value:
                found.add(_single(1 / value))  # of a division
    return frozenset(found)


def _value(node: ast.AST) -> float | None:
    """Return the number that an expression of literals is, None for any other."""
    if not isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp) or (
        any(not isinstance(inner, ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
            for inner in ast.walk(node))
    ):  # fmt: skip
        return None
    text = ast.unparse(node)
    if len(text) > MOST_DIGITS or re.search(r"[\"']", text):
        return None
    try:
        value = eval(text, {"__builtins__": {}})
        return float(value) if isinstance(value, int | float) else None
    except (ArithmeticError, TypeError, ValueError):
        return None


def _single(value: float) -> float:
    """Round to the nearest f32, as literals of kernels are."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.inf
