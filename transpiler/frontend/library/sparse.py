"""`ti.activate`, `ti.deactivate`, `ti.is_active`, `ti.append`, `ti.length`, `ti.rescale_index` in a kernel.

Input: nodes (`x.parent()`, Python variables) and indices. Output: statements of `ir.sparse`. `Append` returns the
position at which ordinary stores write the contents of the item.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ...errors import TaichiIndexError, TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Block, Statement
from ...ir.snodes import Node, axes_of, index_components_of, shape_of, sparse_above, start_offset
from ...ir.sparse import Activate, Append, Deactivate, IsActive, Length, node_name
from ...ir.sparse_storage import number_type
from ...ir.statements import GlobalPtr
from ...ir.types import Struct, Tensor, Type, count_scalars, element_of, i32, u1, u64
from ...lang import sparse
from ...lang.describe import NodeDescription, is_described, safe_attribute
from ...lang.matrix import Matrix
from ..context.context import Context
from ..context.values import Method, describe_kind, is_number, is_runtime
from .slices import check_bounds, index_statement

Meaning = Callable[..., Any]

LIST_METHODS = frozenset({"append", "deactivate", "length"})
"""Methods of a list, which is denoted by the field with the indices of the list: `x[i].append(value)`."""


def sparse_functions() -> dict[Any, Meaning]:
    """Return the handlers of the functions of `lang.sparse`, with loaded arguments."""
    return {
        sparse.activate: _activate,
        sparse.deactivate: _deactivate,
        sparse.is_active: _is_active,
        sparse.length: _length,
        sparse.append: _append,
        sparse.no_activate: _no_activate,
        sparse.rescale_index: _rescale_index,
        sparse.get_addr: _get_addr,
    }


def _get_addr(context: Context, f: Any, indices: Any) -> Statement:
    """`ti.get_addr`: the bytes from the beginning of the tree's memory to a cell. Only differences are portable."""
    description = describe_node(context, f)
    if description is None or sparse_above(description.node):
        found = describe_kind(f) if description is None else "a node below a sparse one"
        raise context.error(
            TaichiTypeError,
            f"`ti.get_addr` takes a node of a dense tree, found {found}",
            "write `ti.get_addr(x.snode, i)`",
        )
    build = context.builder
    given = [build.cast(index, u64) for index in _indices(context, description.node, indices)]
    address: Statement = build.const(start_offset(description.node), u64)
    for component in index_components_of(description.node):
        position = build.op("floordiv", given[component.dimension], build.const(component.weight, u64))
        position = build.op("mod", position, build.const(component.extent, u64))
        address = build.op("add", address, build.op("mul", position, build.const(component.stride_bytes, u64)))
    return address


def _activate(context: Context, node: Any, indices: Any) -> None:
    described = _node(context, node, "activate").node
    if described.kind == "dynamic":
        raise context.error(
            TaichiTypeError,
            "`ti.activate` takes a cell of a pointer or bitmasked node, found a dynamic node",
            "write `ti.append(node, indices, value)`",
        )
    given = _indices(context, described, indices)
    if described.is_sparse:
        context.builder.add(Activate(described, given, type=number_type(described)))


def _deactivate(context: Context, node: Any, indices: Any) -> None:
    described = _node(context, node, "deactivate").node
    of_list = described.kind == "dynamic"
    given = _indices(context, described.parent if of_list else described, indices)
    if described.is_sparse:
        context.builder.add(Deactivate(described, given, type=u1 if described.kind == "bitmasked" else None))


def _is_active(context: Context, node: Any, indices: Any) -> Statement:
    described = _node(context, node, "is_active").node
    if described.kind not in ("pointer", "bitmasked"):
        raise context.error(
            TaichiTypeError,
            f"ti.is_active only works on pointer, hash or bitmasked nodes, found a {described.kind} node",
            "query the pointer or bitmasked node above: `x.parent(2)`"
            if described.kind == "dense"
            else "use `ti.length`",
        )
    statement = context.builder.add(IsActive(described, _indices(context, described, indices), type=u1))
    return context.builder.cast(statement, i32)


def _length(context: Context, node: Any, indices: Any) -> Statement:
    described = _dynamic(context, node, "length").node
    return context.builder.add(Length(described, _indices(context, described.parent, indices), type=i32))


def _append(context: Context, node: Any, indices: Any, val: Any) -> Statement:
    description = _dynamic(context, node, "append")
    target = description.node
    given = _indices(context, target.parent, indices)
    values = _values(context, description, val)
    item = context.builder.add(Append(target, given, type=i32))
    stored = Block()
    with context.builder.into(stored):
        at = _indices_of_item(context, target, given, item)
        for field, value in zip(description.fields, values, strict=True):
            array = context.arrays.find(field)
            assert array is not None  # a field, as `_values` has checked
            own = [
                _moved(context, index, begin) for index, begin in zip(at, array.offset or [0] * len(at), strict=True)
            ]
            context.builder.store(context.builder.add(GlobalPtr(array, own, type=array.element)), value)
    context.add_if(context.builder.op("ge", item, context.builder.const(0)), stored)
    return item


def _moved(context: Context, index: Statement, begin: int) -> Statement:
    return context.builder.op("add", index, context.builder.const(begin)) if begin else index


def _indices_of_item(context: Context, node: Node, given: list[Statement], item: Statement) -> list[Statement]:
    """Return the indices of an item of a list in the fields of the list."""
    above = dict(zip(axes_of(node.parent) if node.parent is not None else [], given, strict=True))
    (own,) = node.axes
    if own in above:
        begin = context.builder.op("mul", above[own], context.builder.const(node.extents[0]))
        item = context.builder.op("add", begin, item)
    above[own] = item
    return [above[axis] for axis in sorted(above)]


def _values(context: Context, description: NodeDescription, val: Any) -> list[Statement]:
    """Return the value to store in each field of a list, cast to its type."""
    node = description.node
    if any(child.kind != "place" for child in node.children):
        raise context.error(
            TaichiTypeError, "`ti.append` needs fields placed in the dynamic node itself", "write `x[i, k] = value`"
        )
    if any(field is None for field in description.fields):
        raise context.error(
            TaichiTypeError,
            "a field of the list that `ti.append` stores to no longer exists",
            "keep a reference to it as long as to the node",
        )
    derivatives = {id(getattr(field, member, None)) for field in description.fields for member in ("grad", "dual")}
    is_derivative = [id(field) in derivatives for field in description.fields]
    elements = [context.structs.named(child.element) for child in node.children if child.element is not None]
    types = [type for type, is_other in zip(elements, is_derivative, strict=True) if not is_other]
    values = iter(_values_of(context, val, types))
    zero = context.builder.const(0)
    return [
        context.values.fit(zero, type) if is_other else next(values)
        for type, is_other in zip(elements, is_derivative, strict=True)
    ]


def _values_of(context: Context, val: Any, types: list[Type]) -> list[Statement]:
    """Return the values that a call gives for fields of these types."""
    if len(types) == 1:
        return [context.values.fit(val, types[0])]
    parts = list(val) if isinstance(val, (list, tuple)) else [val]
    if len(parts) != len(types) and all(count_scalars(type) == 1 for type in types):
        lifted = context.values.lift(val)
        if isinstance(lifted.type, Tensor):
            parts = context.values.elements(lifted)
        elif isinstance(lifted.type, Struct):
            parts = [context.builder.member(lifted, name) for name in lifted.type.names]
    if len(parts) != len(types):
        raise context.error(
            TaichiTypeError,
            f"`ti.append` takes a value for each of the {len(types)} fields of the list, found {len(parts)}",
            "give them as a list: `ti.append(node, i, [a, b])`",
        )
    return [context.values.fit(part, type) for part, type in zip(parts, types, strict=True)]


def _no_activate(context: Context, *fields: Any) -> None:
    """Has no effect: cells that are known to be active are never activated again."""


def _rescale_index(context: Context, a: Any, b: Any, I: Any) -> Statement:  # noqa: E741
    here, there = _shape(context, a), _shape(context, b)
    items = list(I) if isinstance(I, (list, tuple)) else None
    if items is None:
        lifted = context.values.lift(I)
        if not isinstance(lifted.type, Tensor) or element_of(lifted.type).is_float:
            raise context.error(
                TaichiTypeError,
                f"`ti.rescale_index` takes a vector of indices, found {describe_kind(I)}",
                "write `[i, j]`",
            )
        items = context.values.elements(lifted)
    build = context.builder
    indices: list[Any] = [index_statement(context, item) for item in items]
    moved = sparse.rescaled(
        indices,
        here,
        there,
        divide=lambda index, factor: build.op("floordiv", index, build.const(factor)),
        multiply=lambda index, factor: build.op("mul", index, build.const(factor)),
    )
    return build.tensor(moved, (len(moved),), i32)


def _shape(context: Context, what: Any) -> tuple[int, ...]:
    shape = safe_attribute(what, "shape", object, None)
    if not isinstance(shape, tuple) or not all(is_number(extent) for extent in shape):
        raise context.error(
            TaichiTypeError, f"`ti.rescale_index` takes fields and nodes, found {describe_kind(what)}", "name a field"
        )
    return shape


# --- nodes and indices ------------------------------------------------------------------------------------------------


def describe_node(context: Context, value: Any) -> NodeDescription | None:
    """Return the node of a Python object, with its tree in the kernel; None for other objects."""
    describe = getattr(type(value), "describe_cells", None)
    description: NodeDescription | None = context.python(describe, value) if describe is not None else None
    if description is not None:
        context.arrays.enter_tree(description.node, description.tree)
    return description


def _node(context: Context, value: Any, name: str) -> NodeDescription:
    """Return the node of an argument. Raises: TaichiTypeError for other objects and for the place node of a field."""
    description = describe_node(context, value)
    if description is None or description.node.kind == "place":
        is_field = description is not None or is_described(value)
        what = "a field" if is_field else describe_kind(value)
        hint = "name the node above: `x.parent()`" if is_field else "name a node of the field's tree: `x.parent()`"
        raise context.error(TaichiTypeError, f"The {name} operation takes a node, found {what}", hint)
    return description


def _dynamic(context: Context, value: Any, name: str) -> NodeDescription:
    description = _node(context, value, name)
    if description.node.kind != "dynamic":
        raise context.error(
            TaichiTypeError,
            f"ti.{name} only works on dynamic nodes, found a {description.node.kind} node",
            "make the node above the field with `.dynamic(ti.j, n)`",
        )
    return description


def _indices(context: Context, node: Node | None, given: Any) -> list[Statement]:
    """Return the indices of a cell of `node` as i32, in the order of the axes."""
    items = list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]
    flat: list[Any] = []
    for item in items:
        if is_runtime(item) or isinstance(item, Matrix):
            lifted = context.values.lift(item)
            flat += context.values.elements(lifted) if isinstance(lifted.type, Tensor) else [lifted]
        else:
            flat.append(item)
    shape = shape_of(node) if node is not None else ()
    name = node_name(context.kernel, node) if node is not None else "ti.root"
    if len(flat) != len(shape):
        takes = f"{len(shape)} ind{'ex' if len(shape) == 1 else 'ices'}"
        raise context.error(
            TaichiIndexError,
            f"`{name}` has {takes}. Indexed with {len(flat)}",
            f"give {takes}" if shape else "write `[]`",
        )
    for axis, item in enumerate(flat):
        check_bounds(context, item, shape[axis], None, f"axis {axis} of `{name}`", f"{name}.shape[{axis}]")
    return [index_statement(context, item) for item in flat]


# --- methods of lists -------------------------------------------------------------------------------------------------


class ListCell:
    """A list of a dynamic node, denoted by a field in it with the indices of the list."""

    def __init__(self, node: Any, indices: Any) -> None:
        self.node, self.indices = node, indices


def list_method(context: Context, node: ast.Attribute) -> Method | None:
    """Return `x[i].append` or `x.append` of a field whose node is a dynamic one; None for other objects."""
    if node.attr not in LIST_METHODS:
        return None
    inner = node.value
    owner = inner.value if isinstance(inner, ast.Subscript) else inner
    if any(not isinstance(part, (ast.Name, ast.Attribute, ast.expr_context)) for part in ast.walk(owner)):
        return None  # a call must not be built twice
    base = context.evaluate(owner)
    if not is_described(base) or not hasattr(type(base), "parent"):
        return None
    above = base.parent()
    description = describe_node(context, above)
    if description is None or description.node.kind != "dynamic":
        return None
    index = context.value(inner.slice) if isinstance(inner, ast.Subscript) else None
    return Method(ListCell(above, index), node.attr)


def call_list_method(context: Context, owner: ListCell, name: str, arguments: list[Any]) -> Any:
    """Call a method of a list."""
    takes = 1 if name == "append" else 0
    if len(arguments) != takes:
        message = f"`.{name}()` takes {takes} argument{'s' if takes != 1 else ''}, found {len(arguments)}"
        raise context.error(
            TaichiSyntaxError, message, "write `x[i].append(value)`" if takes else f"write `x[i].{name}()`"
        )
    methods: dict[str, Callable[..., Any]] = {"append": _append, "deactivate": _deactivate, "length": _length}
    return methods[name](context, owner.node, owner.indices, *arguments)
