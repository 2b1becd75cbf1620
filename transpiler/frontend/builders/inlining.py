"""Inlines calls of `@ti.func`: the function's statements are built into the caller, with parameters bound to arguments.

By-value parameters that the function changes become variables; `ti.template()` parameters are variables of the caller.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any, NoReturn

from ...errors import TaichiSyntaxError, TaichiTypeError
from ...ir.functions import Call, CallResult
from ...ir.nodes import Block, Statement
from ...ir.statements import LocalStore
from ...ir.types import Scalar, Tensor, Type, describe_type, element_of, promote, with_element
from ...ir.types import Struct as StructInKernel
from ...lang.annotations import NdarrayAnnotation, is_template
from ...lang.decorators import BoundFunc, Func
from ...lang.struct import Struct
from ..context.context import Context
from ..context.per_iteration import PerIteration
from ..context.references import need_memory, references
from ..context.scope import Frame
from ..context.values import Lvalue, describe_kind, is_number
from ..library.structs import join_structs
from ..source.definition import NO_DEFAULT, KernelDefinition, ParameterDefinition, definition_of
from ..source.unread_parameter_writes import unread_parameter_writes
from .assignment import bind, bind_items
from .statements import execute

MAX_DEPTH = 100
"""Maximum nesting of inlined calls, also for compile-time recursion."""

LIBRARY = Func.__module__.rpartition(".")[0]
"""Package of library functions (`ti.math`), whose lines are not shown to users."""

ALGORITHMS = f"{LIBRARY}.decompositions"
"""Module of long library functions, whose variable names are kept for readers of the emitted source."""


def inline(
    context: Context, callee: Func | BoundFunc, arguments: list[Any], named: dict[str, Any], node: ast.Call
) -> Any:
    """Build the body of `callee` into the current block; return what it returns."""
    definition = definition_of(callee.function)
    require_source(context, definition)
    if len(context.frames) >= MAX_DEPTH:
        _fail_recursion(context, definition)
    if isinstance(callee, BoundFunc):
        arguments = [callee.instance, *arguments]
    frame = Frame(definition, context.builder.location, context.builder.block)
    frame.is_library = is_of_library(definition)
    frame.hides_names = frame.is_library and definition.function.__module__ != ALGORITHMS
    frame.references = references(definition, callee, node, context.frame)
    bound = match_arguments(context, definition, arguments, named, node)
    outer = context.frame
    context.frames.append(frame)
    frame.leave = context.exits.new(f"{definition.name}_returned", context.nesting.depth)
    loops, context.nesting.loops = context.nesting.loops, []
    is_struct = isinstance(callee, BoundFunc) and isinstance(callee.instance, (Statement, Lvalue))
    try:
        for position, (parameter, value) in enumerate(bound):
            if is_struct and position == 0:
                bind_self(context, parameter, value)
            else:
                bind_parameter(context, parameter, value, node)
        location = context.builder.location
        done = execute(context, definition.tree.body)
        context.builder.location = location
        result = _result(context, frame, done.falls, node)
    finally:
        context.frames.pop()
    context.nesting.loops = loops
    if frame.is_library and not outer.is_library:
        _forget_names(result)
    return result


def is_of_library(definition: KernelDefinition) -> bool:
    """Return whether a function is one of shadesmith's own."""
    return (definition.function.__module__ or "").startswith(LIBRARY)


def _forget_names(result: Any) -> None:
    """Remove the name of a value returned by a library function, so that the caller names it."""
    for value in result if isinstance(result, tuple) else (result,):
        if isinstance(value, Statement):
            value.name = None


def require_source(context: Context, definition: KernelDefinition) -> None:
    """Raise at the call, which the user sees, if the source of the function cannot be found."""
    try:
        definition.parsed  # noqa: B018 - raises
    except TaichiSyntaxError as error:
        if error.location is None or error.location.source.lines:
            raise
        raise context.error(TaichiSyntaxError, error.message, error.hint) from None


def _fail_recursion(context: Context, definition: KernelDefinition) -> NoReturn:
    """Raise at the first recursive call, not a hundred calls deeper."""
    chain = [*(frame.definition for frame in context.frames), definition]
    sites = [*(frame.call_site for frame in context.frames), context.location()]
    for start, first in enumerate(chain):
        again = next((k for k in range(start + 1, len(chain)) if chain[k].function is first.function), None)
        if again is None:
            continue
        site = sites[start + 1]
        assert site is not None
        circle = " -> ".join(caller.name for caller in chain[start : again + 1])
        raise site.error(
            TaichiSyntaxError,
            f"`{first.name}` calls itself ({circle}), more than {MAX_DEPTH} deep; functions are inlined and cannot "
            "recurse at run time",
            "write a loop or a `@ti.real_func`, or end it with `if ti.static(...)` on a `ti.template()` parameter",
        )
    message = f"Calls of functions nest more than {MAX_DEPTH} deep at `{definition.name}`"
    raise context.error(TaichiSyntaxError, message, "write fewer functions that do more")


def match_arguments(
    context: Context, definition: KernelDefinition, arguments: list[Any], named: dict[str, Any], node: ast.Call
) -> list[tuple[ParameterDefinition, Any]]:
    """Return each parameter with its argument."""
    parameters = definition.parameters
    bound: list[tuple[ParameterDefinition, Any]] = []
    rest = list(arguments)
    named = dict(named)
    known = {parameter.name for parameter in parameters}
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    for name in named:
        if name not in known and not takes_any:
            message = f"Unexpected argument `{name}` of `{definition.name}`"
            raise context.error(TaichiTypeError, message, f"call it as {_shown_call(definition)}", node)
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            bound.append((parameter, tuple(rest)))
            rest = []
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            bound.append((parameter, named))
            named = {}
        elif rest and parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            if parameter.name in named:
                raise context.error(
                    TaichiTypeError, f"Multiple values for argument `{parameter.name}`", "give it once", node
                )
            bound.append((parameter, rest.pop(0)))
        elif parameter.name in named:
            bound.append((parameter, named.pop(parameter.name)))
        elif parameter.default is not NO_DEFAULT:
            bound.append((parameter, parameter.default))
        else:
            message = f"Missing argument `{parameter.name}` of `{definition.name}`"
            raise context.error(TaichiTypeError, message, f"call it as {_shown_call(definition)}", node)
    if rest:
        message = f"Too many arguments: `{definition.name}` takes {len(parameters)}, found {len(arguments)}"
        raise context.error(TaichiTypeError, message, f"call it as {_shown_call(definition)}", node)
    return bound


def _shown_call(definition: KernelDefinition) -> str:
    return f"`{definition.name}({', '.join(parameter.name for parameter in definition.parameters)})`"


def bind_parameter(context: Context, parameter: ParameterDefinition, value: Any, node: ast.Call) -> None:
    """Bind a parameter of the current frame to its argument."""
    frame = context.frame
    declaration = declaration_of(frame.definition, parameter.name)
    is_mutable = declaration in frame.definition.parsed.mutable
    if is_template(parameter.annotation) or isinstance(parameter.annotation, NdarrayAnnotation):
        if is_mutable and isinstance(value, Statement):
            _need_memory(frame, parameter.name)
        frame.declare(parameter.name, value, None)
        return
    value = own_argument(context, parameter, value, is_mutable, node)
    if isinstance(value, Statement):
        value = bind(context, value, parameter.name if is_mutable else None, is_mutable)
        is_own = not frame.is_library  # whose names are not the user's
        if is_own and isinstance(value, Statement) and value.name is None and value.hint is None:
            value.hint = parameter.name  # an argument gets a variable only if it is needed
        if is_mutable and not frame.is_library:
            _warn_of_unread_write(context, parameter.name)
    elif is_mutable and isinstance(value, (list, tuple)):
        value = bind_items(context, value, parameter.name, True)
    frame.declare(parameter.name, value, declaration)


def own_argument(context: Context, parameter: ParameterDefinition, value: Any, is_mutable: bool, node: ast.Call) -> Any:
    """Return an argument as a function has it: a copy in the type of its annotation. is_mutable: it assigns to it."""
    value = context.copied(value)
    type = None if parameter.annotation is NO_DEFAULT else context.values.type(parameter.annotation)
    if type is not None:
        return converted(context, value, type, parameter, node)
    is_lifted = is_mutable and (is_number(value) or isinstance(value, (Struct, PerIteration)))
    return context.values.lift(value) if is_lifted else value


def results_of(context: Context, call: Call) -> Statement | tuple[Statement, ...] | None:
    """Return the result of a call that was added, a tuple of several, None without one."""
    results = call.function.results
    if len(results) > 1:
        return tuple(context.builder.add(CallResult(call, k, type=type)) for k, type in enumerate(results))
    call.type = results[0] if results else None
    return call if results else None


def bind_self(context: Context, parameter: ParameterDefinition, value: Any) -> None:
    """Bind the struct whose method is called, by reference: the method may change its members."""
    frame = context.frame
    declaration = declaration_of(frame.definition, parameter.name)
    if declaration in frame.definition.parsed.mutable and isinstance(value, Statement):
        _need_memory(frame, parameter.name)
        value = bind(context, value, parameter.name, True)  # a temporary value: changes of it are lost
    frame.declare(parameter.name, value, declaration)


def _warn_of_unread_write(context: Context, name: str) -> None:
    """Warn if a function changes its copy of an argument and does not read it afterwards."""
    definition = context.frame.definition
    if definition.parsed.unread_writes is None:
        definition.parsed.unread_writes = unread_parameter_writes(definition.tree)
    change = definition.parsed.unread_writes.get(name)
    if change is not None:
        message = f"`{name}` is a copy of the caller's value, and nothing reads what `{definition.name}` assigns here"
        hint = f"return the new value, or annotate `{name}: ti.template()` to change the caller's variable"
        context.warn(message, hint, change)


def converted(context: Context, value: Any, type: Type, parameter: ParameterDefinition, node: ast.Call) -> Statement:
    """Return an argument in the type with which its parameter is annotated."""
    source = value if is_number(value) or isinstance(value, (dict, Struct)) else context.values.lift(value)
    if isinstance(source, Statement) and isinstance(source.type, Tensor) and isinstance(type, Scalar):
        raise context.error(
            TaichiTypeError,
            f"Argument `{parameter.name}` takes `{describe_type(type)}`, found {describe_kind(source)}",
            "pass a scalar",
            node,
        )
    return context.values.fit(source, type)


def _need_memory(frame: Frame, parameter: str) -> None:
    """Restart the build with memory for the caller's variable of a parameter, since the function changes it."""
    reference = frame.references.get(parameter)
    if reference is not None:
        need_memory(*reference)


def declaration_of(definition: KernelDefinition, name: str) -> ast.AST:
    """Return the node that declares a parameter."""
    arguments = definition.tree.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    for argument in named:
        if argument is not None and argument.arg == name:
            return argument
    return definition.tree


# --- results --------------------------------------------------------------------------------------------------------


def _result(context: Context, frame: Frame, falls: bool, node: ast.Call) -> Any:
    assert frame.leave is not None
    context.exits.close(frame.leave)
    if frame.result is None:
        value: Any = frame.value
    else:
        if frame.value is not None or (falls and frame.result.variables):
            check_all_return(context, frame, falls, node)
        values = [_typed_load(context, frame, position) for position in range(len(frame.result.variables))]
        value = tuple(values) if frame.result.is_tuple else values[0] if values else None
    return annotated(context, frame, value)


def check_all_return(context: Context, frame: Frame, falls: bool, node: ast.Call) -> None:
    """Warn of a function that may end without `return`: the result is then zero, the initial value of variables."""
    if falls:
        name = frame.definition.name
        context.warn(f"`{name}` may end without `return`; it returns 0 then", "end every branch with `return`", node)


def _typed_load(context: Context, frame: Frame, position: int) -> Statement:
    """Set the type of a result variable to the common type of all `return`s, cast the stored values, and load it."""
    assert frame.result is not None
    lvalue, stores = frame.result.variables[position], frame.result.stores[position]
    types: list[Type] = [store.value.type for _, store in stores if store.value.type is not None]
    lvalue.type = joined(context, frame, types)
    for block, store in stores:
        _fit_stored(context, block, store, lvalue.type)
    return context.builder.load(lvalue)


def joined(context: Context, frame: Frame, types: list[Type]) -> Type:
    """Return the common type of all `return`s of a function."""
    if any(isinstance(type, StructInKernel) for type in types):
        return join_structs(context, types)
    element = element_of(types[0])
    for type in types[1:]:
        element = promote(element, element_of(type))
    shapes = [type.shape for type in types if isinstance(type, Tensor)]
    if any(shape != shapes[0] for shape in shapes) or (shapes and len(shapes) != len(types)):
        type_names = " and ".join(f"`{describe_type(type)}`" for type in dict.fromkeys(types))
        raise context.error(
            TaichiTypeError,
            f"All `return`s of `{frame.definition.name}` need values of one shape, found {type_names}",
            "return vectors of one length, or scalars, in all",
        )
    return with_element(types[0], element)


def _fit_stored(context: Context, block: Block, store: LocalStore, type: Type) -> None:
    """Insert the cast of a stored value to `type` before the store."""
    before = Block()
    location, context.builder.location = context.builder.location, store.location
    with context.builder.into(before):
        store.value = context.builder.fit(store.value, type)
    context.builder.location = location
    block.insert_before(store, before)


def annotated(context: Context, frame: Frame, value: Any) -> Any:
    """Return the result cast to the return annotation, if that is a type; a number type applies to elements, too."""
    annotation = frame.definition.returns
    type = None if annotation is None else context.values.type(annotation)
    if type is None or value is None or isinstance(value, (tuple, Lvalue)):
        return value
    if isinstance(type, Scalar) and isinstance(value, Statement) and isinstance(value.type, Tensor):
        return context.builder.cast(value, type)
    return context.values.fit(value, type)
