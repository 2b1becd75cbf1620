"""`match`: patterns become conditions, decided at compile time where the values are known, else an `if` chain.

    match n:                        if n == 0: ...
        case 0: ...                 elif n == 1 or n == 2: ...
        case 1 | 2: ...      ->     else:
        case k if k > 9: ...            if k > 9: ...

Names that a pattern binds are values of its case. As with `if`, loops in a case decided at compile time are parallel
only if the subject is `ti.static(...)`.
"""

from __future__ import annotations

import ast
from typing import Any

from ...errors import TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Block, Statement
from ...ir.statements import IfExp
from ...ir.types import Tensor, u1
from ...lang.matrix import Matrix
from ..context.context import Context, statement
from ..context.per_iteration import contains_per_iteration
from ..context.scope import Local
from ..context.values import describe_kind, is_runtime
from ..library.operators import COMPARE, compare, logical
from .assignment import assign_name, display, static_argument
from .statements import NORMAL, Completion, branch, scoped

Bound = list[tuple[str, ast.AST, Any]]
"""Bindings of a pattern: name, node, value."""

Test = bool | Statement
"""Result of a test: known at compile time, or a value of type u1."""


@statement(ast.Match)
def build_match(context: Context, node: ast.Match) -> Completion:
    """Build a `match`: the first case that matches runs, or none."""
    if isinstance(node.subject, (ast.Tuple, ast.List)):
        subject = display(context, node.subject)
    else:
        subject = context.value(node.subject)
    if (numbers := contains_per_iteration(subject)) is not None:
        numbers.needs_one()
    is_static = static_argument(context, node.subject) is not None
    return _cases(context, subject, node.cases, is_static)


def _cases(context: Context, subject: Any, cases: list[ast.match_case], is_static: bool) -> Completion:
    """Build the first of `cases`, and the others in its `else` if it may not match."""
    if not cases:
        return NORMAL
    case, rest = cases[0], cases[1:]
    context.builder.location = context.frame.location(case.pattern)
    bound: Bound = []
    test = _matches(context, subject, case.pattern, bound)
    if test is not False and case.guard is not None:
        test = _guarded(context, test, case.guard, bound)
    if test is False:
        return _cases(context, subject, rest, is_static)
    if test is True:
        outer, context.nesting.is_conditional = (
            context.nesting.is_conditional,
            context.nesting.is_conditional or not is_static,
        )
        done = _body(context, case, bound)
        context.nesting.is_conditional = outer
        return done
    otherwise = (lambda: _cases(context, subject, rest, is_static)) if rest else None
    return branch(context, test, lambda: _body(context, case, bound), otherwise)


def _body(context: Context, case: ast.match_case, bound: Bound) -> Completion:
    context.frame.scopes.append({})
    for name, node, value in bound:
        assign_name(context, name, node, value)
    done = scoped(context, case.body)
    context.frame.scopes.pop()
    return done


def _guarded(context: Context, test: Test, guard: ast.expr, bound: Bound) -> Test:
    """Return whether a pattern and its guard hold; the guard is computed only if the pattern matches."""
    block = Block()
    context.frame.scopes.append({name: Local(value, None) for name, _, value in bound})
    with context.builder.into(block):
        value = context.truth(guard)
        known = not is_runtime(value) and not isinstance(value, (Matrix, list, tuple))
        holds: Test = context.python(bool, value) if known else context.values.condition(value, "case", guard)
        block.result = holds if isinstance(holds, Statement) else None
    context.frame.scopes.pop()
    if isinstance(holds, bool):
        return test if holds else False
    if isinstance(test, bool):
        context.builder.block.statements.extend(block.statements)
        return holds
    never = Block()
    with context.builder.into(never):
        never.result = context.builder.const(False, u1)
    return context.builder.add(IfExp(test, block, never, type=u1))


# --- patterns -------------------------------------------------------------------------------------------------------


def _matches(context: Context, subject: Any, pattern: ast.pattern, bound: Bound) -> Test:
    """Return whether `subject` matches; the bindings of the pattern are added to `bound`."""
    match pattern:
        case ast.MatchValue(value=value):
            return _equals(context, subject, context.value(value), pattern)
        case ast.MatchSingleton(value=value):
            return _is_singleton(context, subject, value, pattern)
        case ast.MatchAs(pattern=inner, name=name):
            test = True if inner is None else _matches(context, subject, inner, bound)
            if name is not None:
                bound.append((name, pattern, subject))
            return test
        case ast.MatchOr(patterns=alternatives):
            return _matches_one(context, subject, alternatives)
        case ast.MatchSequence(patterns=patterns):
            return _matches_items(context, subject, patterns, bound)
        case _:
            kind, hint = (
                ("a class", "test `isinstance` in `ti.static`, or match a number or an enumeration")
                if isinstance(pattern, ast.MatchClass)
                else ("a mapping", "match its items one by one")
            )
            message = f"`case {ast.unparse(pattern)}`: kernels cannot match the pattern of {kind}"
            raise context.error(TaichiSyntaxError, message, hint, pattern)


def _equals(context: Context, subject: Any, value: Any, pattern: ast.pattern) -> Test:
    result = compare(context, COMPARE[ast.Eq], subject, value)
    if not isinstance(result, Statement):
        return bool(context.python(bool, result))
    if isinstance(result.type, Tensor):
        kinds = f"{describe_kind(subject)} with {describe_kind(value)}"
        message = f"A case compares {kinds}, which is not a single truth value"
        raise context.error(TaichiTypeError, message, "write the elements as a pattern: `case [0, 1]:`", pattern)
    return result


def _is_singleton(context: Context, subject: Any, value: Any, pattern: ast.pattern) -> Test:
    if not is_runtime(subject):
        return subject is value
    if value is None:
        return False
    if subject.type != u1:
        message = f"`case {value}` matches truth values, found {describe_kind(subject)}"
        raise context.error(TaichiTypeError, message, f"write `case {int(value)}`, or match `bool(...)`", pattern)
    return subject if value else context.builder.op("logical_not", subject)


def _matches_one(context: Context, subject: Any, alternatives: list[ast.pattern]) -> Test:
    result: Test = False
    for alternative in alternatives:
        bound: Bound = []
        test = _matches(context, subject, alternative, bound)
        if bound:
            message = f"`{bound[0][0]}` is bound by one of several alternatives"
            raise context.error(TaichiSyntaxError, message, "write one case for each alternative", alternative)
        if test is True:
            return True
        if test is not False:
            result = test if isinstance(result, bool) else logical(context, "or", result, test)
    return result


def _matches_items(context: Context, subject: Any, patterns: list[ast.pattern], bound: Bound) -> Test:
    """Match the items of a tuple, a list or a vector, whose number is known at compile time."""
    items = _items(context, subject)
    stars = [k for k, pattern in enumerate(patterns) if isinstance(pattern, ast.MatchStar)]
    if items is None or len(items) < len(patterns) - len(stars) or (not stars and len(items) != len(patterns)):
        return False
    pairs = list(zip(items, patterns, strict=False))
    if stars:
        count = len(items) - len(patterns) + 1
        star, end = patterns[stars[0]], stars[0] + count
        assert isinstance(star, ast.MatchStar)
        if star.name is not None:
            bound.append((star.name, star, items[stars[0] : end]))
        pairs = [*pairs[: stars[0]], *zip(items[end:], patterns[stars[0] + 1 :], strict=True)]
    result: Test = True
    for item, pattern in pairs:
        test = _matches(context, item, pattern, bound)
        if test is False:
            return False
        if test is not True:
            result = test if isinstance(result, bool) else logical(context, "and", result, test)
    return result


def _items(context: Context, subject: Any) -> list[Any] | None:
    if isinstance(subject, (list, tuple, range, Matrix)):
        return list(subject)
    if isinstance(subject, Statement) and isinstance(subject.type, Tensor) and len(subject.type.shape) == 1:
        return list(context.values.elements(subject))
    return None
