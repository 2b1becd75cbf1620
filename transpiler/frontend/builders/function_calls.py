"""Calls of `@ti.func` that stay calls: the body is built once for all calls with arguments of the same kinds.

    @ti.func                          function lerp(a: f32, b: f32, t: f32) -> f32 { ... }
    def lerp(a, b, t): ...
                                ->
    y = lerp(x[i], x[i + 1], 0.5)     y = lerp(x[i], x[i + 1], 0.5)

A function is specialised on the types of run-time arguments and on what is known at compile time: fields, types, objects.
A number is a run-time argument if the body only computes with it. A variable of the caller is passed by reference if the
function changes it. A call is inlined (`inlining.py`) where its meaning needs that; the pass `inline_calls` inlines short
functions that are called once.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import SourceLocation
from ...ir.functions import Call, CallResult, Function, Reference, calls
from ...ir.nodes import Block, Statement, replace_uses, walk, walk_blocks
from ...ir.snodes import is_sparse_tree, top_of
from ...ir.sparse import CELL_STATEMENTS
from ...ir.statements import (
    Alloca,
    ArgLoad,
    AtomicOp,
    GlobalPtr,
    ListInit,
    LocalLoad,
    LocalStore,
    MatrixElement,
    MatrixPtr,
    Parameter,
    RangeFor,
    Return,
    StructElement,
    StructFor,
    StructPtr,
    While,
    base_pointer,
)
from ...ir.threads import Barrier, Collective, Exchange, ThreadIndex
from ...ir.types import Type
from ...lang.annotations import NdarrayAnnotation, is_template
from ...lang.decorators import BoundFunc, Func
from ...lang.struct import Struct
from ..context.context import Context, NeedsInlining
from ..context.nesting import Nesting
from ..context.per_iteration import ArgumentNumber, NeedsUnroll, PerIteration, contains_per_iteration
from ..context.references import references
from ..context.scope import Frame
from ..context.values import Lvalue, holds_runtime, is_number
from ..source.definition import NO_DEFAULT, KernelDefinition, ParameterDefinition, definition_of
from ..source.named_numbers import number_type
from .inlining import (
    LIBRARY,
    annotated,
    bind_parameter,
    bind_self,
    check_all_return,
    converted,
    declaration_of,
    inline,
    joined,
    match_arguments,
)
from .real_functions import key_of, needs_copy
from .statements import execute
from .static_loops import FAULTS

MAX_SPECIALIZATIONS = 64
"""Per function and kernel; calls with further arguments are inlined."""

LOOPS = (RangeFor, StructFor, While)
NEEDS_LOOP = (Barrier, Collective, Exchange, ThreadIndex, StructFor)
"""Statements that belong to the parallel loop around a call, or may be parallel."""


@dataclass(frozen=True, slots=True)
class Passed:
    """An argument of a call.

    Attributes:
        parameter: that it is for.
        value: a statement, an `Lvalue` of the caller, or an object known at compile time.
        kind: "value", "number", "reference", or "static".
        type: at run time, None of a static one.
        is_self: it is the struct whose method is called.
    """

    parameter: ParameterDefinition
    value: Any
    kind: str
    type: Type | None = None
    is_self: bool = False


@dataclass(eq=False, slots=True)
class Built:
    """A function and its parameters by position of the argument.

    Attributes:
        passed: the arguments of its first call.
        function: None while it is built, and if its calls have to be inlined.
        is_tuple: it returns a tuple.
        has_loops: it, or a function that it calls, contains a loop, which is parallel at the top level of a kernel.
    """

    passed: list[Passed]
    function: Function | None = None
    parameters: list[Parameter | None] = field(default_factory=list)
    is_tuple: bool = False
    has_loops: bool = False


def call_function(
    context: Context, callee: Func | BoundFunc, arguments: list[Any], named: dict[str, Any], node: ast.Call
) -> Any:
    """Append a call of a `ti.func`, or its statements; return its result."""
    func = callee.func if isinstance(callee, BoundFunc) else callee
    by_option = None if context.options.inline == "auto" else context.options.inline
    wish = by_option if func.inline is None else func.inline
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
    if (definition.function.__module__ or "").startswith(LIBRARY) or context.frame.is_library:
        raise NeedsInlining
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
        if key not in known:
            if len(known) >= MAX_SPECIALIZATIONS:
                raise NeedsInlining
            built = known[key] = Built(passed=passed)
            try:
                is_built = _build(context, callee, definition, built, node, is_auto)
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
    is_self = is_first and isinstance(value, Statement | Lvalue)
    if is_self or is_template(parameter.annotation) or isinstance(parameter.annotation, NdarrayAnnotation):
        if isinstance(value, Statement):
            return _by_value(parameter, value, is_self)
        if isinstance(value, Lvalue):
            return _by_reference(context, parameter, value, is_self)
        return _static(parameter, value)
    value = context.loaded(value)
    is_mutable = declaration_of(definition, parameter.name) in definition.parsed.mutable
    type = None if parameter.annotation is NO_DEFAULT else context.values.type(parameter.annotation)
    if type is not None:
        value = converted(context, value, type, parameter, node)
    elif is_mutable and (is_number(value) or isinstance(value, Struct | PerIteration)):
        value = context.values.lift(value)
    if isinstance(value, Statement):
        return _by_value(parameter, value)
    if _is_plain_number(context, value) and (definition, parameter.name) not in context.functions.static_numbers:
        number = value.values[0] if isinstance(value, ArgumentNumber) else value
        return Passed(parameter, value, "number", number_type(number, context.options))
    if isinstance(value, ArgumentNumber):
        value.needs_one()
    return _static(parameter, value)


def _is_plain_number(context: Context, value: Any) -> bool:
    """Return whether a number may be a run-time argument: it fits its type; truth values decide what is built."""
    if isinstance(value, ArgumentNumber):
        return True
    if type(value) is float:
        return True
    return type(value) is int and (-(2**31) <= value < 2**31) and number_type(value, context.options).is_signed


def _by_value(parameter: ParameterDefinition, value: Statement, is_self: bool = False) -> Passed:
    if value.type is None or isinstance(value, ListInit):
        raise NeedsInlining
    return Passed(parameter, value, "value", value.type, is_self)


def _by_reference(context: Context, parameter: ParameterDefinition, value: Lvalue, is_self: bool) -> Passed:
    """Return a variable of the caller as an argument; elements of arrays are not passed."""
    base = base_pointer(value.pointer)
    if not isinstance(base, Alloca | Reference) or needs_copy(value) or base.type is None:
        raise NeedsInlining
    if context.nesting.depth == 0 and context.frame.function is None:
        raise NeedsInlining  # a variable of the kernel, which several tasks may share
    if context.nesting.is_parallel and base in context.nesting.outside:
        raise NeedsInlining
    return Passed(parameter, value, "reference", value.type, is_self)


def _static(parameter: ParameterDefinition, value: Any) -> Passed:
    if isinstance(value, list | tuple | dict) and holds_runtime(value):
        raise NeedsInlining
    if contains_per_iteration(value) is not None:
        raise NeedsInlining
    return Passed(parameter, value, "static")


def _key_of(context: Context, passed: Passed) -> Hashable:
    value = passed.value
    if passed.kind != "static":
        return (passed.kind, passed.type, passed.is_self)
    if isinstance(value, BoundFunc):
        context.functions.arguments.append(value)
        return ("bound", id(value.func), id(value.instance))
    if is_number(value) and not isinstance(value, int | float):
        return (type(value), repr(value))
    return ("static", key_of(context, value))


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
        if isinstance(one.value, Lvalue):
            values.append(one.value.pointer if parameter.by_reference else context.builder.load(one.value.pointer))
        else:
            values.append(context.values.lift(one.value))
    call = context.builder.add(Call(function, values))
    if len(function.results) < 2:
        call.type = function.results[0] if function.results else None
        result = call if function.results else None
        return (result,) if built.is_tuple else result
    return tuple(context.builder.add(CallResult(call, k, type=type)) for k, type in enumerate(function.results))


# --- bodies ---------------------------------------------------------------------------------------------------------


def _build(
    context: Context,
    callee: Func | BoundFunc,
    definition: KernelDefinition,
    built: Built,
    node: ast.Call,
    is_auto: bool,
) -> bool:
    """Build the body. Return False if a number must be known to build it: it is in `static_numbers` then.

    If the body cannot be built alone, `built.function` stays None.
    """
    numbers = {
        declaration_of(definition, p.parameter.name): p.parameter.name for p in built.passed if p.kind == "number"
    }
    saved = _Saved(context)
    function = Function(definition.name, [], [], is_inline=True, location=definition.location())
    frame = Frame(definition, context.builder.location, function.body, function=function, returns=[])
    frame.references = references(definition, callee, node, context.frame)
    try:
        _build_body(context, frame, function, built, node)
        must_inline = _must_inline(function, is_auto)
    except NeedsUnroll as request:
        if request.node not in numbers:
            raise
        context.functions.static_numbers.add((definition, numbers[request.node]))
        saved.drop(context)
        return False
    except (NeedsInlining, *FAULTS):
        saved.drop(context)
        if numbers:  # the number itself may be what is needed
            context.functions.static_numbers.update((definition, name) for name in numbers.values())
            return False
        return True
    finally:
        saved.restore(context)
    if must_inline:
        saved.drop(context)
        return True
    _strip_call_sites(function, frame.call_site)
    function.statements = _count_statements(definition.tree) if is_auto else None
    built.function = function
    context.kernel.functions.append(function)
    return True


class _Saved:
    """The state of a build around the body of a function."""

    def __init__(self, context: Context) -> None:
        builder, reporter = context.builder, context.reporter
        self.place = builder.block, builder.location, context.nesting, context.static_loops
        self.node, self.in_static, self.depth = context.truth_node, context.in_static, len(context.frames)
        self.warnings, self.shared = reporter.mark(), len(context.kernel.shared)

    def restore(self, context: Context) -> None:
        """Continue where the function is called."""
        context.builder.block, context.builder.location, context.nesting, context.static_loops = self.place
        context.truth_node, context.in_static = self.node, self.in_static
        del context.frames[self.depth :]

    def drop(self, context: Context) -> None:
        """Forget what a body left behind that is built again in another way."""
        context.reporter.reset(self.warnings)
        del context.kernel.shared[self.shared :]


def _build_body(context: Context, frame: Frame, function: Function, built: Built, node: ast.Call) -> None:
    context.frames.append(frame)
    context.builder.block, context.builder.location = function.body, function.location
    context.nesting = Nesting(function.body)
    context.static_loops, context.truth_node, context.in_static = [], None, False
    built.parameters = [_bind(context, frame, function, one, node) for one in built.passed]
    done = execute(context, frame.definition.tree.body)
    context.builder.location = function.location
    _finish(context, frame, function, done.falls, node)
    built.is_tuple = bool(function.result_names)
    for parameter in function.parameters:
        if parameter.by_reference and not _writes(function, parameter):
            _pass_by_value(function, parameter)
    own = any(isinstance(s, LOOPS) and s not in context.rolled_loops for s in walk(function.body))
    built.has_loops = own or any(call.function in context.functions.looping for call in calls(function.body))
    if built.has_loops:
        context.functions.looping.add(function)


def _bind(context: Context, frame: Frame, function: Function, one: Passed, node: ast.Call) -> Parameter | None:
    """Bind a parameter in the body; return the one of the emitted function, None for what is known at compile time."""
    name = one.parameter.name
    if one.kind == "static" or one.type is None:
        bind_parameter(context, one.parameter, one.value, node)
        return None
    is_reference = one.kind == "reference"
    parameter = Parameter(name, one.type, len(function.parameters), by_reference=is_reference)
    function.parameters.append(parameter)
    value: Any = context.builder.add((Reference if is_reference else ArgLoad)(parameter, type=one.type, name=name))
    if one.kind == "number":
        declaration = declaration_of(frame.definition, name)
        number = one.value.values[0] if isinstance(one.value, ArgumentNumber) else one.value
        frame.declare(name, ArgumentNumber(declaration, number, value), declaration)
        return parameter
    if is_reference:
        value = Lvalue(value)
    if one.is_self:
        bind_self(context, one.parameter, value)
    else:
        bind_parameter(context, one.parameter, value, node)
    return parameter


def _finish(context: Context, frame: Frame, function: Function, falls: bool, node: ast.Call) -> None:
    """Give the results their types, which are those that all `return`s have in common."""
    returns = frame.returns
    assert returns is not None
    if not returns or not returns[0][1].values:
        return
    if falls:
        check_all_return(context, frame, falls, node)
    columns = zip(*(statement.values for _, statement in returns), strict=True)
    types = [joined(context, frame, [value.type for value in column if value.type is not None]) for column in columns]
    if falls:
        returns.append((function.body, context.builder.add(Return([context.builder.zero(type) for type in types]))))
    for block, statement in returns:
        before = Block()
        context.builder.location = statement.location
        with context.builder.into(before):
            fitted = [context.builder.fit(v, type) for v, type in zip(statement.values, types, strict=True)]
            if not function.result_names:
                fitted = [annotated(context, frame, fitted[0])]
        statement.values = fitted
        position = block.statements.index(statement)
        block.statements[position:position] = before.statements
    function.results = [value.type for value in returns[0][1].values if value.type is not None]


def _must_inline(function: Function, is_auto: bool) -> bool:
    """Return whether a body needs the loop around the call: it synchronizes threads, or an analysis of the loop decides
    how it is done.
    """
    for statement in walk(function.body):
        if isinstance(statement, (*NEEDS_LOOP, *CELL_STATEMENTS)):
            return True
        if isinstance(statement, GlobalPtr):
            place = statement.array.place
            if statement.array.is_shared or (place is not None and is_sparse_tree(top_of(place))):
                return True
        if is_auto and isinstance(statement, AtomicOp) and isinstance(base_pointer(statement.pointer), GlobalPtr):
            return True
    return False


def _count_statements(tree: ast.FunctionDef) -> int:
    """Return the number of statements of a function, without a docstring."""
    statements = [node for top in tree.body for node in ast.walk(top) if isinstance(node, ast.stmt)]
    return sum(not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)) for s in statements)


# --- parameters -----------------------------------------------------------------------------------------------------


def _writes(function: Function, parameter: Parameter) -> bool:
    """Return whether a function changes the variable that a parameter refers to."""
    for statement in walk(function.body):
        if isinstance(statement, LocalStore | AtomicOp):
            changed = [base_pointer(statement.pointer)]
        else:
            changed = statement.references() if isinstance(statement, Call) else []
        if any(isinstance(base, Reference) and base.parameter is parameter for base in changed):
            return True
    return False


def _pass_by_value(function: Function, parameter: Parameter) -> None:
    """Replace a reference that is only read by a value."""
    values: dict[Statement, Statement] = {}
    for block in walk_blocks(function.body):
        result: list[Statement] = []
        for statement in block.statements:
            match statement:
                case Reference() if statement.parameter is parameter:
                    new: Statement = ArgLoad(parameter, type=parameter.type, name=parameter.name)
                case MatrixPtr(origin=origin, indices=indices) if origin in values:
                    new = MatrixElement(values[origin], indices, type=statement.type)
                case StructPtr(origin=origin, member=member) if origin in values:
                    new = StructElement(values[origin], member, type=statement.type)
                case LocalLoad(pointer=pointer) if pointer in values:
                    values[statement] = values[pointer]
                    continue
                case _:
                    result.append(statement)
                    continue
            new.location = statement.location
            values[statement] = new
            result.append(new)
        block.statements = result
    replace_uses(function.body, values)
    parameter.by_reference = False


def _strip_call_sites(function: Function, site: SourceLocation | None) -> None:
    """Remove the call for which a function was built first from the locations of its statements."""
    known: dict[SourceLocation, SourceLocation] = {}

    def strip(location: SourceLocation) -> SourceLocation:
        if location.call_site is None:
            return location
        if location not in known:
            outer = None if location.call_site is site else strip(location.call_site)
            known[location] = replace(location, call_site=outer)
        return known[location]

    for statement in walk(function.body):
        statement.location = strip(statement.location)
        if statement.remarks:
            statement.remarks = tuple(replace(r, location=strip(r.location)) for r in statement.remarks)
