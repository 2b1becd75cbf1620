"""Calls of functions of the language, of types, and of Python functions.

`FUNCTIONS` maps function objects to handlers that get loaded arguments; handlers in `FORMS` get the call's syntax.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from ...errors import PACKAGE, TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.ops import OPS
from ...ir.statements import Rand
from ...ir.types import QuantType, Scalar, Struct, Tensor, describe_type, element_of, u1, u32
from ...lang import functions, operations
from ...lang import struct as lang
from ...lang.annotations import as_type
from ...lang.atomics import ATOMIC_OF
from ...lang.decorators import BoundFunc, Func, as_bound
from ...lang.describe import name_of, safe_attribute
from ...lang.matrix import Matrix
from ...lang.operations import OPERATION_OF
from ..context.context import Context, expression
from ..context.handler_calls import ArgumentsError, call_handler
from ..context.iteration import positional
from ..context.loop_options import loop_config
from ..context.per_iteration import PerIteration, contains_per_iteration
from ..context.references import need_memory
from ..context.runtime_values import hint_random
from ..context.values import (
    Lvalue,
    Method,
    RangeValue,
    describe_kind,
    holds_runtime,
    is_number,
    is_runtime,
)
from ..library import traced
from ..library.builtins import BUILTINS, build_range, build_super, minimum_maximum
from ..library.format_strings import format_method
from ..library.frexp import frexp
from ..library.meshes import mesh_functions
from ..library.messages import build_print, static_assert
from ..library.methods import call_method, matrix_constructors
from ..library.operators import BINARY, binary, naming_operands
from ..library.ranges import grouped, ndrange
from ..library.simt import thread_functions
from ..library.sparse import sparse_functions
from ..library.structs import make_anonymous, make_struct
from ..source.definition import KernelDefinition, definition_of
from ..source.named_numbers import called
from . import real_functions
from .function_calls import call_function

Meaning = Callable[..., Any]
Form = Callable[[Context, ast.Call], Any]

PASSED_ON = frozenset({zip, enumerate, reversed, list, tuple})
"""Functions whose result holds the items of their arguments."""

HOST = f"{PACKAGE}.runtime."
"""Package of shadesmith's functions for Python scope."""
CALLABLE = (f"{HOST}compat.", f"{HOST}session.taichi_program")
"""Modules in `HOST` whose functions a kernel may call at compile time: they return options of the session."""

ARGUMENT_NAMES = ("x", "y", "z")
"""Names of the arguments of operations in hints."""

OPERATORS = {operator[0]: operator for operator in BINARY.values()}
"""Binary operators of the op table, as arguments of `binary`."""

KERNEL_IN_KERNEL = (
    "Kernels cannot call other kernels. I.e., nested kernels are not allowed. "
    "Please check if you have direct/indirect invocation of kernels within kernels."
)


@expression(ast.Call)
def build_call(context: Context, node: ast.Call) -> Any:
    """A call: of a method, a form, a function of the language, a type, a `@ti.func`, or a Python function."""
    callee = _callable(context.evaluate(node.func))
    if isinstance(callee, (Func, BoundFunc)):
        arguments, named = _arguments(context, node, True)
        return _call_function(context, callee, arguments, named, node)
    if isinstance(callee, partial) and isinstance(inner := as_bound(callee.func), (Func, BoundFunc)):
        arguments, named = _arguments(context, node, True)
        return _call_function(context, inner, [*callee.args, *arguments], {**callee.keywords, **named}, node)
    form = _lookup(FORMS, callee)
    if form is not None:
        return form(context, node)
    arguments, named = _arguments(context, node, context.by_reference and _is_hashable(callee) and callee in PASSED_ON)
    if isinstance(callee, Method):
        if not isinstance(node.func, ast.Attribute) or len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
            return call_method(context, callee, arguments, named)
        with naming_operands(node.func.value, node.args[0]):
            return call_method(context, callee, arguments, named)
    if arguments and _is_method_of_matrices(callee) and any(map(holds_runtime, arguments)):
        return call_method(context, Method(arguments[0], callee.__name__), arguments[1:], named)
    atomic = _lookup(ATOMIC_OF, callee)
    if atomic is not None:
        return _atomic(context, node, atomic, arguments)
    arguments = [context.loaded(argument) for argument in arguments]
    named = {name: context.loaded(value) for name, value in named.items()}
    if isinstance(callee, BuiltinMethodType) and isinstance(callee.__self__, str) and callee.__name__ == "format":
        return format_method(context, callee.__self__, arguments, named)
    operation = _lookup(OPERATION_OF, callee)
    if operation is not None:
        if len(node.args) != 2 or any(isinstance(argument, ast.Starred) for argument in node.args):
            return _operation(context, callee, operation, arguments, named)
        with naming_operands(*node.args):
            return _operation(context, callee, operation, arguments, named)
    meaning = _lookup(FUNCTIONS, callee)
    if meaning is not None:
        return _checked(context, meaning, arguments, named, callee)
    if _is_of_python(callee, arguments, named):
        result = context.python(callee, *arguments)
        return called(callee.__name__, ast.unparse(node), arguments, result, context.options)
    type = context.values.type(callee)
    if isinstance(type, Struct):
        return make_struct(context, type, arguments, named)
    if type is not None:
        return make_typed(context, type, arguments)
    return _python_call(context, callee, arguments, named, node)


def _call_function(
    context: Context, callee: Func | BoundFunc, arguments: list[Any], named: dict[str, Any], node: ast.Call
) -> Any:
    """Call a `@ti.func`, or inline it; call a `@ti.real_func`."""
    outer, context.by_reference = context.by_reference, False
    result = _call_device_function(context, callee, arguments, named, node)
    context.by_reference = outer
    return result


def _call_device_function(
    context: Context, callee: Func | BoundFunc, arguments: list[Any], named: dict[str, Any], node: ast.Call
) -> Any:
    is_real = (callee.func if isinstance(callee, BoundFunc) else callee).is_real
    if is_real and context.specialization.definition.derivative and real_functions.can_inline(context, callee):
        return real_functions.inlined(context, callee, arguments, named, node)
    return (real_functions.call if is_real else call_function)(context, callee, arguments, named, node)


def _is_of_python(callee: Any, arguments: list[Any], named: dict[str, Any]) -> bool:
    """Return whether a call of `int`, `float`, `bool` or a type of NumPy has no run-time value: Python computes it."""
    is_type = isinstance(callee, type) and (callee in (int, float, bool) or issubclass(callee, np.generic))
    if not is_type or named or len(arguments) != 1:
        return False
    return is_number(arguments[0]) or isinstance(arguments[0], str)


def _callable(callee: Any) -> Any:
    """Return the function that a call executes: `__call__` of the object's class if that is a `@ti.func`."""
    callee = as_bound(callee)
    call = getattr(type(callee), "__call__", None)  # noqa: B004 - which function it is, not whether there is one
    return BoundFunc(call, callee) if isinstance(call, Func) else callee


def _is_method_of_matrices(callee: Any) -> bool:
    """Return whether `callee` is a method taken from the class, as in `ti.Matrix.dot(a, b)`."""
    return isinstance(callee, FunctionType) and Matrix.__dict__.get(callee.__name__) is callee


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _lookup(table: dict[Any, Any], callee: Any) -> Any:
    return table.get(callee) if _is_hashable(callee) else None


def _arguments(context: Context, node: ast.Call, by_reference: bool = False) -> tuple[list[Any], dict[str, Any]]:
    """Evaluate arguments without loading lvalues: `ti.template()` parameters take them by reference.

    by_reference: whether lists hold lvalues, too.
    """
    outer, context.by_reference = context.by_reference, by_reference
    arguments = positional(context, node)
    named: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            named.update(_spread(context, keyword.value))
        else:
            named[keyword.arg] = context.evaluate(keyword.value)
    context.by_reference = outer
    return arguments, named


def _spread(context: Context, node: ast.expr) -> dict[str, Any]:
    """Return the arguments of `**value` in a call."""
    value = context.value(node)
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        message = f"`**` takes a Python dict with names known at compile time, found {describe_kind(value)}"
        raise context.error(TaichiTypeError, message, "write the arguments out", node)
    return value


def _checked(context: Context, meaning: Meaning, arguments: list[Any], named: dict[str, Any], callee: Any) -> Any:
    """Call a handler; arguments that it does not take are reported at the call."""
    try:
        return call_handler(meaning, (context,), arguments, named)
    except ArgumentsError as error:
        raise context.error(TaichiTypeError, f"`{name_of(callee)}` {error}", "check the arguments") from None


def _not_callable(context: Context, callee: Any, node: ast.Call) -> TaichiCompilationError:
    """Return the error for a call of a value; a variable may hide the intended function."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if not hasattr(builtins, name) or context.frame.find(name) is None:
        message = f"{describe_kind(callee)} cannot be called"
        return context.error(TaichiTypeError, message, "leave out the parentheses, or use `[]` for an element")
    message = f"`{name}` is a variable of type {describe_kind(callee)} here, which hides Python's `{name}`"
    return context.error(TaichiTypeError, message, f"choose another name for the variable, or write `ti.{name}`")


def _python_call(context: Context, callee: Any, arguments: list[Any], named: dict[str, Any], node: ast.Call) -> Any:
    if (
        safe_attribute(safe_attribute(callee, "kernel", object, callee), "definition", KernelDefinition, None)
        is not None
    ):
        hint = f"decorate `{safe_attribute(callee, '__name__', str, 'it')}` with `@ti.func`"
        raise context.error(TaichiSyntaxError, KERNEL_IN_KERNEL, hint)
    if _is_host_only(callee):
        name = safe_attribute(callee, "__qualname__", str, name_of(callee))
        raise context.error(TaichiSyntaxError, f"`{name}` cannot be called in a kernel", "call it in Python scope")
    if is_runtime(callee) or not callable(callee):
        raise _not_callable(context, callee, node)
    if not _is_pure(callee) or contains_per_iteration(*arguments, named) is not None:
        context.need_copies()
    if any(holds_runtime(value) for value in (*arguments, *named.values())):
        inner = callee.func if isinstance(callee, partial) else callee
        compiled = _as_func(inner)
        if traced.is_executed(callee) or (compiled is not None and _needs_python(compiled, arguments)):
            return traced.execute(context, callee, arguments, named)
        if compiled is not None:
            if inner is not callee:
                arguments, named = [*callee.args, *arguments], {**callee.keywords, **named}
            message = f"The Python function `{name_of(callee)}` gets run-time values, so it is compiled as a `@ti.func`"
            context.warn(message, "decorate it with `@ti.func`")
            return _call_function(context, compiled, arguments, named, node)
        name, module = name_of(callee), safe_attribute(callee, "__module__", str, "")
        twin = getattr(operations, name, None) or getattr(functions, name, None)
        hint = f"use `ti.{name}`" if module in ("math", "cmath", "numpy") and twin else "decorate it with `@ti.func`"
        raise context.error(
            TaichiTypeError, f"The Python function `{name}` cannot be called with run-time values in a kernel", hint
        )
    result = context.python(callee, *arguments, **named)
    return called(name_of(callee), ast.unparse(node), [*arguments, *named.values()], result, context.options)


def _as_func(callee: Any) -> Func | BoundFunc | None:
    """Return the `Func` of a function, method or callable object of the program; None for what is not the program's."""
    if isinstance(callee, MethodType):
        function = _as_func(callee.__func__)
        return BoundFunc(function, callee.__self__) if isinstance(function, Func) else None
    if not isinstance(callee, FunctionType):
        call = getattr(type(callee), "__call__", None)  # noqa: B004 - which function it is, not whether there is one
        function = _as_func(call) if isinstance(call, FunctionType) else None
        return BoundFunc(function, callee) if isinstance(function, Func) else None
    root = (callee.__module__ or "").partition(".")[0]
    return None if root in (*sys.stdlib_module_names, "numpy", PACKAGE) and root != "__main__" else Func(callee)


def _needs_python(function: Func | BoundFunc, arguments: list[Any]) -> bool:
    """Return whether Python executes a function of the program, since kernels lack what it does."""
    plain = (function.func if isinstance(function, BoundFunc) else function).function
    given = [function.instance, *arguments] if isinstance(function, BoundFunc) else arguments
    return isinstance(plain, FunctionType) and traced.needs_python(definition_of(plain), given)


def _is_pure(callee: Any) -> bool:
    """Return whether a Python function surely has no effect, so that a kept static loop may call it once."""
    return safe_attribute(callee, "__module__", str, "") in ("math", "builtins") and callee not in (print, next, input)


def _is_host_only(callee: Any) -> bool:
    """Return whether a function of shadesmith operates on sessions and memory: `ti.init`, `ti.field`, `x.fill`.

    Queries of the nodes of a tree, such as `x.parent()`, may be called in a kernel at compile time.
    """
    module = safe_attribute(callee, "__module__", str, "")
    if not module.startswith(HOST) or module.startswith(CALLABLE):
        return False
    is_parent_query = safe_attribute(callee, "__name__", str, "") == "parent"
    return not (is_parent_query and hasattr(type(safe_attribute(callee, "__self__", object, None)), "describe_node"))


# --- operations -----------------------------------------------------------------------------------------------------


def _operation(context: Context, callee: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
    entry, dtype = OPS[name], None
    if entry.takes_dtype:
        dtype = arguments.pop() if len(arguments) > entry.arity else named.pop("dtype", None)
    if named:
        raise context.error(
            TaichiSyntaxError, f"`{callee.__name__}` takes no argument `{next(iter(named))}`", "leave out the keyword"
        )
    if entry.takes_many:
        result = minimum_maximum(context, name, arguments)
    elif len(arguments) != entry.arity:
        shown = f"`ti.{callee.__name__}({', '.join(ARGUMENT_NAMES[: entry.arity])})`"
        message = f"`ti.{callee.__name__}` takes {entry.arity} argument{'s'[: entry.arity > 1]}, found {len(arguments)}"
        raise context.error(TaichiTypeError, message, f"write {shown}")
    elif entry.symbol:
        result = binary(context, OPERATORS[name], *arguments)
    else:
        result = context.builder.op(name, *[context.values.lift(argument) for argument in arguments])
        if name in ("popcnt", "clz"):
            result = _in_type_of_operand(context, result, arguments[0])
    return result if dtype is None else cast_value(context, result, dtype)


def _in_type_of_operand(context: Context, count: Statement, operand: Any) -> Statement:
    """Return a number of bits in the type of the integer, as in Taichi; that of a truth value stays an i32."""
    type = context.values.lift(operand).type
    assert type is not None
    return count if element_of(type) == u1 else context.builder.cast(count, element_of(type))


def cast_value(context: Context, value: Any, dtype: Any) -> Statement:
    """Return `ti.cast(value, dtype)`."""
    type = context.values.type(dtype)
    if isinstance(dtype, QuantType):
        message = f"`{dtype}` is a type of fields only: values in a kernel have the type `{dtype.compute}`"
        raise context.error(TaichiTypeError, message, "store in a field that is in `ti.BitpackedFields`")
    if not isinstance(type, Scalar):
        raise context.error(
            TaichiTypeError,
            f"`ti.cast` needs a number type, found {describe_kind(dtype)}",
            "write `ti.cast(x, ti.f32)`",
        )
    if not is_number(value):
        return context.builder.cast(context.values.lift(value), type)
    if isinstance(value, int) and type.is_integral and type(value) != value:
        return context.builder.cast(context.values.lift(value), type)
    return context.values.fit(value, type)


def make_typed(context: Context, type: Any, arguments: list[Any]) -> Any:
    """Return a type used as a function: `ti.f32(x)`, `int(x)`, `vec3(...)`."""
    if isinstance(type, Scalar):
        if len(arguments) != 1:
            raise context.error(
                TaichiSyntaxError, f"`{type}` takes 1 argument, found {len(arguments)}", f"write `{type}(x)`"
            )
        return _typed_literal(context, type, arguments[0])
    flat = [item for argument in arguments for item in _flat(context, argument)]
    context.builder.check_size(type.size)
    if len(flat) == 1:
        flat *= type.size
    if len(flat) < type.size:
        raise context.error(
            TaichiSyntaxError,
            f"`{describe_type(type)}` takes {type.size} elements, found {len(flat)}",
            "give one value, or all",
        )
    elements = [
        context.values.fit(item, type.element)
        if is_number(item)
        else context.builder.cast(context.values.lift(item), type.element)
        for item in flat[: type.size]
    ]
    hint_random(elements)
    return context.builder.tensor(elements, type.shape, type.element)


def _typed_literal(context: Context, type: Scalar, value: Any) -> Statement:
    """Return `ti.f64(0.1)`: a literal of that type, never of a default type first; or a cast of a run-time value.

    An integer as a float type is accepted, as in NumPy; Taichi refuses it.
    """
    if isinstance(value, PerIteration):
        fitting = (type(number) == number if type.is_integral else isinstance(number, int) for number in value.present)
        if type != context.default_fp and not all(fitting):
            value.needs_one()
    if not is_number(value):
        return cast_value(context, value, type)
    number = value.item() if hasattr(value, "item") else value
    if type.is_integral and isinstance(number, float):
        message = "Floating-point literals must be annotated with a floating-point type. "
        message += "For type casting, use `ti.cast`."
        hint = f"write `ti.cast({number}, ti.{type})`" + (f", or `ti.{type}({number:.0f})`" * number.is_integer())
        raise context.error(TaichiTypeError, message, hint)
    if type.kind in ("int", "uint") and type(number) != number:
        message = f"Integer literal {number} exceeded the range of specified dtype: {type}"
        raise context.error(TaichiTypeError, message, f"use a wider type, or `ti.cast({number}, ti.{type})`")
    return context.builder.const(value, type)


def _flat(context: Context, value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [inner for item in value for inner in _flat(context, item)]
    value = context.loaded(value)
    if isinstance(value, Matrix):
        value = context.values.lift(value)
    if isinstance(value, Statement) and isinstance(value.type, Tensor):
        return list(context.values.elements(value))
    return [value]


def _atomic(context: Context, node: ast.Call, op: str, arguments: list[Any]) -> Statement:
    """Return the old value of an lvalue that is combined with an operand in one step."""
    if len(arguments) != 2:
        raise context.error(
            TaichiSyntaxError,
            f"`ti.atomic_{op}` takes 2 arguments, found {len(arguments)}",
            f"write `ti.atomic_{op}(x[i], value)`",
        )
    target = node.args[0]
    lvalue = arguments[0]
    if not isinstance(lvalue, Lvalue):
        need_memory(context.frame, target)
        raise context.error(
            TaichiTypeError,
            f"cannot use a non-writable target as the first operand of 'atomic_{op}'",
            "give it an element of an array or a variable",
            node,
        )
    if op in ("and", "or", "xor") and element_of(lvalue.type).is_float:
        raise context.error(
            TaichiTypeError,
            f"`ti.atomic_{op}` takes integers, found `{describe_type(lvalue.type)}`",
            "use an integer array",
            target,
        )
    return context.builder.atomic(op, lvalue.pointer, context.values.fit(context.loaded(arguments[1]), lvalue.type))


# --- functions of the language --------------------------------------------------------------------------------------


def _stop_grad(context: Context, x: Any) -> Any:
    """`ti.stop_grad`: an array counts as constant in derivatives of this kernel; a value has no derivative."""
    array = context.arrays.find(x)
    if array is not None:
        context.arrays.stopped.add(array)
        array.is_constant = True
        return None
    if context.specialization.definition.derivative:
        raise context.error(
            TaichiTypeError,
            "`ti.stop_grad` takes a field or an ndarray, whose elements count as constants in this kernel",
            "write `ti.stop_grad(x)` before the loop, with the array `x` that the value was read from",
        )
    return x


def _loop_unique(context: Context, val: Any, covers: Any = None) -> Any:
    """`ti.loop_unique`: the value; all accesses are right without the promise."""
    return val


def _assume_in_range(context: Context, val: Any, base: Any, low: Any, high: Any) -> Any:
    """`ti.assume_in_range`: the value; all accesses are right without the promise."""
    return val


def _cast(context: Context, obj: Any, dtype: Any) -> Statement:
    return cast_value(context, obj, dtype)


def _bit_cast(context: Context, obj: Any, dtype: Any) -> Statement:
    type = as_type(dtype, context.options)
    if not isinstance(type, Scalar):
        raise context.error(
            TaichiTypeError,
            f"`ti.bit_cast` needs a number type, found {describe_kind(dtype)}",
            "write `ti.bit_cast(x, ti.i32)`",
        )
    return context.builder.bit_cast(context.values.lift(obj), type)


def _filled(value: int) -> Meaning:
    def meaning(context: Context, x: Any) -> Statement:
        type = context.values.lift(x).type
        assert type is not None
        return context.values.fit(context.builder.const(value, element_of(type)), type)

    return meaning


def _random(context: Context, dtype: Any = float) -> Statement:
    type = as_type(dtype, context.options)
    if not isinstance(type, Scalar):
        raise context.error(TaichiTypeError, "`ti.random` needs a number type", "write `ti.random(ti.f32)`")
    if type.bits in (8, 16) and not type.is_float:
        return context.builder.cast(context.builder.add(Rand(type=u32)), type)
    return context.builder.add(Rand(type=type))


def _randn(context: Context, dt: Any = None) -> Statement:
    """`ti.randn`, by Box and Muller: 1 - u is never 0, so that the logarithm is finite."""
    type = as_type(float if dt is None else dt, context.options)
    if not isinstance(type, Scalar) or not type.is_float:
        raise context.error(TaichiTypeError, "`ti.randn` needs a floating-point type", "write `ti.randn(ti.f32)`")
    build = context.builder
    first = build.op("sub", build.const(1, type), build.add(Rand(type=type)))
    angle = build.op("mul", build.const(6.283185307179586, type), build.add(Rand(type=type)))
    radius = build.op("sqrt", build.op("mul", build.const(-2, type), build.op("log", first)))
    return build.op("mul", radius, build.op("cos", angle))


FUNCTIONS: dict[Any, Meaning] = {
    functions.cast: _cast,
    functions.bit_cast: _bit_cast,
    functions.zero: _filled(0),
    functions.one: _filled(1),
    functions.frexp: frexp,
    functions.random: _random,
    functions.randn: _randn,
    functions.ndrange: ndrange,
    functions.grouped: grouped,
    functions.static_assert: static_assert,
    functions.stop_grad: _stop_grad,
    functions.loop_unique: _loop_unique,
    functions.assume_in_range: _assume_in_range,
    functions.loop_config: loop_config,
    lang.Struct: make_anonymous,
    **BUILTINS,
    **matrix_constructors(),
    **thread_functions(),
    **sparse_functions(),
    **mesh_functions(),
}
"""Handlers of functions with loaded arguments."""


# --- forms ----------------------------------------------------------------------------------------------------------


def _static(context: Context, node: ast.Call) -> Any:
    if node.keywords:
        raise context.error(TaichiSyntaxError, "`ti.static` takes no keywords", "write `ti.static(value)`", node)
    outer = context.in_static, context.by_reference
    context.in_static = context.by_reference = True
    values = [context.evaluate(argument) for argument in node.args]
    context.in_static, context.by_reference = outer
    for value, argument in zip(values, node.args, strict=True):
        if isinstance(value, RangeValue) or (isinstance(value, (Statement, Lvalue)) and isinstance(value.type, Scalar)):
            raise context.error(
                TaichiTypeError,
                f"`ti.static` needs a value known at compile time, found {_describe_runtime(value)}",
                "leave out `ti.static`, or pass the value as `ti.template()`",
                argument,
            )
    return values[0] if len(values) == 1 else tuple(values)


def _describe_runtime(value: Any) -> str:
    if isinstance(value, RangeValue):
        return "a range whose bound is known only at run time"
    return f"{describe_kind(value)}, known only at run time"


def _static_print(context: Context, node: ast.Call) -> None:
    context.need_copies()
    arguments, named = _arguments(context, node)
    where = context.location()
    shown = [describe_kind(value) if is_runtime(value) else value for value in arguments]
    print(f"[{where.file}:{where.line}]", *shown, **named)


FORMS: dict[Any, Form] = {
    functions.static: _static,
    functions.static_print: _static_print,
    print: build_print,
    range: build_range,
    super: build_super,
}
"""Handlers of functions that need the syntax of the call."""
