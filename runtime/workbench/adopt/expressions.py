"""Candidates inside a kernel: a condition or a bound dropped, a variable renamed, a number changed."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator

from .candidate import Candidate, State, candidates
from .python_text import FunctionText, Replacement

NAME = re.compile(r"[A-Za-z_]\w*")
NUMBER = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|0[xX][0-9a-fA-F]+)(?:[fFhH]|[uU]?[lL]{0,2}|LF|lf)?")

LOOSE = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)
"""Expressions that `and` would take apart without parentheses."""


def dropped_conditions(state: State) -> Iterator[Candidate]:
    """An `if` without its condition, or without a part of it."""
    if not any(token in ("if", "&", "?", "min", "max", "clamp") for token in state.removed()):
        return
    text = state.text
    for node in ast.walk(text.tree):
        if isinstance(node, ast.If):
            condition = " ".join(text.text(node.test).split())
            if not node.orelse:
                yield from candidates(text.without_head(node), f"no `if {condition}:`", node)
            for part, rest in _rests(text, node.test):
                yield from candidates(text.replaced(part, rest), f"`{rest}` in place of `{condition}`", node)


def _rests(text: FunctionText, test: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Yield conditions with what is left of them if a part is dropped."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for dropped in test.values:
            rest = [value for value in test.values if value is not dropped]
            yield test, text.text(rest[0]) if len(rest) == 1 else " and ".join(_operand(text, value) for value in rest)
        for value in test.values:
            yield from _rests(text, value)
    elif isinstance(test, ast.Compare) and len(test.ops) > 1:
        yield test, ast.unparse(ast.Compare(test.comparators[0], test.ops[1:], test.comparators[1:]))
        yield test, ast.unparse(ast.Compare(test.left, test.ops[:-1], test.comparators[:-1]))


def _operand(text: FunctionText, value: ast.expr) -> str:
    """Return an operand of `and` as the program has it."""
    return f"({text.text(value)})" if isinstance(value, LOOSE) else text.text(value)


def dropped_clamps(state: State) -> Iterator[Candidate]:
    """A minimum or maximum without its bound, as in `x[ti.max(i - 1, 0)]`."""
    if not any(token in ("min", "max", "clamp") or "min_" in token or "max_" in token for token in state.removed()):
        return
    text = state.text
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Call) and _is_bound(node):
            for part in _parts(node):
                title = f"`{text.text(part)}` in place of `{text.text(node)}`"
                for rest in dict.fromkeys((text.text(part), f"({text.text(part)})")):
                    yield from candidates(text.replaced(node, rest), title, node)


def _parts(call: ast.Call) -> Iterator[ast.expr]:
    """Yield the arguments of a minimum or maximum, and those of the ones that are its arguments."""
    for part in call.args:
        yield part
        if isinstance(part, ast.Call) and _is_bound(part):
            yield from _parts(part)


def _is_bound(call: ast.Call) -> bool:
    return _name(call.func) in ("min", "max") and not call.keywords


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def renamed(state: State) -> Iterator[Candidate]:
    """A variable under another name."""
    text = state.text
    names = [node for node in ast.walk(text.tree) if isinstance(node, ast.Name)]
    parameters = {argument.arg for argument in ast.walk(text.tree.args) if isinstance(argument, ast.arg)}
    local = {node.id for node in names if isinstance(node.ctx, ast.Store)} - parameters
    used = {node.id for node in names} | parameters
    for old, new in dict.fromkeys(state.pairs()):
        if old in local and new not in used and NAME.fullmatch(new) and not keyword.iskeyword(new):
            spans = [Replacement(*text.span(node), new) for node in names if node.id == old]
            first = next(node for node in names if node.id == old and isinstance(node.ctx, ast.Store))
            yield from candidates(text.with_replacements(spans), f"`{new}` in place of `{old}`", first)


def numbers(state: State) -> Iterator[Candidate]:
    """A number in place of another."""
    text = state.text
    body = [node for statement in text.tree.body for node in ast.walk(statement)]
    constants = [node for node in body if isinstance(node, ast.Constant) and type(node.value) in (int, float)]
    for old, new in dict.fromkeys(state.pairs()):
        pair = (NUMBER.fullmatch(old), NUMBER.fullmatch(new))
        if pair[0] is None or pair[1] is None:
            continue
        value, written = _value(pair[0][1]), pair[1][1]
        equal = [node for node in constants if float(node.value) == value]  # type: ignore[arg-type]
        for node in equal:
            yield from candidates(text.replaced(node, written), f"`{written}` in place of `{text.text(node)}`", node)
        if len(equal) > 1:
            spans = [Replacement(*text.span(node), written) for node in equal]
            title = f"`{written}` in place of each `{text.text(equal[0])}`"
            yield from candidates(text.with_replacements(spans), title, equal[0])


def _value(number: str) -> float:
    return float(int(number, 16)) if number[:2] in ("0x", "0X") else float(number)
