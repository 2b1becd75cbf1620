"""Subscripts and attributes: elements of arrays and tensors, swizzles, members of Python objects.

An assignable expression is returned as an `Lvalue`, which the caller loads.
"""

from __future__ import annotations

import ast
import math
from functools import partial, reduce
from typing import Any, NoReturn

import numpy as np

from ...errors import (
    NotYetError,
    TaichiCompilationError,
    TaichiIndexError,
    TaichiNameError,
    TaichiSyntaxError,
    TaichiTypeError,
)
from ...ir.builder import AXES
from ...ir.nodes import Statement
from ...ir.origins import extent_of
from ...ir.statements import Array, ArrayShape, GlobalPtr, base_pointer
from ...ir.textures import Texture
from ...ir.types import Scalar, Struct, Tensor, describe_type, element_of, i32, scalars_of
from ...lang import struct as lang
from ...lang.describe import is_described
from ...lang.matrix import Matrix
from ...lang.meshes import is_elements
from ..context.context import Context, expression
from ..context.local_lists import item_of_list
from ..context.per_iteration import ArgumentNumber, PerIteration, are_vectors, contains_per_iteration, each
from ..context.references import need_memory
from ..context.reporter import COMPUTED_BY_PYTHON
from ..context.spelling_hints import describe_owner, missing_attribute_hint, owner_text
from ..context.values import (
    ArrayMember,
    Lvalue,
    MeshElement,
    MeshRelation,
    Method,
    describe_kind,
    holds_runtime,
    is_number,
)
from ..library.meshes import attribute_name, element_at, element_attribute, relation_item
from ..library.methods import METHOD_NAMES
from ..library.slices import check_bounds, clamped_indices, has_slice, index_statement, read_slice
from ..library.sparse import list_method
from ..library.structs import array_attribute, array_member, bound, member_lvalue, struct_attribute, struct_item
from ..library.textures import check_texture, texture_attribute
from ..source.named_numbers import extent, origin_in, plain

COMPONENTS = ("xyzw", "rgba", "stpq")
"""The sets of letters that name the elements of a vector."""

LIST_METHODS = frozenset(("append", "extend", "insert", "pop", "clear"))
"""Methods of Python lists that a kernel may call on lists of its own."""

# --- subscripts -----------------------------------------------------------------------------------------------------


@expression(ast.Subscript)
def build_subscript(context: Context, node: ast.Subscript) -> Any:
    """`a[i, j]` of an array, a tensor, or a Python object."""
    base = context.evaluate(node.value)
    array = context.arrays.find(base)
    if array is not None:
        element = _array_element(context, array, node)
        owner = array_member(context, base)
        return element if owner is None else member_lvalue(context, owner, element)
    if isinstance(base, (Lvalue, Statement)) and isinstance(base.type, Struct):
        return struct_item(context, base, base.type, context.value(node.slice))
    if isinstance(base, (Lvalue, Statement)) and not isinstance(base.type, Tensor):
        kind = describe_kind(base)
        raise context.error(TaichiTypeError, f"A scalar of type {kind} cannot be subscripted", "leave out the brackets")
    if isinstance(base, Texture):
        hint = f"write `{base.name}.load(...)`" if base.is_storage else f"write `{base.name}.fetch(..., 0)`"
        raise context.error(TaichiTypeError, f"The texture `{base.name}` cannot be subscripted", hint)
    if isinstance(base, MeshRelation):
        return relation_item(context, base, node)
    if is_elements(base):
        return element_at(context, base, node)
    if isinstance(base, Method):
        raise context.error(TaichiTypeError, f"`{base.name}` is a method", f"call it: `{base.name}()`")
    if base is None and isinstance(node.value, ast.Attribute) and node.value.attr == "grad":
        owner_name = ast.unparse(node.value.value)
        hint = f"make it with one: `{owner_name} = ti.field(..., needs_grad=True)`"
        raise context.error(TaichiTypeError, f"`{owner_name}` has no gradient", hint)
    if has_slice(node.slice) and (isinstance(base, (Lvalue, Statement))):
        return read_slice(context, base, node)
    index = context.value(node.slice)
    if not isinstance(base, (Lvalue, Statement)) and contains_per_iteration(base, index) is not None:
        if not isinstance(base, (list, tuple)) or isinstance(index, PerIteration):
            return item_of_list(context, base, index, node)
    if isinstance(base, Matrix) and holds_runtime(index):
        base = context.values.lift(base)
    if isinstance(base, (Lvalue, Statement)):
        return _tensor_element(context, base, index, node)
    if holds_runtime(index) and isinstance(base, (list, tuple, dict, str)):
        raise context.error(
            TaichiTypeError,
            f"A Python {type(base).__name__} is indexed at compile time, but this index is known only at run time",
            "use `ti.Vector([...])`, or a loop over `ti.static(range(...))`",
            node,
        )
    if isinstance(base, np.ndarray) and holds_runtime(index):
        raise context.error(
            TaichiTypeError,
            "A NumPy array from outside the kernel is read at compile time, but this index is known only at run time",
            "pass the array as an argument: `a: ti.types.ndarray()`",
        )
    if isinstance(base, list) and isinstance(index, int):
        _check_item(context, base, index, node)
    return _named_item(context, node, base, index, context.python(lambda: base[index]))


def _check_item(context: Context, base: list[Any], index: int, node: ast.Subscript) -> None:
    """Raise if a list has no such item: in a kernel it may be shorter than the same lines make it in Python."""
    if -len(base) <= index < len(base):
        return
    count = f"{len(base)} item{'' if len(base) == 1 else 's'}"
    message = f"The list `{owner_text(node.value)}` has {count} while the kernel is compiled; index {index} is outside"
    is_own = isinstance(node.value, ast.Name) and context.frame.find(node.value.id) is not None
    hint = "a loop appends once, when it is compiled; one over `ti.static(range(...))` in each iteration"
    hint = hint if is_own else f"indices run from 0 to {len(base) - 1}"
    raise context.error(TaichiIndexError, message, hint)


def _named_item(context: Context, node: ast.Subscript, base: Any, index: Any, value: Any) -> Any:
    """Return an item of a list, dict or NumPy array from outside; numbers and arrays are named after both."""
    if (not is_number(value) or origin_in(value) is not None) and not is_described(value):
        return value
    owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
    is_own = isinstance(node.value, ast.Name) and context.frame.find(owner) is not None
    indices = [plain(item) for item in (index if isinstance(index, tuple) else (index,))]
    if isinstance(base, Matrix) and len(indices) == 1 and indices[0] in range(len(AXES)):
        letter = AXES[indices[0]]
        return context.named(value, f"{owner}_{letter}", f"{ast.unparse(node.value)}.{letter}")
    items = list(map(str, indices))
    if not owner or is_own or not all(item.isidentifier() or item.isdecimal() for item in items):
        return value
    if not is_number(value):
        context.dependencies.items.setdefault(id(value), "_".join([owner, *items]))
        return value
    note = f"{ast.unparse(node.value)}[{', '.join(map(repr, indices))}]"
    return context.named(value, "_".join([owner, *items]), note)


def _array_element(context: Context, array: Array, node: ast.Subscript) -> Lvalue:
    if has_slice(node.slice):
        raise context.error(
            TaichiSyntaxError,
            f"`{array.name}` is indexed element by element; slices are not supported",
            "read one element at a time, in a loop",
            node.slice,
        )
    index = context.value(node.slice)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    given = index if isinstance(index, tuple) else (index,)
    if len(given) == array.ndim == len(parts) and all(map(_is_scalar, given)):  # most are
        indices = [index_statement(context, item, at) for item, at in zip(given, parts)]
        return Lvalue(context.builder.add(GlobalPtr(array, indices, type=array.element)))
    items = [] if index is None else list(index) if isinstance(index, (list, tuple)) else [index]
    flat = [scalar for item in items for scalar in _index_scalars(context, item, node)]
    if len(flat) != array.ndim:
        what = "Shared array" if array.is_shared else "Field" if array.parameter is None else "Ndarray"
        raise context.error(
            TaichiIndexError,
            f"{what} with dim {array.ndim} accessed with indices of dim {len(flat)}",
            f"`{array.name}` takes {array.ndim} ind{'ex' if array.ndim == 1 else 'ices'}"
            + ("; write `[None]`" if array.ndim == 0 else ""),
            node,
        )
    for axis, item in enumerate(() if array.clamped else flat):
        if isinstance(item, Statement):
            continue
        extent = array.shape[axis] if array.shape is not None else None
        begin = array.offset[axis] if array.offset else 0
        size = f"{array.name}.shape[{axis}]"
        check_bounds(context, item, extent, node, f"axis {axis} of `{array.name}`", size, begin)
    nodes = parts if len(parts) == len(flat) else [node] * len(flat)
    indices = [index_statement(context, item, at) for item, at in zip(flat, nodes, strict=True)]
    return Lvalue(context.builder.add(GlobalPtr(array, indices, type=array.element)))


def _is_scalar(index: Any) -> bool:
    """Return whether an index is one number known at run time."""
    return isinstance(index, Statement) and index.type.__class__ is Scalar


def _index_scalars(context: Context, item: Any, node: ast.Subscript) -> list[Any]:
    """Return an index as scalars; a vector is several of them."""
    item = context.loaded(item)
    if isinstance(item, Statement) and isinstance(item.type, Tensor):
        return list(context.values.elements(item))
    if isinstance(item, (Matrix, list, tuple)):
        return [context.loaded(inner) for inner in item]
    if item is Ellipsis:
        raise context.error(TaichiTypeError, "`...` is not an index", "write one index for each axis", node.slice)
    return [item]


def _tensor_element(context: Context, base: Lvalue | Statement, index: Any, node: ast.Subscript) -> Any:
    type = base.type
    assert isinstance(type, Tensor)
    items = list(index) if isinstance(index, (list, tuple)) else _index_scalars(context, index, node)
    if len(items) != len(type.shape):
        kind, count = ("vector", 1) if len(type.shape) == 1 else ("matrix", 2)
        raise context.error(
            TaichiIndexError,
            f"A {kind} takes {count} ind{'ex' if count == 1 else 'ices'}, found {len(items)}",
            "write `v[i]` or `m[i, j]`",
            node,
        )
    for axis, item in enumerate(items):
        extent = type.shape[axis]
        if isinstance(item, ArgumentNumber):
            item.needs_one()  # an element of a vector in registers has a constant index
        check_bounds(context, item, extent, node, f"axis {axis} of `{describe_type(type)}`", str(extent))
    if isinstance(base, Lvalue) and (numbers := contains_per_iteration(*items)) is not None:
        origin = base_pointer(base.pointer)
        if isinstance(origin, GlobalPtr) and origin.array.parts:
            numbers.needs_one()  # each element is an array of its own
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    nodes = parts if len(parts) == len(items) else [node.slice] * len(items)
    indices = [index_statement(context, item, at) for item, at in zip(items, nodes, strict=True)]
    return tensor_element(context, base, indices)


def tensor_element(context: Context, base: Lvalue | Statement, indices: list[Statement]) -> Any:
    """Return one element: an lvalue of an lvalue, a value of a value."""
    if isinstance(base, Lvalue):
        indices = clamped_indices(context, base, indices)
        return Lvalue(context.builder.element_ptr(base.pointer, indices))
    return context.builder.element(base, indices)


# --- attributes -----------------------------------------------------------------------------------------------------


@expression(ast.Attribute)
def build_attribute(context: Context, node: ast.Attribute) -> Any:
    """`a.shape`, `v.x`, `v.xyz`, `self.n`, `ti.sin`."""
    method = list_method(context, node)
    if method is not None:
        return method
    base = context.evaluate(node.value)
    if isinstance(base, PerIteration):
        return _attribute_of_each(base, node.attr)
    if isinstance(base, (Lvalue, Statement)):
        return _value_attribute(context, base, node)
    if isinstance(base, Texture):
        return texture_attribute(context, base, node)
    if isinstance(base, (MeshElement, MeshRelation)):
        return element_attribute(context, base, node)
    array = context.arrays.find(base)
    if array is not None:
        owner = array_member(context, base) or ArrayMember(array, ())
        attribute = _array_attribute(context, owner, node.attr)
        if attribute is not None:
            return attribute
        if node.attr == "fill":
            return Method(owner, "fill")
        if node.attr.startswith(("to_", "from_", "copy_")) and hasattr(base, node.attr):  # would run once, now
            message = f"`{array.name}.{node.attr}()` can be called in Python scope only"
            raise context.error(TaichiSyntaxError, message, "call it outside the kernel")
        if base is array or isinstance(base, ArrayMember):
            _no_attribute(context, f"the array `{owner.name}`", node, _known_of_array(owner))
    if isinstance(base, lang.Struct) and node.attr not in base.keys and node.attr in base.methods:
        return bound(base.methods[node.attr], base)
    if isinstance(base, lang.StructType) and node.attr in ("cast", "filled_with_scalar"):
        return Method(base, node.attr)
    if isinstance(base, Matrix) and node.attr in METHOD_NAMES:
        return Method(base, node.attr)
    if isinstance(base, list) and node.attr in LIST_METHODS:
        _check_own_list(context, node)
        return Method(base, node.attr)
    check_texture(context, base, node)
    try:
        value = getattr(base, node.attr)
    except NotYetError as error:
        raise context.error(TaichiSyntaxError, error.message, error.hint) from None
    except AttributeError:
        message = owner_text(node.value)
        kind = describe_owner(base, describe_kind(base), message) if array is None else describe_kind(array)
        _no_attribute(context, kind, node, dir(base))
    except Exception as error:
        raise context.error(TaichiCompilationError, f"{type(error).__name__}: {error}", COMPUTED_BY_PYTHON) from None
    is_constant = is_number(value) or isinstance(value, (Matrix, lang.Struct))
    name = node.attr if array is None else f"{array.name}_{node.attr}"  # x_grad
    name = attribute_name(base, name)
    context.record_dependency(
        value, ast.unparse(node) if is_constant else node.attr, name, partial(getattr, base, node.attr)
    )
    if context.dependencies.is_owner(base):
        context.dependencies.record_specific(value, ast.unparse(node))
    if not is_constant:
        return value
    name = f"{ast.unparse(node.value)}_{node.attr}" if isinstance(base, Matrix) else node.attr
    return context.named(value, name, ast.unparse(node))


def _attribute_of_each(base: PerIteration, name: str) -> Any:
    """Return an element or a method of vectors known at compile time that differ between iterations."""
    if not all(isinstance(item, Matrix) for item in base.present):
        base.needs_one()
    if name in METHOD_NAMES:
        return Method(base, name)
    if len(name) != 1:
        base.needs_one()
    component: PerIteration = each("", lambda item: getattr(item, name), base)
    letters = next((letters for letters in COMPONENTS if name in letters), "")
    if letters and are_vectors(base):
        component.form = ("component", base, letters.index(name))
    return component


def _check_own_list(context: Context, node: ast.Attribute) -> None:
    """Raise if a list from outside the kernel is changed: it would change once, at compile time, not in each launch.

    `ti.static(rows.append(...))` is allowed.
    """
    if context.in_static:
        return
    if not isinstance(node.value, ast.Name) or context.frame.find(node.value.id) is None:
        message = f"`{owner_text(node.value)}` is a list from outside the kernel, which a kernel cannot change"
        hint = "keep the numbers in a field: `x = ti.field(ti.i32, shape=100)`, or change the list in Python"
        raise context.error(TaichiTypeError, message, hint)


def _no_attribute(context: Context, owner: str, node: ast.Attribute, known: list[str]) -> NoReturn:
    hint = missing_attribute_hint(owner_text(node.value), node.attr, known)
    raise context.error(TaichiNameError, f"{owner} has no attribute `{node.attr}`", hint)


def _known_of_array(owner: ArrayMember) -> list[str]:
    members = owner.type.names if isinstance(owner.type, Struct) else ()
    return [*members, "shape", "ndim", "size", "dtype", "n", "m", "element_shape"]


def _array_attribute(context: Context, owner: ArrayMember, name: str) -> Any:
    array = owner.array
    if name == "grad" and array.parameter is not None and not owner.path:
        return context.arrays.gradient(array)
    attribute = array_attribute(context, owner, name)
    if attribute is not None:
        return attribute
    if name == "shape":
        if array.shape is not None:
            return tuple(extent(n, extent_of(array, axis)) for axis, n in enumerate(array.shape))
        return tuple(context.builder.add(ArrayShape(array, axis, type=i32)) for axis in range(array.ndim))
    if name == "size":
        return _number_of_elements(context, array)
    if name == "ndim":
        return len(owner.type.shape) if isinstance(owner.type, Tensor) else array.ndim
    if name == "element_shape":
        extents = list(array.element.shape) if isinstance(array.element, Tensor) else []
        return lambda: extents  # a method in Taichi, too: known at compile time
    if name == "dtype":
        return next(scalars_of(owner.type), None)
    if name in ("n", "m") and isinstance(owner.type, Tensor):
        shape = owner.type.shape
        return shape[0] if name == "n" else shape[1] if len(shape) == 2 else 1
    return None


def _number_of_elements(context: Context, array: Any) -> Any:
    """Return `x.size`: the product of the extents."""
    if array.shape is not None:
        return math.prod(array.shape)
    extents: list[Statement] = [context.builder.add(ArrayShape(array, axis, type=i32)) for axis in range(array.ndim)]
    return reduce(lambda product, extent: context.builder.op("mul", product, extent), extents)


def _value_attribute(context: Context, base: Lvalue | Statement, node: ast.Attribute) -> Any:
    type, name = base.type, node.attr
    if isinstance(type, Struct):
        return struct_attribute(context, base, type, name)
    if isinstance(type, Tensor):
        if name in ("n", "m"):
            return type.shape[0] if name == "n" else type.shape[1] if len(type.shape) == 2 else 1
        if name == "shape":
            return type.shape
        components = _components(context, type, name)
        if components is not None:
            return _swizzle(context, base, components)
    if name == "dtype":
        assert type is not None
        return element_of(type)
    if name == "fill" and not isinstance(base, Lvalue):
        need_memory(context.frame, node.value)
    if name in METHOD_NAMES:
        return Method(base, name)
    _no_attribute(
        context,
        f"a value of type `{describe_type(type)}`",
        node,
        [*sorted(METHOD_NAMES), "shape", "n", "m"] if isinstance(type, Tensor) else [],
    )


def _components(context: Context, type: Tensor, name: str) -> tuple[int, ...] | None:
    """Return the element numbers of a swizzle, None if the name is none. Raises for letters that the vector lacks."""
    if len(name) > 4 or not all(letter in "xyzwrgbastpq" for letter in name):
        return None
    for letters in COMPONENTS:
        if all(letter in letters for letter in name):
            if len(type.shape) != 1:
                raise context.error(
                    TaichiTypeError,
                    f"`.{name}` names elements of a vector, found `{describe_type(type)}`",
                    "use `m[i, j]`",
                )
            if any(letters.index(letter) >= type.shape[0] for letter in name):
                legal = letters[: type.shape[0]]
                raise context.error(
                    TaichiNameError,
                    f"vec{type.shape[0]} only has attributes={tuple(legal)}, got={tuple(name)}",
                    f"choose from `{legal}`",
                )
            return tuple(letters.index(letter) for letter in name)
    if name in METHOD_NAMES:
        return None
    raise context.error(
        TaichiSyntaxError, f"`.{name}` mixes sets of components", "use letters of one set: `xyzw`, `rgba` or `stpq`"
    )


def _swizzle(context: Context, base: Lvalue | Statement, components: tuple[int, ...]) -> Any:
    if len(components) == 1:
        return tensor_element(context, base, [context.builder.const(components[0])])
    value = context.values.lift(base)
    assert isinstance(value.type, Tensor)
    items = [context.builder.element(value, [context.builder.const(k)]) for k in components]
    return context.builder.tensor(items, (len(items),), value.type.element)
