"""Operators on values known at compile time (evaluated by Python) or at run time (operations of the op table)."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, isfinite
from typing import Any

import numpy as np

from ...errors import TaichiTypeError
from ...ir.nodes import Statement
from ...ir.ops import OPS
from ...ir.types import SCALARS, Scalar, Struct, Tensor, Type, describe_type, element_of, f32, f64, promote, u1
from ...lang.matrix import Matrix
from ..context.context import Context
from ..context.per_iteration import PerIteration, contains_per_iteration, each, logical_not
from ..context.values import describe_kind, holds_runtime
from ..source.named_numbers import computed
from .structs import join_structs

Meaning = Callable[..., Any]

BINARY: dict[type[ast.operator], tuple[str, Meaning]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
    ast.BitAnd: ("bit_and", operator.and_),
    ast.BitOr: ("bit_or", operator.or_),
    ast.BitXor: ("bit_xor", operator.xor),
    ast.LShift: ("shl", operator.lshift),
    ast.RShift: ("sar", operator.rshift),
}
COMPARE: dict[type[ast.cmpop], tuple[str, Meaning]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}
UNARY: dict[type[ast.unaryop], tuple[str, Meaning]] = {
    ast.USub: ("neg", operator.neg),
    ast.Invert: ("bit_not", operator.invert),
    ast.Not: ("logical_not", operator.not_),
}

F32_LIMIT = 3.4028235677973366e38
"""Numbers from here on are infinite as f32."""
MAX_PRODUCTS_EXPONENT = 8
"""Up to this literal exponent a power becomes products: exact, and defined for negative bases."""


def binary(context: Context, entry: tuple[str, Meaning], left: Any, right: Any) -> Any:
    """Apply a binary operator to loaded values."""
    name, meaning = entry
    if isinstance(left, Statement):  # most are
        if isinstance(right, Statement):
            return _binary_of_values(context, name, left, right)
        if right.__class__ is int and name != "pow":
            return _binary_of_values(context, name, left, context.values.operand(right))
        if right.__class__ is float:
            number = context.values.operand(right)
            warn_of_rounding(context, right, left.type)
            return _binary_of_values(context, name, left, number)
    if (numbers := contains_per_iteration(left, right)) is not None:
        if any(isinstance(operand, (list, tuple, dict, str)) for operand in (left, right)):
            numbers.needs_one()  # Python's arithmetic of lists
        if isinstance(left, Matrix) or isinstance(right, Matrix):
            return each("", meaning, left, right)
        if name == "pow" and isinstance(right, PerIteration) and holds_runtime(left):
            right = right.common
            if isinstance(right, PerIteration):
                right.needs_one()  # each exponent gives other products
    if not holds_runtime(left) and not holds_runtime(right):
        return _by_python(context, entry, left, right)
    if name in ("add", "mul") and _is_display_arithmetic(left, right):
        return context.python(meaning, left, right)
    if name == "pow" and isinstance(right, int) and not isinstance(right, bool):
        return power(context, context.values.lift(left), right)
    a, b = _operand(context, name, left, right), _operand(context, name, right, left)
    warn_of_rounding(context, left, b.type)
    warn_of_rounding(context, right, a.type)
    return _binary_of_values(context, name, a, b)


def _binary_of_values(context: Context, name: str, a: Statement, b: Statement) -> Statement:
    if name in ("add", "sub") and a.type == b.type == u1:
        message = f"`{OPS[name].symbol}` of two truth values gives a truth value, not a count, as in Taichi"
        context.warn(message, "write `int(a) + int(b)` to count, or `^` for exactly one of them")
    if name == "matmul" and _are_vectors(a, b):
        name = "dot"
    if name in ("shl", "sar") and a.type is not None and element_of(a.type) == u1:  # `(x > 0) << 3` is 8, as in Python
        a = context.builder.cast(a, SCALARS[context.options.default_ip])
    return context.builder.op(name, a, b)


def warn_of_rounding(context: Context, number: Any, type: Type | None) -> None:
    """Warn of a number of Python that becomes f64 by way of f32, and loses digits: `x * 0.1` of an f64."""
    if not isinstance(number, float) or context.default_fp != f32 or context.frame.is_library:
        return
    if not isinstance(type, (Scalar, Tensor)) or element_of(type) != f64 or not isfinite(number):
        return
    rounded = float(np.float32(number)) if abs(number) < F32_LIMIT else inf
    if rounded != number:
        message = f"{float(number)!r} is an f32 here and becomes {rounded!r} in f64"
        hint = f"write `ti.f64({float(number)!r})`, or `ti.init(default_fp=ti.f64)` if the program computes in f64"
        context.warn(message, hint, kind="rounded")


def _by_python(context: Context, entry: tuple[str, Meaning], left: Any, right: Any) -> Any:
    """Evaluate a compile-time operation; operands that Python rejects raise a kernel's error."""
    try:
        return computed(entry[0], (left, right), entry[1](left, right), context.options)
    except TypeError:
        kinds = f"{describe_kind(left)} and {describe_kind(right)}"
        message = f"`{OPS[entry[0]].symbol}` takes numbers, vectors and matrices, found {kinds}"
        raise context.error(TaichiTypeError, message, "use a number, a vector or a matrix") from None
    except Exception:
        return context.python(entry[1], left, right)


def _are_vectors(*values: Statement) -> bool:
    return all(isinstance(value.type, Tensor) and len(value.type.shape) == 1 for value in values)


def _is_display_arithmetic(left: Any, right: Any) -> bool:
    """Return whether Python's list arithmetic is meant: `[a] + [b]`, `[a] * 3`."""
    if isinstance(left, (list, tuple)):
        return isinstance(right, (type(left), int))
    return isinstance(right, (list, tuple)) and isinstance(left, int)


def _operand(context: Context, name: str, value: Any, other: Any) -> Statement:
    if isinstance(value, str) or value is None:
        kinds = f"{describe_kind(value)} with {describe_kind(other)}"
        hint = (
            "put strings into `print` only"
            if isinstance(value, str)
            else "use a number; a function without `return` gives `None`"
        )
        raise context.error(TaichiTypeError, f"`{OPS[name].symbol}` takes numbers, found {kinds}", hint)
    return context.values.lift(value)


def power(context: Context, base: Statement, exponent: int) -> Statement:
    """Return `base ** exponent` for a literal exponent, small ones as products, in the type of the base."""
    assert base.type is not None
    if not 1 <= exponent <= MAX_PRODUCTS_EXPONENT or element_of(base.type) == u1:
        return context.builder.op("pow", base, context.values.constant(exponent))
    result: Statement | None = None
    square = base
    while True:
        if exponent & 1:
            result = square if result is None else context.builder.op("mul", result, square)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        square = context.builder.op("mul", square, square)


def compare(context: Context, entry: tuple[str, Meaning], left: Any, right: Any) -> Any:
    """Apply a comparison to loaded values."""
    if isinstance(left, Matrix) or isinstance(right, Matrix):
        if isinstance(left, PerIteration) or isinstance(right, PerIteration):
            return each("", entry[1], left, right)
    if not holds_runtime(left) and not holds_runtime(right):
        return _by_python(context, entry, left, right)
    a, b = _operand(context, entry[0], left, right), _operand(context, entry[0], right, left)
    return context.builder.op(entry[0], a, b)


def unary(context: Context, entry: tuple[str, Meaning], value: Any) -> Any:
    """Apply a unary operator to a loaded value."""
    if isinstance(value, PerIteration) and entry[0] == "logical_not":
        return logical_not(value)
    if not holds_runtime(value):
        return computed(entry[0], (value,), context.python(entry[1], value), context.options)
    return context.builder.op(entry[0], context.values.lift(value))


def logical(context: Context, name: str, left: Statement, right: Statement) -> Statement:
    """Return `left and right` or `left or right` of values already computed, element by element on tensors."""
    return context.builder.op(f"logical_{name}", left, right)


def unify(context: Context, values: list[Any]) -> Type:
    """Return the type that the run-time values of several branches share.

    Raises: TaichiTypeError if tensors differ in shape, or structs in members.
    """
    types = [value.type for value in values]
    if any(isinstance(type, Struct) for type in types):
        return join_structs(context, types)
    element = element_of(types[0])
    for type in types[1:]:
        element = promote(element, element_of(type))
    shapes = {type.shape for type in types if isinstance(type, Tensor)}
    if len(shapes) > 1:
        type_names = " and ".join(f"`{describe_type(type)}`" for type in types)
        raise context.error(
            TaichiTypeError,
            f"Branches need values of one shape, found {type_names}",
            "give both branches the same shape",
        )
    return Tensor(shapes.pop(), element) if shapes else element


# --- messages

FOUND = re.compile(r"[;,] found (`[^`]*`) and (`[^`]*`)$")
MAX_OPERAND = 40
"""Characters of an operand that a message shows."""


@contextmanager
def naming_operands(left: ast.expr, right: ast.expr) -> Iterator[None]:
    """Let an error of the operation that is built in the block name both operands."""
    try:
        yield
    except TaichiTypeError as error:
        raise with_operands(error, left, right) from None


def with_operands(error: TaichiTypeError, left: ast.expr, right: ast.expr) -> TaichiTypeError:
    """Return the error of an operation with both operands as the user wrote them, each before its type."""
    found = FOUND.search(error.message)
    if found is None or error.location is None:
        return error
    shown = [_shortened(ast.unparse(operand)) for operand in (left, right)]
    operands = f"{found[0][0]} found {found[1]} for `{shown[0]}` and {found[2]} for `{shown[1]}`"
    return error.location.error(type(error), error.message[: found.start()] + operands, error.hint)


def _shortened(text: str) -> str:
    text = text.replace("`", "'")
    return text if len(text) <= MAX_OPERAND else f"{text[: MAX_OPERAND - 4]} ..."
