"""Structs in kernels: construction, members, methods, and members of arrays of structs.

A member of an lvalue is an lvalue, so that `f[i].pos.x += 1` needs only a pointer.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from ...errors import TaichiCompilationError, TaichiNameError, TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.statements import GlobalPtr
from ...ir.types import Struct, Tensor, Type, describe_type
from ...lang import struct as lang
from ...lang.decorators import BoundFunc, Func
from ...lang.describe import Step, steps_of
from ..context.context import Context
from ..context.values import ArrayMember, Lvalue, Method, describe_kind, is_number

# --- values ---------------------------------------------------------------------------------------------------------


def make_struct(context: Context, type: Struct, arguments: Sequence[Any], named: dict[str, Any]) -> Statement:
    """Return `Ray(origin, direction=d)`: a struct of the values given, 0 in the other members."""
    if len(arguments) == 1 and not named and isinstance(arguments[0], dict):
        named, arguments = arguments[0], ()
    if len(arguments) > len(type.members):
        message = f"`{type}` has {len(type.members)} members, found {len(arguments)} values"
        raise context.error(TaichiSyntaxError, message, f"call it as {_shown_call(type)}")
    given = dict(zip(type.names, arguments, strict=False))
    for name, value in named.items():
        if name not in type.names:
            raise no_member(context, type, name)
        if name in given:
            raise context.error(TaichiSyntaxError, f"Multiple values for member `{name}` of `{type}`", "give it once")
        given[name] = value
    values = [
        _fitted(context, given[name], kind) if name in given else context.builder.zero(kind)
        for name, kind in type.members
    ]
    return context.builder.struct(values, type)


def _fitted(context: Context, value: Any, kind: Type) -> Statement:
    if isinstance(value, dict) and isinstance(kind, Struct):
        return make_struct(context, kind, (), value)
    return context.values.fit(value, kind)


def make_anonymous(context: Context, *arguments: Any, **named: Any) -> Any:
    """Return `ti.Struct(a=1, b=x)` or `ti.Struct({...})`; members have the types of their values."""
    if arguments:
        if len(arguments) != 1 or named or not isinstance(arguments[0], dict):
            raise context.error(
                TaichiSyntaxError,
                "Custom structs need to be initialized using either dictionary or keyword arguments",
                "write `ti.Struct(a=1, b=2.0)`",
            )
        named = dict(arguments[0])
    methods = named.pop(lang.METHODS, {})
    values = {
        name: make_anonymous(context, v) if isinstance(v, dict) else context.values.lift(v) for name, v in named.items()
    }
    origin = lang.StructType({}, methods) if methods else None
    members = tuple((name, value.type) for name, value in values.items() if value.type is not None)
    type = context.structs.struct(Struct("", members, origin))
    return context.builder.struct(list(values.values()), type)


def filled(context: Context, type: Type, value: Any) -> Statement:
    """Return `S.filled_with_scalar(value)`: every number of the struct is `value`."""
    if isinstance(type, Struct):
        return context.builder.struct([filled(context, member, value) for _, member in type.members], type)
    return context.values.fit(value, type)


def _shown_call(type: Struct) -> str:
    return f"`{type}({', '.join(type.names)})`"


def no_member(context: Context, type: Struct, name: str) -> TaichiCompilationError:
    """Return the error for a name that is no member."""
    known = [*type.names, *context.structs.methods(type)]
    close = get_close_matches(name, known, 1)
    hint = f"did you mean `{close[0]}`?" if close else f"it has {', '.join(f'`{n}`' for n in known) or 'no members'}"
    return context.error(TaichiNameError, f"the struct `{type}` has no member `{name}`", hint)


# --- members --------------------------------------------------------------------------------------------------------


def member(context: Context, base: Lvalue | Statement, name: str) -> Any:
    """Return a member of a struct: an lvalue of an lvalue, a value of a value."""
    if isinstance(base, Lvalue):
        return Lvalue(context.builder.member_ptr(base.pointer, name))
    return context.builder.member(base, name)


def struct_attribute(context: Context, base: Lvalue | Statement, type: Struct, name: str) -> Any:
    """Return a member, a method, or an attribute of all structs: `keys`, `items`, `entries`, `to_dict`."""
    if name in type.names:
        return member(context, base, name)
    method = context.structs.methods(type).get(name)
    if method is not None:
        return bound(method, base)
    if name == "keys":
        return list(type.names)
    if name in ("items", "entries"):
        members = {n: member(context, base, n) for n in type.names}
        return list(members.items()) if name == "items" else members
    if name == "methods":
        return dict(context.structs.methods(type))
    if name == "to_dict":
        return Method(base, name)
    raise no_member(context, type, name)


def bound(method: Any, instance: Any) -> Any:
    """Return a method bound to a struct value; functions without `@ti.func` are inlined, too."""
    if isinstance(method, staticmethod):
        return Func(method.__func__)
    return BoundFunc(method if isinstance(method, Func) else Func(method), instance)


def call_struct_method(context: Context, method: Method, arguments: list[Any]) -> Any:
    """Call a method of a struct (`to_dict`), of its type (`cast`, `filled_with_scalar`) or of an array of them."""
    owner, name = method.owner, method.name
    count = 0 if name == "to_dict" else 1
    if len(arguments) != count:
        message = f"`{name}` takes {count} argument{'s' if count != 1 else ''}, found {len(arguments)}"
        raise context.error(TaichiTypeError, message, "check the arguments")
    if name == "to_dict":
        return to_dict(context, owner)
    if isinstance(owner, ArrayMember):
        return _member_field(context, owner, str(arguments[0]))
    type = context.values.type(owner)
    assert type is not None
    return (
        filled(context, type, arguments[0]) if name == "filled_with_scalar" else context.values.fit(arguments[0], type)
    )


def _member_field(context: Context, owner: ArrayMember, name: str) -> ArrayMember:
    """Return `s.get_member_field(name)`."""
    assert isinstance(owner.type, Struct)
    if name not in owner.type.names:
        raise no_member(context, owner.type, name)
    return part_of_array(owner, name)


def scalar_field(context: Context, owner: ArrayMember, indices: list[Any]) -> ArrayMember:
    """Return `v.get_scalar_field(0)`, one component of all elements."""
    type = owner.type
    assert isinstance(type, Tensor)
    step = tuple(indices[: len(type.shape)])
    if step not in steps_of(type):
        shown = ", ".join(str(index) if is_number(index) else describe_kind(index) for index in indices)
        message = f"`{owner.name}` has elements of type `{describe_type(type)}` and no component ({shown})"
        raise context.error(TaichiTypeError, message, "name one by integers known at compile time")
    return part_of_array(owner, step)


def to_dict(context: Context, value: Any) -> dict[str, Any]:
    """Return `s.to_dict()`, a Python dict of the members."""
    lifted = context.values.lift(value)
    assert isinstance(lifted.type, Struct)
    return {
        name: to_dict(context, part) if isinstance(part.type, Struct) else part
        for name in lifted.type.names
        for part in (context.builder.member(lifted, name),)
    }


def struct_item(context: Context, base: Lvalue | Statement, type: Struct, key: Any) -> Any:
    """Return `s["a"]`, or by number as `ti.frexp(x)[0]`."""
    if isinstance(key, int) and 0 <= key < len(type.members):
        key = type.names[key]
    if not isinstance(key, str):
        message = f"A struct is subscripted by the name of a member, found {describe_kind(key)}"
        raise context.error(TaichiTypeError, message, f'write `s["{type.names[0]}"]`' if type.members else "name one")
    if key not in type.names:
        raise no_member(context, type, key)
    return member(context, base, key)


def members_of(context: Context, value: Statement) -> list[Statement]:
    """Return the members of a struct value in order."""
    assert isinstance(value.type, Struct)
    return [context.builder.member(value, name) for name in value.type.names]


def join_structs(context: Context, types: Sequence[Type]) -> Struct:
    """Return the struct that values of several branches share.

    Raises: TaichiTypeError if one is no struct or has different members.
    """
    first = types[0]
    for type in types:
        if not isinstance(first, Struct) or not isinstance(type, Struct) or sorted(type.names) != sorted(first.names):
            type_names = " and ".join(f"`{t}`" for t in dict.fromkeys(types))
            message = f"Branches need values of one struct, found {type_names}"
            raise context.error(TaichiTypeError, message, "give both branches the same members")
    assert isinstance(first, Struct)
    return first


# --- arrays ---------------------------------------------------------------------------------------------------------


def array_member(context: Context, value: Any) -> ArrayMember | None:
    """Return the array member that `value` denotes: `f.pos`, in or outside the kernel; else None."""
    if context.arrays.is_known(value):
        return None
    if isinstance(value, ArrayMember):
        return value
    if isinstance(value, (Statement, Lvalue, list, tuple, int, float, str, type)) or value is None:
        return None
    description = context.arrays.describe(value)
    if description is None or not description.path:
        return None
    array = context.arrays.find(description.owner)
    assert array is not None
    return ArrayMember(array, tuple(description.path))


def array_attribute(context: Context, owner: ArrayMember, name: str) -> Any:
    """Return the attribute `name` of an array or array member, None if it has none."""
    type = owner.type
    if name in ("grad", "dual") and (owner.path or owner.array.path):
        return _derivative(context, owner, name)
    if isinstance(type, Tensor) and name == "get_scalar_field":
        return Method(owner, name)
    if not isinstance(type, Struct):
        return None
    if name in type.names:
        return part_of_array(owner, name)
    if name == "keys":
        return list(type.names)
    if name == "get_member_field":
        return Method(owner, name)
    return None


def part_of_array(owner: ArrayMember, step: Step) -> ArrayMember:
    """Return a member of the elements of `owner`; in a split field this is a separate array."""
    if owner.array.parts:
        return ArrayMember(owner.array.parts[steps_of(owner.type).index(step)], ())
    return ArrayMember(owner.array, (*owner.path, step))


def _derivative(context: Context, owner: ArrayMember, name: str) -> ArrayMember | None:
    """Return the member of the gradient or dual that corresponds to the array member `owner`."""
    other = getattr(context.arrays.objects[owner.array], name, None)
    if other is None:
        return None
    context.record_dependency(other, name, f"{owner.array.name}_{name}", lambda: other)
    array = context.arrays.find(other)
    return None if array is None else ArrayMember(array, owner.path)


def member_lvalue(context: Context, owner: ArrayMember, element: Lvalue) -> Lvalue:
    """Return the lvalue of a member of an element of the array."""
    build = context.builder
    for step in owner.path:
        if isinstance(step, str):
            element = member(context, element, step)
        else:
            element = Lvalue(build.element_ptr(element.pointer, [build.const(index) for index in step]))
    return element


def element_lvalue(context: Context, owner: ArrayMember, indices: list[Statement]) -> Lvalue:
    """Return the lvalue of a member of the element at `indices`."""
    pointer = context.builder.add(GlobalPtr(owner.array, indices, type=owner.array.element))
    return member_lvalue(context, owner, Lvalue(pointer))
