"""Calls of `@ti.func` that stay calls: the body is built once for all calls with arguments of the same kinds.

    @ti.func                          function lerp(a: f32, b: f32, t: f32) -> f32 { ... }
    def lerp(a, b, t): ...
                                ->
    y = lerp(x[i], x[i + 1], 0.5)     y = lerp(x[i], x[i + 1], 0.5)

A function is specialised on the types of run-time arguments and on what is known at compile time: fields, types,
objects. A number is a run-time argument if the body only computes with it. A variable of the caller is passed by
reference if the function changes it. A call is inlined (`inlining.py`) where its meaning needs that; the pass
`inline_calls` inlines short functions that are called once.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Hashable
from typing import Any

from ...ir.functions import Call, Reference
from ...ir.nodes import Statement
from ...ir.statements import (
    Alloca,
    ListInit,
    base_pointer,
)
from ...ir.types import Type
from ...lang.annotations import NdarrayAnnotation, is_template
from ...lang.decorators import BoundFunc, Func
from ...lazy_dataclasses import dataclass
from ..context.context import Context, NeedsInlining
from ..context.per_iteration import ArgumentNumber, contains_per_iteration, is_within
from ..context.values import Lvalue, MeshElement, MeshRelation, holds_runtime, is_number
from ..source.definition import KernelDefinition, ParameterDefinition, definition_of
from ..source.named_numbers import number_type, origin_in, plain
from .function_bodies import Built, Passed, build_function, stays_a_function
from .inlining import (
    declaration_of,
    inline,
    is_of_library,
    match_arguments,
    own_argument,
    require_source,
    results_of,
)
from .real_functions import key_of, needs_copy

MAX_SPECIALIZATIONS = 64
"""Per function and kernel; calls with further arguments are inlined."""


@dataclass(frozen=True, slots=True)
class ArgumentKey:
    """What distinguishes run-time arguments, as in `Passed`."""

    kind: str
    type: Type | None
    is_self: bool


Key = tuple[Hashable, ...]
"""What distinguishes the specializations of a function: one item for each parameter."""


def call_function(
    context: Context, callee: Func | BoundFunc, arguments: list[Any], named: dict[str, Any], node: ast.Call
) -> Any:
    """Append a call of a `ti.func`, or its statements; return its result."""
    func = callee.func if isinstance(callee, BoundFunc) else callee
    by_option = None if context.options.inline == "auto" else context.options.inline
    wish = by_option if func.inline is None else func.inline
    if context.specialization.definition.derivative:
        wish = True  # so that it is differentiated with the kernel
    if wish is not True:
        block = context.builder.block
        mark = len(block.statements)
        try:
            return _call(context, callee, arguments, named, node, wish is None)
        except NeedsInlining:
            del block.statements[mark:]
            if func.inline is False:
                _warn(context, definition_of(callee.function), node)
    return inline(context, callee, arguments, named, node)


def _warn(context: Context, definition: KernelDefinition, node: ast.Call) -> None:
    """Warn that a function is inlined although its author wants a function."""
    message = f"`{definition.name}` has `inline=False`, but this call is inlined: its meaning needs that"
    context.warn(message, "see docs/functions.md for what is inlined, or leave out `inline=False`", node)


def _call(
    context: Context,
    callee: Func | BoundFunc,
    arguments: list[Any],
    named: dict[str, Any],
    node: ast.Call,
    is_auto: bool,
) -> Any:
    definition = definition_of(callee.function)
    if is_of_library(definition) and not stays_a_function(context, definition):
        raise NeedsInlining
    require_source(context, definition)
    method = isinstance(callee, BoundFunc)
    if isinstance(callee, BoundFunc):
        arguments = [callee.instance, *arguments]
    bound = match_arguments(context, definition, arguments, named, node)
    table = context.functions
    block, mark = context.builder.block, len(context.builder.block.statements)
    while True:
        del block.statements[mark:]
        passed = [
            _passed(context, definition, parameter, value, node, method and position == 0)
            for position, (parameter, value) in enumerate(bound)
        ]
        _check_distinct(context, passed)
        key = tuple(_key_of(context, one) for one in passed)
        known = table.inferred.setdefault(definition, {})
        general = next((found for other, found in known.items() if serves(found, other, key)), None)
        if general is not None:
            return _append(context, general, passed)
        if key not in known:
            if len(known) >= MAX_SPECIALIZATIONS:
                raise NeedsInlining
            built = known[key] = Built(passed=passed)
            try:
                is_built = build_function(context, callee, definition, built, node, is_auto)
            except BaseException:
                del known[key]
                raise
            if not is_built:
                del known[key]
                continue
        return _append(context, known[key], passed)


# --- arguments ------------------------------------------------------------------------------------------------------


def _passed(
    context: Context,
    definition: KernelDefinition,
    parameter: ParameterDefinition,
    value: Any,
    node: ast.Call,
    is_first: bool,
) -> Passed:
    """Return how an argument is passed; run-time values by value are loaded. Raises: NeedsInlining."""
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise NeedsInlining
    is_self = is_first and isinstance(value, (Statement, Lvalue))
    if is_self or is_template(parameter.annotation) or isinstance(parameter.annotation, NdarrayAnnotation):
        if isinstance(value, Statement):
            return _by_value(parameter, value, is_self)
        if isinstance(value, Lvalue):
            return _by_reference(context, parameter, value, is_self)
        return _static(parameter, value)
    is_mutable = declaration_of(definition, parameter.name) in definition.parsed.mutable
    value = own_argument(context, parameter, value, is_mutable, node)
    if isinstance(value, Statement):
        return _by_value(parameter, value)
    if _is_plain_number(context, value) and (definition, parameter.name) not in context.functions.static_numbers:
        number = value.number if isinstance(value, ArgumentNumber) else value
        return Passed(parameter, value, "number", number_type(number, context.options))
    if is_number(value) and is_of_library(definition):
        raise NeedsInlining  # `mix(x, y, 0.25)` computes with 0.75, which is no argument
    if isinstance(value, ArgumentNumber):
        value.needs_one()
    return _static(parameter, value)


def _is_plain_number(context: Context, value: Any) -> bool:
    """Return whether a number may be a run-time argument: it fits its type; truth values decide what is built."""
    if isinstance(value, ArgumentNumber):
        return True
    value = plain(value)
    if type(value) is float:
        return True
    return type(plain(value)) is int and (-(2**31) <= value < 2**31) and number_type(value, context.options).is_signed


def _by_value(parameter: ParameterDefinition, value: Statement, is_self: bool = False) -> Passed:
    if value.type is None or isinstance(value, ListInit):
        raise NeedsInlining
    return Passed(parameter, value, "value", value.type, is_self)


def _by_reference(context: Context, parameter: ParameterDefinition, value: Lvalue, is_self: bool) -> Passed:
    """Return a variable of the caller as an argument; elements of arrays are not passed."""
    base = base_pointer(value.pointer)
    if not isinstance(base, (Alloca, Reference)) or needs_copy(value) or base.type is None:
        raise NeedsInlining
    if context.nesting.depth == 0 and context.frame.function is None:
        raise NeedsInlining  # a variable of the kernel, which several tasks may share
    if context.nesting.is_parallel and base in context.nesting.outside:
        raise NeedsInlining
    return Passed(parameter, value, "reference", value.type, is_self)


def _static(parameter: ParameterDefinition, value: Any) -> Passed:
    if isinstance(value, (list, tuple, dict)) and holds_runtime(value):
        raise NeedsInlining
    if contains_per_iteration(value) is not None or isinstance(value, (MeshElement, MeshRelation)):
        raise NeedsInlining
    return Passed(parameter, value, "static")


def _key_of(context: Context, passed: Passed) -> Hashable:
    value = passed.value
    if passed.kind != "static":
        return ArgumentKey(passed.kind, passed.type, passed.is_self)
    if isinstance(value, BoundFunc):
        context.functions.arguments.append(value)
        return ("bound", id(value.func), id(value.instance))
    if is_number(value) and not isinstance(value, (int, float)):
        return (type(plain(value)), repr(plain(value)), origin_in(value))
    return ("static", key_of(context, value))


def serves(built: Built, key: Key, other: Key) -> bool:
    """Return whether a function can serve calls with the key `other`, too.

    A parameter that took a number takes a run-time value; so does one by reference that the function does not change.
    """
    if built.function is None or key == other:
        return built.function is not None
    for parameter, mine, wanted in zip(built.parameters, key, other, strict=True):
        if mine == wanted:
            continue
        if parameter is None or parameter.by_reference or not isinstance(mine, ArgumentKey):
            return False
        if not isinstance(wanted, ArgumentKey) or wanted.kind != "value" or mine.kind == "value":
            return False
        if mine.type != wanted.type or mine.is_self != wanted.is_self:
            return False
    return True


def _check_distinct(context: Context, passed: list[Passed]) -> None:
    """Raise NeedsInlining if two arguments refer to one variable, which the function might change by one name."""
    bases = [base_pointer(one.value.pointer) for one in passed if one.kind == "reference"]
    if len(set(bases)) < len(bases):
        raise NeedsInlining


# --- calls ----------------------------------------------------------------------------------------------------------


def _append(context: Context, built: Built, passed: list[Passed]) -> Any:
    """Append a call of a function that is built; return its result."""
    function = built.function
    if function is None:
        raise NeedsInlining
    if built.has_loops and context.nesting.depth == 0 and context.frame.function is None:
        raise NeedsInlining
    values: list[Statement] = []
    for parameter, one in zip(built.parameters, passed, strict=True):
        if parameter is None:
            continue
        if one.kind == "number" and parameter in built.numbers:
            _check_limits(one.value, built.numbers[parameter])
        if isinstance(one.value, Lvalue):
            values.append(one.value.pointer if parameter.by_reference else context.builder.load(one.value.pointer))
        else:
            values.append(context.values.lift(one.value))
    result = results_of(context, context.builder.add(Call(function, values)))
    return (result,) if built.is_tuple and not isinstance(result, tuple) else result


def _check_limits(value: Any, parameter: ArgumentNumber) -> None:
    """Raise NeedsInlining if a number is no index of an array that the function indexes with it."""
    for least, end in parameter.limits:
        if isinstance(value, ArgumentNumber):
            value.limit(least, end)
        elif not is_within(value, least, end):
            raise NeedsInlining
