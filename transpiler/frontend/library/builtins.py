"""Python's builtin functions in kernels: `len`, `min`, `range`, `zip`, `divmod`, `super` and others.

`BUILTINS` maps a function to its handler, which gets loaded arguments; `range` and `super` need the call's syntax.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import reduce
from typing import Any

from ...errors import TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.types import Struct, Tensor, scalars_of
from ...lang import struct as lang
from ...lang.matrix import Matrix, Vector
from ..context.context import Context
from ..context.iteration import compile_time_items, positional
from ..context.per_iteration import PerIteration, contains_per_iteration, each
from ..context.values import Method, RangeValue, describe_kind, holds_runtime, is_number, is_runtime
from ..source.named_numbers import number_type, plain
from .methods import call_method
from .operators import BINARY, binary

Meaning = Callable[..., Any]


def minimum_maximum(context: Context, name: str, arguments: list[Any]) -> Any:
    """Return the least or greatest of one or more values, in the type they promote to."""
    if len(arguments) == 1 and not is_number(arguments[0]):
        extremum = arguments[0]
        is_tensor = isinstance(extremum, Statement) and isinstance(extremum.type, Tensor)
        arguments = (
            compile_time_items(context, extremum) if is_tensor or isinstance(extremum, (list, tuple)) else [extremum]
        )
    if not arguments:
        raise context.error(TaichiTypeError, f"`{name}` takes at least one argument", f"write `{name}(a, b)`")
    if contains_per_iteration(*arguments) is not None and not any(map(holds_runtime, arguments)):
        meaning = getattr(builtins, name)
        return reduce(lambda a, b: each(name, meaning, a, b), arguments)
    if not any(holds_runtime(argument) or isinstance(argument, Matrix) for argument in arguments):
        if len(arguments) == 1:
            return arguments[0]
        extremum = context.python(getattr(builtins, name), *arguments)
        return next((argument for argument in arguments if plain(argument) is extremum), extremum)
    if len(arguments) > 2 and _has_both_signs(context, arguments):  # min(a, min(b, c)), as in Taichi
        *others, result = [context.values.lift(argument) for argument in arguments]
        for other in reversed(others):
            result = context.builder.op(name, other, result)
        return result
    result = context.values.lift(arguments[0])
    for argument in arguments[1:]:
        result = context.builder.op(name, result, context.values.lift(argument))
    return result


def _has_both_signs(context: Context, values: list[Any]) -> bool:
    """Return whether values promote to one number or another, depending on which two come first.

    A negative integer becomes a large one where the other type is unsigned; all else that casts do keeps the order.
    """
    signs: set[str] = set()
    for value in values:
        if is_runtime(value):
            type = value.type
            kinds = {scalar.kind for scalar in scalars_of(type)} if type is not None else set()
        elif is_number(value):
            is_plain = isinstance(value, float) or value >= 0
            kinds = set() if is_plain else {number_type(value, context.options).kind}
        else:
            kinds = {"int", "uint"}
        signs |= {"uint" if kind == "bool" else kind for kind in kinds}
    return {"int", "uint"} <= signs


def _length(context: Context, value: Any) -> Any:
    if isinstance(value, Statement) and isinstance(value.type, Tensor):
        return value.type.shape[0]
    array = context.arrays.find(value)
    if array is not None:
        raise context.error(TaichiTypeError, f"`len` of the array `{array.name}`", f"use `{array.name}.shape[0]`")
    if is_runtime(value):
        raise context.error(
            TaichiTypeError,
            f"`len` takes a vector or a Python sequence, found {describe_kind(value)}",
            "for an array write `a.shape[0]`",
        )
    return context.python(len, value)


def _absolute(context: Context, x: Any) -> Any:
    return context.builder.op("abs", context.values.lift(x)) if holds_runtime(x) else context.python(abs, x)


def _builtin_round(context: Context, x: Any, digits: Any = None) -> Any:
    if holds_runtime(x):
        return context.builder.op("round", context.values.lift(x))
    return context.python(round, x, digits)


def _power(context: Context, base: Any, exponent: Any) -> Any:
    return binary(context, BINARY[ast.Pow], base, exponent)


def _zip(context: Context, *sequences: Any, strict: bool = False) -> list[Any]:
    lists = [compile_time_items(context, sequence) for sequence in sequences]
    tuples: list[Any] = context.python(lambda: list(zip(*lists, strict=strict)))
    return tuples


def _enumerate(context: Context, sequence: Any, start: int = 0) -> list[Any]:
    items = compile_time_items(context, sequence)
    if not is_number(start) or isinstance(start, float):
        message = f"`enumerate` counts from a Python integer, found {describe_kind(start)}"
        raise context.error(TaichiTypeError, message, "add the number to the index: `k + start`")
    return list(enumerate(items, int(start)))


def _sum(context: Context, sequence: Any, start: Any = 0) -> Any:
    if isinstance(sequence, Statement):
        return call_method(context, Method(sequence, "sum"), [], {})
    for item in compile_time_items(context, sequence):
        start = binary(context, BINARY[ast.Add], start, item)
    return start


def _quantifier(name: str) -> Meaning:
    def meaning(context: Context, value: Any) -> Any:
        if isinstance(value, Statement):
            return call_method(context, Method(value, name), [], {})
        return context.python(getattr(builtins, name), value)

    return meaning


def _isinstance(context: Context, value: Any, kinds: Any) -> bool:
    if isinstance(value, PerIteration):
        value.needs_one()
    if isinstance(value, Statement):
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        if isinstance(value.type, Struct):
            return any(kind is lang.Struct or context.values.type(kind) == value.type for kind in wanted)
        return isinstance(value.type, Tensor) and any(kind in (Matrix, Vector) for kind in wanted)
    result: bool = context.python(isinstance, value, kinds)
    return result


def _extremum(name: str) -> Meaning:
    def meaning(context: Context, *values: Any) -> Any:
        return minimum_maximum(context, name, list(values))

    return meaning


def _divmod(context: Context, a: Any, b: Any) -> tuple[Any, Any]:
    return binary(context, BINARY[ast.FloorDiv], a, b), binary(context, BINARY[ast.Mod], a, b)


def _sequence(kind: Callable[[list[Any]], Any]) -> Meaning:
    def meaning(context: Context, items: Any = ()) -> Any:
        return kind(compile_time_items(context, items))

    return meaning


BUILTINS: dict[Any, Meaning] = {
    len: _length,
    abs: _absolute,
    round: _builtin_round,
    pow: _power,
    min: _extremum("min"),
    max: _extremum("max"),
    zip: _zip,
    enumerate: _enumerate,
    sum: _sum,
    any: _quantifier("any"),
    all: _quantifier("all"),
    isinstance: _isinstance,
    divmod: _divmod,
    list: _sequence(list),
    tuple: _sequence(tuple),
    reversed: _sequence(lambda items: items[::-1]),
}
"""Handlers of Python's functions, with loaded arguments."""


# --- forms ----------------------------------------------------------------------------------------------------------


def build_super(context: Context, node: ast.Call) -> Any:
    """Return `super()` of the method under construction, whose attributes are those that it overrides."""
    frame = context.frame
    owner, arguments = frame.captured.get("__class__"), frame.definition.tree.args.args
    if node.args:
        return context.python(super, *(context.value(argument) for argument in node.args))
    local = frame.find(arguments[0].arg) if arguments else None
    if owner is None or local is None:
        message = "`super()` is allowed in methods of classes only"
        raise context.error(TaichiSyntaxError, message, "call the function of the other class by its name", node)
    return context.python(super, owner, local.value)


def build_range(context: Context, node: ast.Call) -> Any:
    """Return `range(...)`: Python's if all bounds are known, else a `RangeValue`."""
    limits = [context.loaded(argument) for argument in positional(context, node)]
    if not 1 <= len(limits) <= 3 or node.keywords:
        message = f"Range should have 1 to 3 arguments, found {len(limits)}"
        raise context.error(TaichiSyntaxError, message, "write `range(begin, end, step)`", node)
    nodes = node.args if len(node.args) == len(limits) else [node] * len(limits)
    for limit, at in zip(limits, nodes, strict=True):
        if isinstance(limit, float):
            message = f"The bounds of a range must be integers, found {limit}"
            raise context.error(TaichiTypeError, message, f"write `{int(limit)}`", at)
    begin, end = (0, limits[0]) if len(limits) == 1 else limits[:2]
    step = limits[2] if len(limits) == 3 else 1
    if isinstance(step, PerIteration) or (context.in_static and contains_per_iteration(begin, end) is not None):
        (numbers,) = [number for number in (step, begin, end) if isinstance(number, PerIteration)][:1]
        numbers.needs_one()
    if is_runtime(step):
        message = "The step of a range must be known at compile time"
        raise context.error(TaichiTypeError, message, "write a `while` loop", nodes[2])
    if is_number(step) and step == 0:
        raise context.error(TaichiTypeError, "The step of a range cannot be 0", "use a step of 1 or -1", node)
    if is_runtime(begin) or is_runtime(end) or contains_per_iteration(begin, end) is not None:
        return RangeValue(begin, end, step)
    found: range = context.python(range, begin, end, step)
    context.bounds_of_ranges[id(found)] = (found, begin, end)
    return found
