"""The entry point of the frontend: builds the IR of a specialization.

Input: a kernel's definition and the kinds of its arguments. Output: the kernel as typed statements in nested blocks,
with static expressions evaluated and functions inlined; it contains one real function per specialization.
"""

from __future__ import annotations

import ast
import logging
from typing import Any

from ...errors import PACKAGE, InternalError, TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from ...ir.forms import FrontendResult
from ...ir.nodes import Statement
from ...ir.remarks import attach_remarks
from ...ir.statements import ArgLoad, Parameter
from ...ir.types import Struct, StructError, Type, count_scalars
from ...nesting import deep_recursion
from ..context.context import Context, NeedsMemory
from ..context.per_iteration import NeedsUnroll
from ..context.values import Pack
from ..library.textures import new_texture
from ..source.definition import ParameterDefinition
from ..source.signature import check_kinds
from ..source.specialization import ArrayArgument, ScalarArgument, Specialization, StructArgument, TextureArgument
from . import access as build_access
from . import calls as build_calls
from . import loops as build_loops
from . import match as build_match
from . import triplets as build_triplets
from .assignment import bind
from .function_names import name_functions
from .real_functions import build_functions
from .returns import return_types
from .statements import execute

HANDLERS = (
    build_triplets.build_augmented_assignment,
    build_access.build_subscript,
    build_calls.build_call,
    build_loops.build_for,
    build_match.build_match,
)
"""Modules that register their handlers on import."""


def build(specialization: Specialization) -> FrontendResult:
    """Build the IR of a kernel.

    Raises: TaichiCompilationError and its subclasses for every mistake in the kernel, with its location.
    """
    unrolled: set[ast.AST] = set()
    with deep_recursion():
        while True:
            try:
                context = Context(specialization, unrolled)
                return _build(context)
            except NeedsUnroll as loop:
                unrolled.add(loop.node)
            except NeedsMemory as request:
                if request.node in request.mutable:  # it has memory already: restarting would never end
                    raise _internal(context, request) from request
                request.mutable.add(request.node)
            except StructError as error:
                message = f"The struct `{error.args[0]}` is used where a number, a vector or a matrix is needed"
                raise context.error(TaichiTypeError, message, "name one of its members") from None
            except (AttributeError, KeyError, AssertionError, TypeError, ValueError, IndexError) as error:
                if isinstance(error, TaichiCompilationError):
                    raise
                raise _internal(context, error) from error


def _internal(context: Context, error: Exception) -> InternalError:
    """Return the error for a fault of shadesmith, with the line that caused it, so that the user can work around it.

    The traceback is logged at level DEBUG.
    """
    logging.getLogger(PACKAGE).debug("the frontend failed", exc_info=error)
    return context.builder.location.error(
        InternalError,
        f"shadesmith failed at this line ({type(error).__name__}: {error})",
        "this is a fault of shadesmith; write the line differently, and report it with the kernel",
    )


def _build(context: Context) -> FrontendResult:
    definition = context.specialization.definition
    check_kinds(definition)
    context.kernel.returns = return_types(context, definition)
    packs: dict[str, Pack] = {}
    arguments = definition.tree.args
    nodes = {argument.arg: argument for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for position, parameter in enumerate(definition.flat_parameters):
        _bind_argument(context, position, parameter, nodes, packs)
    context.frame.scopes.append({})
    done = execute(context, definition.tree.body)
    if context.kernel.returns and not context.frame.returned:
        context.builder.location = context.kernel.location
        raise context.error(
            TaichiSyntaxError,
            "Kernel has a return type but does not have a return statement",
            "add `return ...`, or leave out the annotation",
        )
    if context.kernel.returns and done.falls:
        context.builder.location = context.kernel.location
        message = f"`{context.kernel.name}` may end without `return`; it returns 0 then"
        context.warn(message, "end every branch with `return`")
    build_functions(context)
    name_functions(context)
    if definition.derivative:
        context.kernel.derivative = definition.derivative
        context.arrays.add_derivatives(definition.derivative, context.specialization.arguments)
    attach_remarks(context.kernel)
    return FrontendResult(
        context.kernel,
        context.arrays.fields,
        context.dependencies.captured,
        context.reporter.warnings,
        context.arrays.trees,
        context.dependencies.objects,
        list(context.dependencies.required_capabilities),
        context.dependencies.specific,
    )


def _bind_argument(
    context: Context, position: int, parameter: ParameterDefinition, nodes: dict[str, ast.arg], packs: dict[str, Pack]
) -> None:
    """Bind the name of a parameter to its value; a pack is bound with its first member. nodes: by name."""
    node = nodes.get(parameter.name.partition(".")[0])
    if node is None:
        message = f"`{parameter.name}` is no parameter of `{context.kernel.name}`"
        raise context.kernel.location.error(TaichiCompilationError, message)
    value = _argument(context, position, parameter, node)
    if not parameter.path:
        context.frame.declare(parameter.name, value, node)
        return
    name = parameter.name.partition(".")[0]
    if name not in packs:
        packs[name] = Pack(name)
        context.frame.declare(name, packs[name], node)
    packs[name].set(parameter.path, value)


def _argument(context: Context, position: int, parameter: ParameterDefinition, node: ast.AST) -> Any:
    frame, kernel = context.frame, context.kernel
    argument = context.specialization.arguments[position]
    if isinstance(argument, ArrayArgument):
        array = context.arrays.new(parameter.name, context.structs.named(argument.element), argument.ndim)
        array.parameter, array.may_alias = position, True
        array.strided, array.clamped = argument.strided, argument.clamped
        return array
    if isinstance(argument, TextureArgument):
        return new_texture(context, parameter.name, position, argument)
    if isinstance(argument, (ScalarArgument, StructArgument)):
        context.builder.location = kernel.location
        load = _load_argument(context, parameter.name, context.structs.named(argument.type), position, 0)
        load.name = parameter.name
        is_mutable = node in frame.definition.parsed.mutable and not parameter.path
        return bind(context, load, parameter.name, is_mutable)
    value = argument.value
    context.record_dependency(value, parameter.name, parameter.name, lambda: value)
    context.dependencies.add_owner(value)
    return context.named(value, parameter.name)


def _load_argument(context: Context, path: str, type: Type, position: int, component: int) -> Statement:
    """Return an argument passed by value; a struct consists of one parameter per part, named by its path."""
    if not isinstance(type, Struct):
        context.builder.check_size(count_scalars(type))
        parameter = Parameter(path, type, position, component)
        context.kernel.parameters.append(parameter)
        return context.builder.add(ArgLoad(parameter, type=type))
    values = []
    for name, member in type.members:
        values.append(_load_argument(context, f"{path}.{name}", member, position, component))
        component += count_scalars(member)
    return context.builder.struct(values, type)
