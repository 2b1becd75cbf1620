"""Assignment: names, elements, members and swizzles, tuples of them, `=`, `: type =` and `+=`.

A name that is assigned once is bound to its value; one that changes gets a local variable (see `bindings.py`).
"""

from __future__ import annotations

import ast
from typing import Any

from ...errors import TaichiNameError, TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.statements import Array, Const, LoopIndex, StructInit
from ...ir.types import Struct as StructInKernel
from ...ir.types import Tensor, Type, describe_type, element_of, promote
from ...lang.functions import static
from ...lang.matrix import Matrix
from ...lang.struct import Struct
from ..context.context import Context, statement
from ..context.local_lists import OwnList
from ..context.per_iteration import PerIteration
from ..context.references import need_memory, need_memory_of
from ..context.scope import Local
from ..context.values import Formatted, Lvalue, MeshElement, Swizzle, describe_kind, is_number, is_runtime
from ..library.operators import BINARY, binary, warn_of_rounding, with_operands
from ..library.simt import name_shared_array
from ..library.slices import has_slice, index_statements, slice_of_lvalue
from ..library.structs import members_of
from ..source.named_numbers import number_type

ATOMIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
"""Augmented assignments to arrays that are atomic; the others load, compute and store, as in Taichi."""


def static_argument(context: Context, node: ast.expr) -> list[ast.expr] | None:
    """Return the arguments if `node` is a call of `ti.static`, else None."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    local = context.frame.find(name) if isinstance(node.func, ast.Name) else None
    if local is not None or (name != "static" and isinstance(node.func, ast.Attribute)):
        return None
    return node.args if context.evaluate(node.func) is static else None


# --- assignment -----------------------------------------------------------------------------------------------------


@statement(ast.Assign)
def build_assign(context: Context, node: ast.Assign) -> None:
    """`a = value`, `a, b = values`, `a = b = value`."""
    static_nodes = static_argument(context, node.value)
    if static_nodes is not None and isinstance(node.targets[0], (ast.Name, ast.Tuple, ast.List)):
        value = context.evaluate(node.value)
        for target in node.targets:
            if not context.frame.definition.parsed.mutable.isdisjoint(ast.walk(target)):
                need_memory(context.frame, node.value)  # the name stands for a variable, which changes by it
            assign_static(context, target, value)
        return
    if isinstance(node.value, (ast.Tuple, ast.List)):
        value = display(context, node.value)
    else:
        value = context.value(node.value)
        _check_value(context, value, node.value)
        if (value is None or isinstance(value, str)) and isinstance(node.targets[0], (ast.Subscript, ast.Attribute)):
            context.values.lift(value, node.value)
    for target in node.targets:
        assign(context, target, value)


def _check_value(context: Context, value: Any, node: ast.expr) -> None:
    """Raise for a value that no variable can hold."""
    if value is None and isinstance(node, ast.Call):
        raise context.error(TaichiTypeError, "This call returns no value", "add a `return` to the function", node)
    if isinstance(value, Formatted):
        raise context.error(
            TaichiSyntaxError,
            "An f-string with run-time values is not a value of a kernel",
            "use the f-string in `print` or `assert` only",
            node,
        )
    if isinstance(value, complex):
        context.values.lift(value, node)


def display(context: Context, node: ast.Tuple | ast.List) -> Any:
    """Evaluate a tuple or list with its items loaded, before any of them is assigned: `a, b = b, a`."""
    value = context.evaluate(node)
    return type(value)(context.loaded(item) for item in value)


def assign_static(context: Context, target: ast.expr, value: Any) -> None:
    """Bind names to compile-time values."""
    if isinstance(target, (ast.Tuple, ast.List)):
        values = unpack(context, target, value)
        for element, item in zip(target.elts, values, strict=True):
            assign_static(context, element, item)
    elif isinstance(target, ast.Name):
        local = context.frame.find(target.id)
        if local is not None and is_runtime(local.value) and (is_number(value) or isinstance(value, PerIteration)):
            assign_name(context, target.id, target, value)  # Taichi does not change the variable, and reports nothing
        else:
            context.frame.declare(target.id, value, target)
    else:
        raise context.error(
            TaichiSyntaxError, "`ti.static` values can only be bound to names", "leave out `ti.static`", target
        )


def unpack(context: Context, target: ast.Tuple | ast.List, value: Any) -> list[Any]:
    """Return one value for each element of a tuple target."""
    for element in target.elts:
        if isinstance(element, ast.Starred):
            raise context.error(
                TaichiSyntaxError, "Assignment to a starred variable is not supported", "name each variable", element
            )
    if isinstance(value, Statement) and isinstance(value.type, Tensor):
        values: list[Any] = list(context.values.elements(value))
    elif isinstance(value, Statement) and isinstance(value.type, StructInKernel):
        values = list(members_of(context, value))
    elif isinstance(value, (list, tuple, Matrix, range)):
        values = list(value)
    else:
        raise context.error(
            TaichiTypeError,
            f"Cannot unpack {describe_kind(value)} into {len(target.elts)} variables",
            "assign one variable",
            target,
        )
    if len(values) != len(target.elts):
        raise context.error(
            TaichiTypeError,
            f"Cannot unpack {len(values)} values into {len(target.elts)} variables",
            "name as many variables as there are values",
            target,
        )
    return values


def assign(context: Context, target: ast.expr, value: Any, type: Type | None = None) -> None:
    """Assign a loaded value to a name, an element, a member, or a tuple of those. type: of an annotation."""
    if isinstance(target, ast.Name):
        assign_name(context, target.id, target, value, type)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element, item in zip(target.elts, unpack(context, target, value), strict=True):
            assign(context, element, item)
    elif isinstance(target, ast.Starred):
        raise context.error(
            TaichiSyntaxError, "Assignment to a starred variable is not supported", "name each variable", target
        )
    else:
        store(context, assignment_target(context, target), value, target)


def assign_name(context: Context, name: str, node: ast.AST, value: Any, type: Type | None = None) -> None:
    """Assign a loaded value to a variable; it is declared if it is new. node: the name or pattern."""
    local = context.frame.find(name)
    if local is None:
        declare(context, name, node, value, type)
        return
    check_assignable(context, local, name, node)
    need_memory_of(context.frame, name)
    if not isinstance(local.value, Lvalue):
        _check_reference(context, name, local, node)
        if isinstance(local.value, MeshElement):
            message = f"`{name}` is an element of a mesh, and cannot become another one"
            hint = f"let `{name}` be a number, `{name} = element.id`, and write `mesh.verts[{name}]`"
            raise context.error(TaichiTypeError, message, hint, node)
        raise context.error(
            TaichiSyntaxError,
            f"`{name}` is {describe_kind(local.value)} known at compile time and cannot be assigned again",
            "choose another name",
            node,
        )
    store(context, local.value, value, node)


def _check_reference(context: Context, name: str, local: Local, node: ast.AST) -> None:
    """Raise if a name stands for a value that is no variable: an argument of `ti.template()`, an item of a list."""
    if local.node is not None and isinstance(local.value, Statement):
        message = f"`{name}` stands for the value of an expression, {describe_kind(local.value)}, which cannot change"
        raise context.error(TaichiTypeError, message, f"copy it first: `k = {name}`", node)
    if local.node is None and name in context.frame.references:
        message = (
            f"The parameter `{name}` was given {describe_kind(local.value)}, which is no variable and cannot change"
        )
        raise context.error(TaichiTypeError, message, "pass a variable, or one element of a vector or an array", node)


def check_assignable(context: Context, local: Local, name: str, node: ast.AST) -> None:
    """Raise if a variable is a loop index."""
    if local.is_loop_index:
        raise context.error(
            TaichiTypeError, f"Loop variable `{name}` cannot be assigned", f"copy it first: `k = {name}`", node
        )


def declare(context: Context, name: str, node: ast.AST, value: Any, type: Type | None = None) -> None:
    """Bind a new variable: to a value if it never changes, else to memory."""
    is_mutable = node in context.frame.definition.parsed.mutable
    user_name = None if context.frame.hides_names else name
    if type is not None:
        value = context.values.fit(value, type)
    elif is_number(value) or isinstance(value, (Matrix, Struct, PerIteration)):
        value = context.values.lift(value)
    elif isinstance(value, list) and value and not isinstance(value[0], str):
        bound = bind_items(context, value, user_name, is_mutable)
        context.frame.declare(name, bound, node)
        block = context.builder.block
        last = block.statements[-1] if block.statements else None
        context.lists[id(bound)] = OwnList(bound, name, context.location(), block, last)
        return
    elif isinstance(value, tuple) and is_mutable:
        value = bind_items(context, value, user_name, True)
    if isinstance(value, Statement):
        if isinstance(value, LoopIndex) and value.name == value.hint and user_name is not None and not is_mutable:
            _name_index(value, user_name)
        value = bind(context, value, user_name, is_mutable)
        if user_name is None and isinstance(value, Statement) and value.name is None:
            value.hint = name
    elif isinstance(value, Array) and value.is_shared:
        name_shared_array(context, value, name)
    context.frame.declare(name, value, node)


def _name_index(index: LoopIndex, name: str) -> None:
    """Name an index of a group as in `i, j = I`."""
    index.name = index.loop.names[index.axis] = name
    index.hint = None


def bind_items(context: Context, value: Any, name: str | None, is_mutable: bool) -> Any:
    """Return a list or tuple with its values named, or stored in variables."""
    context.builder.check_size(len(value))
    return type(value)(_bind_item(context, one, name and f"{name}_{k}", is_mutable) for k, one in enumerate(value))


def _bind_item(context: Context, item: Any, name: str | None, is_mutable: bool) -> Any:
    if isinstance(item, list):
        return bind_items(context, item, name, is_mutable)
    if isinstance(item, Lvalue) or (is_mutable and (is_number(item) or isinstance(item, PerIteration))):
        item = context.values.lift(item)
    return bind(context, item, name, is_mutable) if isinstance(item, Statement) else item


def bind(context: Context, value: Statement, name: str | None, is_mutable: bool) -> Statement | Lvalue:
    """Name a value, or store it in a variable of that name."""
    if is_mutable:
        assert value.type is not None
        lvalue = context.variable(name, value.type)
        context.builder.store(lvalue.pointer, value)
        return lvalue
    if value.name is None and name is not None:
        value.name = name
        if isinstance(value, StructInit) and isinstance(value.type, StructInKernel):
            for member, part in zip(value.type.names, value.values, strict=True):
                part.hint = part.hint or f"{name}_{member}"
    return value


def assignment_target(context: Context, target: ast.expr) -> Lvalue | Swizzle:
    """Return the lvalue of a subscript or attribute on the left side."""
    if not isinstance(target, (ast.Subscript, ast.Attribute)):
        raise context.error(TaichiSyntaxError, "This cannot be assigned", "assign a name or an element", target)
    if isinstance(target, ast.Attribute):
        components = swizzle_target(context, target)
        if components is not None:
            return components
        _refuse_python_member(context, target)
    elif has_slice(target.slice):
        return _slice_target(context, target)
    target_value = context.evaluate(target)
    if isinstance(target_value, Lvalue):
        return target_value
    need_memory(context.frame, target)
    raise context.error(
        TaichiTypeError,
        f"Cannot assign to {describe_kind(target_value)}",
        "keep it in a variable, a vector or an array",
        target,
    )


def _slice_target(context: Context, target: ast.Subscript) -> Swizzle:
    base = context.evaluate(target.value)
    if isinstance(base, Lvalue) and isinstance(base.type, Tensor):
        return slice_of_lvalue(context, base, target)
    need_memory(context.frame, target)
    context.evaluate(target)  # raises for arrays, which take no slices
    raise context.error(TaichiTypeError, f"Cannot assign to a slice of {describe_kind(base)}", "name elements", target)


def _refuse_python_member(context: Context, target: ast.Attribute) -> None:
    """Raise if the left side is a member of a Python object, which a kernel cannot change."""
    base = context.evaluate(target.value)
    if not isinstance(base, (Lvalue, Statement, MeshElement)):
        raise context.error(
            TaichiTypeError,
            f"Member `{target.attr}` of {describe_kind(base)} cannot be assigned in a kernel",
            "keep the value in a field",
            target,
        )


def swizzle_target(context: Context, target: ast.Attribute) -> Swizzle | None:
    """Return the components of `v.xy` on the left side, None if it is no swizzle of several components."""
    from_name = target.attr
    if len(from_name) < 2 or len(from_name) > 4 or any(letter not in "xyzwrgbastpq" for letter in from_name):
        return None
    base = context.evaluate(target.value)
    if not isinstance(base, Lvalue):
        need_memory(context.frame, target)
    if not isinstance(base, Lvalue) or not isinstance(base.type, Tensor):
        return None
    for letters in ("xyzw", "rgba", "stpq"):
        if all(letter in letters[: base.type.shape[0]] for letter in from_name):
            components = tuple(letters.index(letter) for letter in from_name)
            if len(set(components)) != len(components):
                raise context.error(
                    TaichiSyntaxError, f"`.{from_name}` names a component twice", "assign each component once", target
                )
            return Swizzle(base, tuple((component,) for component in components), (len(components),))
    return None


def store(context: Context, lvalue: Lvalue | Swizzle, value: Any, target: ast.AST) -> None:
    """Store a value, cast to the type of the target."""
    if isinstance(lvalue, Lvalue):
        warn_of_narrowing(context, "Assign", value, lvalue.type)
        context.builder.store(lvalue.pointer, _fitted(context, value, lvalue.type, target))
        return
    element = lvalue.lvalue.type.element  # type: ignore[union-attr]
    warn_of_narrowing(context, "Assign", value, element)
    value = context.values.fit(value, Tensor(lvalue.shape, element))
    for pointer, item in zip(_pointers(context, lvalue), context.values.elements(value), strict=True):
        context.builder.store(pointer, item)


def _pointers(context: Context, swizzle: Swizzle) -> list[Statement]:
    origin = swizzle.lvalue.pointer
    return [context.builder.element_ptr(origin, index_statements(context, indices)) for indices in swizzle.elements]


def _fitted(context: Context, value: Any, type: Type, target: ast.AST) -> Statement:
    """Return a value as `type`; a name keeps the shape of its first value."""
    if isinstance(target, ast.Name) and isinstance(value, Statement) and isinstance(value.type, Tensor):
        if value.type.shape != (type.shape if isinstance(type, Tensor) else ()):
            message = f"`{target.id}` holds `{describe_type(type)}` and cannot become `{describe_type(value.type)}`"
            raise context.error(TaichiTypeError, message, f"use a new name for the new shape: `{target.id}_2 = ...`")
    return context.values.fit(value, type)


def warn_of_narrowing(context: Context, what: str, value: Any, target_type: Type) -> None:
    """Warn if the conversion to `target_type` may change a stored number. what: Taichi's name of the store."""
    if isinstance(value, Statement) and value.type is target_type:
        return
    warn_of_rounding(context, value, target_type)
    if isinstance(value, Const):
        value = value.value
    held = value.type if is_runtime(value) else None
    if context.frame.is_library or isinstance(target_type, StructInKernel) or isinstance(held, StructInKernel):
        return
    type = element_of(target_type)
    if is_number(value):
        given = number_type(value, context.options)
        if type.is_float or given.is_integral or float(value).is_integer():
            return  # integers out of range wrap with a separate warning
    elif held is None:
        return
    else:
        given = element_of(held)
    if promote(type, given) != type:
        message = f"{what} may lose precision: {type} <- {given}"
        context.warn(message, f"write `ti.cast(value, ti.{type})` if that is meant")


@statement(ast.AnnAssign)
def build_annotated(context: Context, node: ast.AnnAssign) -> None:
    """`a: ti.f32 = value`: the value is cast to the type."""
    if node.value is None:
        raise context.error(TaichiSyntaxError, "A declaration needs a value", "write `a: ti.i32 = 0`", node)
    type = context.values.type(context.evaluate(_annotation(node)))
    if type is None:
        raise context.error(
            TaichiTypeError,
            "The annotation is not a type of a kernel",
            "write a type such as `ti.f32`",
            node.annotation,
        )
    assign(context, node.target, context.value(node.value), type)


def _annotation(node: ast.AnnAssign) -> ast.expr:
    """Return the annotation; a string annotation is parsed, with the location of the string."""
    annotation = node.annotation
    if not isinstance(annotation, ast.Constant) or not isinstance(annotation.value, str):
        return annotation
    try:
        parsed = ast.parse(annotation.value.strip(), mode="eval").body
    except SyntaxError:
        return annotation
    for inner in ast.walk(parsed):
        ast.copy_location(inner, annotation)
    return parsed


def build_augmented(context: Context, node: ast.AugAssign) -> None:
    """`a += value`: atomic on arrays where the operation is, plain on variables."""
    value = context.value(node.value)
    lvalue = _augmented_lvalue(context, node)
    symbol = ATOMIC.get(type(node.op))
    if isinstance(lvalue, Lvalue) and isinstance(lvalue.type, StructInKernel):
        message = f"`{lvalue.type}` is a struct; operators change numbers, vectors and matrices"
        raise context.error(TaichiTypeError, message, "change its members one by one", node)
    if isinstance(lvalue, Swizzle):
        _augment_elements(context, node, lvalue, value)
        return
    if symbol is not None and context.nesting.is_shared(lvalue):
        warn_of_narrowing(context, f"Atomic {symbol}", value, lvalue.type)
        context.builder.atomic(symbol, lvalue.pointer, context.values.fit(value, lvalue.type))
        return
    if symbol is not None:
        warn_of_narrowing(context, "Assign", value, lvalue.type)
        value = _in_type_of(context, value, lvalue.type)
    old = context.builder.load(lvalue.pointer)
    try:
        result = binary(context, BINARY[type(node.op)], old, value)
    except TaichiTypeError as error:
        raise with_operands(error, node.target, node.value) from None
    store(context, lvalue, result, node.target)


def _augment_elements(context: Context, node: ast.AugAssign, swizzle: Swizzle, value: Any) -> None:
    """Build `v.xy += value` and `m[0, :] += value`: by element, atomically if it is shared."""
    element = element_of(swizzle.lvalue.type)
    symbol = ATOMIC.get(type(node.op))
    if symbol is not None and context.nesting.is_shared(swizzle.lvalue):
        warn_of_narrowing(context, f"Atomic {symbol}", value, element)
        value = context.values.fit(value, Tensor(swizzle.shape, element))
        for pointer, item in zip(_pointers(context, swizzle), context.values.elements(value), strict=True):
            context.builder.atomic(symbol, pointer, item)
        return
    loaded = context.values.lift(swizzle.lvalue)
    items = [context.builder.element(loaded, index_statements(context, indices)) for indices in swizzle.elements]
    old = context.builder.tensor(items, swizzle.shape, element)
    store(context, swizzle, binary(context, BINARY[type(node.op)], old, value), node.target)


def _in_type_of(context: Context, value: Any, type: Type) -> Any:
    """Return an operand in the number type of the variable it changes, as an atomic operation takes it.

    So `n += 1.9` adds 1 to an integer variable whether it is shared or not, as in Taichi.
    """
    element = element_of(type)
    if isinstance(value, PerIteration) and not element.is_float:
        value = context.values.lift(value)
    if is_number(value):
        return context.values.fit(value, element) if not element.is_float and isinstance(value, float) else value
    if isinstance(value, Statement) and value.type is not None:
        return context.builder.cast(value, element, True)
    return value


def _augmented_lvalue(context: Context, node: ast.AugAssign) -> Lvalue | Swizzle:
    target = node.target
    if not isinstance(target, ast.Name):
        return assignment_target(context, target)
    local = context.frame.find(target.id)
    if local is None:
        context.name(target)  # raises if the name is undefined
        raise context.error(
            TaichiNameError,
            f'Name "{target.id}" is not a variable of this function; values from outside are constants',
            f"copy it first, or keep it in a field: `{target.id}[None]`",
            target,
        )
    check_assignable(context, local, target.id, target)
    if isinstance(local.value, Lvalue):
        return local.value
    need_memory_of(context.frame, target.id)
    _check_reference(context, target.id, local, target)
    raise context.error(
        TaichiTypeError,
        f"`{target.id}` is {describe_kind(local.value)} and cannot be changed",
        "choose an element: `a[i] += ...`",
        target,
    )
