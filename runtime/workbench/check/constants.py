"""Integers that a source defines by a macro or constant: the threads of a block, the iterations of a thread.

In: a source in C, CUDA C or GLSL. Out: numbers, None if the source does not define them.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

ITEMS = "ITEMS"
_NUMBER = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$", re.MULTILINE)
_CONSTANT = re.compile(r"\bconst(?:expr)?\s+(?:unsigned\s+)?(?:u?int|long|unsigned)\s+(\w+)\s*=\s*([^;]+);")
_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift,
    ast.Div: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


def without_comments(source: str) -> str:
    """Return a source with a blank in place of each comment."""
    return _COMMENTS.sub(" ", source)


def constant(source: str, name: str) -> int | None:
    """Return the integer that a source defines by `#define name ...` or `const int name = ...;`, None if none."""
    known = constants(source)
    return evaluate(known[name], known) if name in known else None


def items_of(source: str) -> int:
    """Return how many iterations a thread has; 1 if the source does not define it."""
    return max(1, constant(source, ITEMS) or 1)


def constants(source: str) -> dict[str, str]:
    """Return the definitions of a source by name: macros without parameters, and constants."""
    code = without_comments(source)
    return {name: value.strip() for found in (_DEFINE, _CONSTANT) for name, value in found.findall(code)}


def evaluate(expression: str, known: Mapping[str, str], depth: int = 0) -> int | None:
    """Return the value of an integer expression of numbers, names and + - * / % <<, signed; None for anything else."""
    try:
        return _value(ast.parse(_NUMBER.sub(r"\1", expression).strip(), mode="eval").body, known, depth)
    except (SyntaxError, ValueError, ZeroDivisionError, MemoryError, RecursionError):
        return None


def is_bracketed(name: str, source: str) -> bool:
    """Return whether a macro means the same in every expression: `32 + 32` is another number in `2 * BLOCK`."""
    known, macros = constants(source), dict(_DEFINE.findall(without_comments(source)))
    waiting, seen = [name], {name}
    while waiting:
        value = macros.get(waiting.pop(), "0").strip()
        number, inside = evaluate(value, known), evaluate(f"3 * {value} * 5", known)
        if number is not None and inside != 15 * number:
            return False
        used = set(re.findall(r"[A-Za-z_]\w*", value)) & macros.keys() - seen
        waiting += used
        seen |= used
    return True


def _value(node: Any, known: Mapping[str, str], depth: int) -> int:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name) if name in known and depth < len(known):
            found = evaluate(known[name], known, depth + 1)
            if found is not None:
                return found
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, known, depth)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, other = _value(left, known, depth), _value(right, known, depth)
            if not (isinstance(op, ast.LShift) and not 0 <= other < 64):
                return _OPERATORS[type(op)](one, other)
    raise ValueError
