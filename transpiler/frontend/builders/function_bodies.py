"""Bodies of the functions that calls of a `@ti.func` share (`function_calls.py`).

In: the arguments of the first call. Out: a `Function`, with results of the types that its `return`s have in common.
"""

from __future__ import annotations

import ast
from dataclasses import field, replace
from typing import Any

from ...errors import NOWHERE, SourceLocation
from ...ir.functions import Call, Function, Reference, calls
from ...ir.nodes import Block, Statement, replace_uses, walk, walk_blocks
from ...ir.snodes import is_sparse_tree, top_of
from ...ir.sparse import CELL_STATEMENTS
from ...ir.statements import (
    ArgLoad,
    AtomicOp,
    GlobalPtr,
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
from ...lang.decorators import BoundFunc, Func
from ...lazy_dataclasses import dataclass
from ..context.context import Context, NeedsInlining
from ..context.nesting import Nesting
from ..context.per_iteration import ArgumentNumber, NeedsUnroll
from ..context.references import references
from ..context.scope import Frame
from ..context.values import Lvalue
from ..source.definition import KernelDefinition, ParameterDefinition
from .inlining import (
    annotated,
    bind_parameter,
    bind_self,
    check_all_return,
    declaration_of,
    is_of_library,
    joined,
)
from .statements import execute
from .static_loops import FAULTS

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
        numbers: the parameters that were numbers in the first call.
        is_tuple: it returns a tuple.
        has_loops: it, or a function that it calls, contains a loop, which is parallel at the top level of a kernel.
    """

    passed: list[Passed]
    function: Function | None = None
    parameters: list[Parameter | None] = field(default_factory=list)
    numbers: dict[Parameter, ArgumentNumber] = field(default_factory=dict)
    is_tuple: bool = False
    has_loops: bool = False


def build_function(
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
    if is_library := is_of_library(definition):
        function.name, function.location, function.library = definition.name.lstrip("_"), NOWHERE, _known_as(definition)
    frame = Frame(definition, context.builder.location, function.body, function=function, returns=[])
    frame.is_library = is_library
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
    if is_library:
        for statement in walk(function.body):
            statement.location = NOWHERE
    else:
        _strip_call_sites(function, frame.call_site)
    is_known = is_library and not function.library.startswith("_")
    function.statements = _count_statements(definition.tree) if is_auto and not is_known else None
    built.function = function
    context.kernel.functions.append(function)
    return True


def stays_a_function(context: Context, definition: KernelDefinition) -> bool:
    """Return whether a function of our own library may be one of the source: users know it, and it is more than one
    operation.
    """
    options = context.options
    if options.debug or options.check_overflow or options.check_out_of_bound:
        return False  # a failed check in it is one of the call
    return _count_statements(definition.tree) > 1 or _repeats_a_parameter(definition.tree)


def _repeats_a_parameter(tree: ast.FunctionDef) -> bool:
    """Return whether an argument would need a variable where the function is inlined: `x - floor(x)`."""
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return any(names.count(parameter.arg) > 1 for parameter in tree.args.args)


def _known_as(definition: KernelDefinition) -> str:
    """Return what users call a function of ours; "_" and its name for a part of one."""
    if definition.name.startswith("_"):
        return definition.name
    is_of_math = (definition.function.__module__ or "").endswith(".math")
    return f"ti.math.{definition.name}" if is_of_math else f"ti.{definition.name}"


class _Saved:
    """The state of a build around the body of a function."""

    def __init__(self, context: Context) -> None:
        builder, reporter = context.builder, context.reporter
        self.place = builder.block, builder.location, context.nesting, context.static_loops
        self.node, self.depth = context.truth_node, len(context.frames)
        self.in_static, self.by_reference = context.in_static, context.by_reference
        self.warnings, self.shared = reporter.mark(), len(context.kernel.shared)

    def restore(self, context: Context) -> None:
        """Continue where the function is called."""
        context.builder.block, context.builder.location, context.nesting, context.static_loops = self.place
        context.truth_node, context.in_static, context.by_reference = self.node, self.in_static, self.by_reference
        del context.frames[self.depth :]

    def drop(self, context: Context) -> None:
        """Forget what a body left behind that is built again in another way."""
        context.reporter.reset(self.warnings)
        del context.kernel.shared[self.shared :]


def _build_body(context: Context, frame: Frame, function: Function, built: Built, node: ast.Call) -> None:
    context.frames.append(frame)
    context.builder.block, context.builder.location = function.body, function.location
    context.nesting = Nesting(function.body)
    context.static_loops, context.truth_node = [], None
    context.in_static = context.by_reference = False
    built.parameters = [_bind(context, frame, function, built, one, node) for one in built.passed]
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


def _bind(
    context: Context, frame: Frame, function: Function, built: Built, one: Passed, node: ast.Call
) -> Parameter | None:
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
        number = one.value.number if isinstance(one.value, ArgumentNumber) else one.value
        built.numbers[parameter] = ArgumentNumber(declaration, number, value)
        frame.declare(name, built.numbers[parameter], declaration)
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
        block.insert_before(statement, before)
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
    count, pending = 0, list(tree.body)
    while pending:  # not by `ast.walk`, which visits all expressions too
        node = pending.pop()
        count += isinstance(node, ast.stmt) and not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        for inner in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, inner, ())
    return count


# --- parameters -----------------------------------------------------------------------------------------------------


def _writes(function: Function, parameter: Parameter) -> bool:
    """Return whether a function changes the variable that a parameter refers to."""
    for statement in walk(function.body):
        if isinstance(statement, (LocalStore, AtomicOp)):
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
            known[location] = location._replace(call_site=outer)
        return known[location]

    for statement in walk(function.body):
        statement.location = strip(statement.location)
        if statement.remarks:
            statement.remarks = tuple(replace(r, location=strip(r.location)) for r in statement.remarks)
