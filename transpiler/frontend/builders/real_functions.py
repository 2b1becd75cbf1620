"""Calls of `@ti.real_func`, and the called functions: one `Function` per specialization, whose body is built once.

A call needs only the signature, so bodies are queued until the kernel itself is built, which also handles recursion. A
function is specialised on its `ti.template()` parameters and on the arrays that are passed to it.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import Any

from ...errors import SourceLocation, TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from ...ir.functions import Call, Function, Reference
from ...ir.nodes import Statement
from ...ir.statements import Alloca, ArgLoad, Array, GlobalPtr, MatrixPtr, Parameter, Return, StructPtr, base_pointer
from ...ir.types import Scalar, Struct, Tensor, Type, describe_type, element_of, u1
from ...lang.annotations import NdarrayAnnotation, RefType, is_template
from ...lang.decorators import BoundFunc, Func
from ...lang.matrix import Matrix
from ...lazy_dataclasses import dataclass
from ..context.context import Context
from ..context.references import need_memory, references
from ..context.scope import Frame
from ..context.values import Lvalue, describe_kind, is_number
from ..source.definition import KernelDefinition, ParameterDefinition, definition_of, location_of
from ..source.named_numbers import origin_in, plain
from .assignment import bind
from .inlining import declaration_of, inline, match_arguments, results_of
from .returns import return_types
from .statements import execute

MAX_SPECIALIZATIONS = 256
"""Maximum per function and kernel: a recursion that changes a `ti.template()` argument each time would never end."""

VARIABLE = "assign the value to a variable first, and pass that"


@dataclass(frozen=True, slots=True)
class PendingFunction:
    """A function whose body is not built yet. bound: compile-time arguments by parameter. site: the first call."""

    function: Function
    definition: KernelDefinition
    bound: dict[str, Any]
    site: SourceLocation


def call(
    context: Context, callee: Func | BoundFunc, arguments: list[Any], named: dict[str, Any], node: ast.Call
) -> Any:
    """Append a call of a real function; return its result, a tuple of several, or None."""
    definition = definition_of(callee.function)
    written = references(definition, callee, node, context.frame)
    if isinstance(callee, BoundFunc):
        arguments = [callee.instance, *arguments]
    template: dict[str, Any] = {}
    values: list[Statement] = []
    copies: list[tuple[Lvalue, Lvalue]] = []
    for parameter, value in match_arguments(context, definition, arguments, named, node):
        if is_compile_time(parameter):
            template[parameter.name] = _compile_time_argument(context, parameter, value, node)
        elif isinstance(parameter.annotation, RefType):
            if isinstance(value, Statement) and parameter.name in written:
                need_memory(*written[parameter.name])
            lvalue = _reference_argument(context, parameter, value, node)
            values.append(_copied_in(context, lvalue, copies) if needs_copy(lvalue) else lvalue.pointer)
        else:
            values.append(_value_argument(context, parameter, value, node))
    function = _specialized(context, definition, template)
    function.snippets = (callee.func if isinstance(callee, BoundFunc) else callee).snippets
    _check_distinct(context, function, values, node)
    call_statement = context.builder.add(Call(function, values))
    for lvalue, copy in copies:
        context.builder.store(lvalue.pointer, context.builder.load(copy.pointer))
    return results_of(context, call_statement)


def can_inline(context: Context, callee: Func | BoundFunc) -> bool:
    """Return whether a call means the same as the statements of the function, so that these are differentiated."""
    definition = definition_of(callee.function)
    is_recursive = any(frame.definition is definition for frame in context.frames)
    return not is_recursive and not any(isinstance(p.annotation, RefType) for p in definition.parameters)


def inlined(
    context: Context, callee: Func | BoundFunc, arguments: list[Any], named: dict[str, Any], node: ast.Call
) -> Any:
    """Append the statements of a real function; return its result, which has the declared type."""
    result = inline(context, callee, arguments, named, node)
    types = return_types(context, definition_of(callee.function))
    if len(types) < 2:
        return context.values.fit(result, types[0]) if types else result
    return tuple(context.values.fit(value, type) for value, type in zip(result, types, strict=True))


def is_compile_time(parameter: ParameterDefinition) -> bool:
    """Return whether a function is specialised on the argument of this parameter."""
    return is_template(parameter.annotation) or isinstance(parameter.annotation, NdarrayAnnotation)


# --- arguments ------------------------------------------------------------------------------------------------------


def _compile_time_argument(context: Context, parameter: ParameterDefinition, value: Any, node: ast.Call) -> Any:
    """Return an object known at compile time; arrays as the kernel's `Array`s. Raises: TaichiTypeError for others."""
    array = context.arrays.find(value)
    wanted = parameter.annotation
    if isinstance(wanted, NdarrayAnnotation):
        if array is None or array.shape is not None and not array.may_alias:
            message = f"Argument `{parameter.name}` takes an ndarray, found {describe_kind(value)}"
            raise context.error(TaichiTypeError, message, "annotate it as `ti.template()` to pass a field", node)
        element = None if wanted.dtype is None else context.values.type(wanted.dtype)
        if (element is not None and element != array.element) or wanted.ndim not in (None, array.ndim):
            message = f"Argument `{parameter.name}` takes {_shown(wanted, element)}, found {_kind_of(array)}"
            raise context.error(TaichiTypeError, message, "pass an array of that type, or widen the annotation", node)
    if isinstance(value, (Statement, Lvalue)):
        raise context.error(
            TaichiTypeError,
            f"`{parameter.name}` is a `ti.template()` parameter of a real function, found a run-time {value.type}",
            f"annotate it with `{value.type}`, or with `ti.ref({value.type})` to change it",
            node,
        )
    return value


def _kind_of(array: Array) -> str:
    return f"ndarray[{array.element}, {array.ndim}]"


def _shown(wanted: NdarrayAnnotation, element: Type | None) -> str:
    parts = [f"dtype={element}"] if element is not None else []
    parts += [f"ndim={wanted.ndim}"] if wanted.ndim is not None else []
    return f"an ndarray of {' and '.join(parts)}"


def _value_argument(context: Context, parameter: ParameterDefinition, value: Any, node: ast.Call) -> Statement:
    type = _type_of(context, parameter)
    value = context.loaded(value)
    if isinstance(type, Struct):
        return context.values.fit(value, type)
    given = value if is_number(value) else context.values.lift(value, node)
    shape = given.type.shape if isinstance(given, Statement) and isinstance(given.type, Tensor) else ()
    if shape and shape != (type.shape if isinstance(type, Tensor) else ()):
        message = f"Argument `{parameter.name}` takes `{describe_type(type)}`, found {describe_kind(given)}"
        raise context.error(TaichiTypeError, message, "pass a value of that shape, or change the annotation", node)
    return context.values.fit(given, type)


def _reference_argument(context: Context, parameter: ParameterDefinition, value: Any, node: ast.Call) -> Lvalue:
    """Return the lvalue of the caller that a function may change."""
    type = _type_of(context, parameter)
    if not isinstance(value, Lvalue):
        message = (
            f"Argument `{parameter.name}` is passed by reference and takes a variable, found {describe_kind(value)}"
        )
        raise context.error(TaichiTypeError, message, VARIABLE, node)
    if value.type != type:
        wanted = f"takes a reference to `{describe_type(type)}`"
        message = f"Argument `{parameter.name}` {wanted}, found a variable of type `{describe_type(value.type)}`"
        raise context.error(
            TaichiTypeError, message, f"pass a variable of that type: `v = ti.cast(..., ti.{type})`", node
        )
    base = base_pointer(value.pointer)
    if context.nesting.is_parallel and base in context.nesting.outside:
        message = (
            f"Argument `{parameter.name}` would refer to a variable that all iterations of the parallel loop share"
        )
        raise context.error(
            TaichiTypeError, message, "use `s += f(...)`, which is atomic, or a variable in the loop", node
        )
    return value


def needs_copy(lvalue: Lvalue) -> bool:
    """Return whether an lvalue is in an array, or may have another format than a variable: u1 is a byte in structs."""
    is_truth = not isinstance(lvalue.type, Struct) and element_of(lvalue.type) == u1
    return isinstance(base_pointer(lvalue.pointer), GlobalPtr) or (is_truth and isinstance(lvalue.pointer, StructPtr))


def _copied_in(context: Context, lvalue: Lvalue, copies: list[tuple[Lvalue, Lvalue]]) -> Statement:
    """Return a variable that represents an array element during the call, since GLSL has no pointers to memory."""
    copy = Lvalue(context.builder.add(Alloca(type=lvalue.type)))
    context.builder.store(copy.pointer, context.builder.load(lvalue.pointer))
    copies.append((lvalue, copy))
    return copy.pointer


def _check_distinct(context: Context, function: Function, values: list[Statement], node: ast.Call) -> None:
    """Raise if one variable is passed twice: languages differ in which of the two writes is the last."""
    seen: dict[Statement, list[Statement]] = {}
    for parameter, pointer in zip(function.parameters, values, strict=True):
        if not parameter.by_reference:
            continue
        others = seen.setdefault(base_pointer(pointer), [])
        if any(_overlap(pointer, other) for other in others):
            message = f"`{function.name}` gets one variable by reference twice"
            raise context.error(TaichiTypeError, message, "copy it to another variable first", node)
        others.append(pointer)


def _overlap(a: Statement, b: Statement) -> bool:
    """Return whether two lvalues certainly share memory; computed indices are the author's responsibility."""
    if isinstance(a, MatrixPtr) and isinstance(b, MatrixPtr):
        return a.origin is not b.origin and _overlap(a.origin, b.origin)
    if isinstance(a, StructPtr) and isinstance(b, StructPtr):
        return a.member == b.member or (a.origin is not b.origin and _overlap(a.origin, b.origin))
    return True


# --- functions ------------------------------------------------------------------------------------------------------


def _specialized(context: Context, definition: KernelDefinition, template: dict[str, Any]) -> Function:
    """Return the function for these compile-time arguments; the body of a new one is queued."""
    known = context.functions.built.setdefault(definition, {})
    key = tuple(key_of(context, value) for value in template.values())
    if key in known:
        return known[key]
    if len(known) >= MAX_SPECIALIZATIONS:
        raise context.error(
            TaichiSyntaxError,
            f"`{definition.name}` is specialised on more than {MAX_SPECIALIZATIONS} different arguments",
            "end the recursion with `if ti.static(...)`, or pass the changing argument with a type such as `ti.i32`",
        )
    _check_annotated(definition)
    function = Function(
        definition.name,
        [
            Parameter(
                parameter.name,
                _type_of(context, parameter),
                position,
                by_reference=isinstance(parameter.annotation, RefType),
            )
            for position, parameter in enumerate(p for p in definition.parameters if not is_compile_time(p))
        ],
        return_types(context, definition),
        location=definition.location(),
    )
    function.template = template_texts(context, template)
    known[key] = function
    context.kernel.functions.append(function)
    context.functions.pending.append(PendingFunction(function, definition, template, context.builder.location))
    return function


def _check_annotated(definition: KernelDefinition) -> None:
    """Raise if a function without return annotation returns a value, before an error in a caller hides the cause."""
    if definition.returns is not None:
        return
    for node in ast.walk(definition.tree):
        if isinstance(node, ast.Return) and not (node.value is None or ast.unparse(node.value) == "None"):
            raise location_of(definition.source, node, definition.name).error(
                TaichiSyntaxError,
                "A function with a return value must be annotated with a return type, e.g. def func() -> ti.f32",
                f"write `def {definition.name}(...) -> ti.f32:`",
            )


def _type_of(context: Context, parameter: ParameterDefinition) -> Type:
    annotation = parameter.annotation
    type = context.values.type(annotation.tp if isinstance(annotation, RefType) else annotation)
    assert type is not None  # checked when the function is decorated
    return type


def key_of(context: Context, value: Any) -> Hashable:
    """Return what distinguishes compile-time arguments: numbers, strings and types by value, others by identity."""
    if value is None or isinstance(value, (int, float, str, Scalar, Tensor)):
        return (type(plain(value)), repr(plain(value)), origin_in(value))
    if isinstance(value, (list, tuple)):
        return (type(value), *(key_of(context, item) for item in value))
    if isinstance(value, Matrix):
        return (Matrix, value.entries.shape, value.entries.dtype.name, value.entries.tobytes())
    context.functions.arguments.append(value)
    return id(context.arrays.find(value) or value)


def template_texts(context: Context, template: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the compile-time parameters with their strings, without objects (`self`), which have no readable form."""
    shown = []
    for name, value in template.items():
        if (array := context.arrays.find(value)) is not None:
            shown.append((name, array.name))
        elif value is None or isinstance(value, (int, float, str, Scalar, Tensor)):
            origin = origin_in(value)
            shown.append((name, origin.name if origin is not None and origin.name else repr(plain(value))))
    return shown


# --- bodies ---------------------------------------------------------------------------------------------------------


def build_functions(context: Context) -> None:
    """Build the bodies of all functions that are called, directly or indirectly."""
    while context.functions.pending:
        pending = context.functions.pending.popleft()
        try:
            _build_body(context, pending)
        except TaichiCompilationError as error:
            raise _with_call(error, pending.site) from None


def _with_call(error: TaichiCompilationError, site: SourceLocation) -> TaichiCompilationError:
    """Return the error with the call that led to the function, as the start of its chain of calls."""
    location = site if error.location is None else error.location.called_from(site)
    return location.error(type(error), error.message, error.hint)


def _build_body(context: Context, pending: PendingFunction) -> None:
    function, definition = pending.function, pending.definition
    frame = Frame(definition, entry=function.body, function=function)
    context.enter(frame)
    context.builder.location = function.location
    parameters = iter(function.parameters)
    for parameter in definition.parameters:
        node = declaration_of(definition, parameter.name)
        if is_compile_time(parameter):
            frame.declare(parameter.name, pending.bound[parameter.name], None)
            continue
        own = next(parameters)
        if own.by_reference:
            reference = context.builder.add(Reference(own, type=own.type, name=own.name))
            frame.declare(own.name, Lvalue(reference), node)
            continue
        load = context.builder.add(ArgLoad(own, type=own.type, name=own.name))
        frame.declare(own.name, bind(context, load, own.name, node in definition.parsed.mutable), node)
    frame.scopes.append({})
    done = execute(context, definition.tree.body)
    _finish(context, function, frame, done.falls)


def _finish(context: Context, function: Function, frame: Frame, falls: bool) -> None:
    """Return zeros if the end is reached without `return`; in Taichi the result is undefined."""
    if not function.results:
        return
    context.builder.location = function.location
    if not frame.returned:
        raise context.error(
            TaichiSyntaxError,
            "Function has a return type but does not have a return statement",
            "add `return ...`, or leave out the annotation",
        )
    if falls:
        message = f"`{function.name}` may end without `return`; it returns 0 then"
        context.warn(message, "end every branch with `return`")
        context.builder.add(Return([_zero(context, type) for type in function.results]))


def _zero(context: Context, type: Type) -> Statement:
    if isinstance(type, Struct):
        return context.builder.struct([_zero(context, member) for _, member in type.members], type)
    return context.values.fit(0, type)
