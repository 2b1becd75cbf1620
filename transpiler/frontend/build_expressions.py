"""Expressions: operators, conditions, subscripts, attributes, displays and comprehensions.

Handlers get a node and return a Python object, a statement, or a `Place` that the reader loads.
"""

from __future__ import annotations

import ast
from difflib import get_close_matches
from typing import Any, NoReturn

import numpy as np

from ..errors import TaichiCompilationError, TaichiIndexError, TaichiNameError, TaichiSyntaxError, TaichiTypeError
from ..ir.nodes import Block, Statement
from ..ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    Cast,
    Const,
    GlobalPtr,
    IfExp,
    LocalLoad,
    LoopIndex,
    MatrixElement,
    Operation,
)
from ..ir.types import Scalar, Tensor, element_of, i32, u1
from ..lang.matrix import Matrix
from .build_methods import METHOD_NAMES
from .context import Context, expression
from .iteration import compile_time_items
from .operators import BINARY, COMPARE, UNARY, binary, compare, logical, unary, unify
from .text import formatted
from .values import Method, Place, describe_kind, holds_runtime, is_number, is_runtime

COMPONENTS = ("xyzw", "rgba", "stpq")
"""The letter sets that name a vector's elements."""

MAX_SPECULATED = 12
"""Up to this many cheap statements the second operand of `and` and `or` is computed without asking for the first."""


@expression(ast.BinOp)
def build_binary(context: Context, node: ast.BinOp) -> Any:
    """`a + b` and its like."""
    left = context.value(node.left)
    right = context.value(node.right)
    for value, operand, other in ((left, node.left, right), (right, node.right, left)):
        if type(value) is int and isinstance(other, Statement):
            context.check_range(value, operand)
    return binary(context, BINARY[type(node.op)], left, right)


@expression(ast.UnaryOp)
def build_unary(context: Context, node: ast.UnaryOp) -> Any:
    """`-a`, `~a`, `not a`, `+a`."""
    value = context.truth(node.operand) if isinstance(node.op, ast.Not) else context.value(node.operand)
    if isinstance(node.op, ast.UAdd):
        return value if not is_number(value) else +value
    return unary(context, UNARY[type(node.op)], value)


@expression(ast.Compare)
def build_compare(context: Context, node: ast.Compare) -> Any:
    """`a < b`, `a < b < c` with `b` computed once; all operands are computed, as in Taichi."""
    result: Any = None
    left = context.value(node.left)
    for kind, right_node in zip(node.ops, node.comparators, strict=True):
        right = context.value(right_node)
        found = _compare_one(context, kind, left, right)
        if result is None:
            result = found
        elif not holds_runtime(result) and not holds_runtime(found):
            result = result and found
        else:
            result = logical(context, "and", context.lift(result), context.lift(found))
        left = right
    return result


def _compare_one(context: Context, kind: ast.cmpop, left: Any, right: Any) -> Any:
    row = COMPARE.get(type(kind))
    if row is not None:
        return compare(context, row, left, right)
    if isinstance(kind, ast.Is | ast.IsNot):
        if is_runtime(left) or is_runtime(right):
            name = "is" if isinstance(kind, ast.Is) else "is not"
            raise context.error(
                TaichiSyntaxError, f'Operator "{name}" in Taichi scope is not supported.', "use `==` or `!=`"
            )
        return (left is right) == isinstance(kind, ast.Is)
    is_in = isinstance(kind, ast.In)
    if not holds_runtime(left) and not holds_runtime(right):
        return context.python(lambda: (left in right) == is_in)
    if not isinstance(right, list | tuple) or not right:
        raise context.error(
            TaichiSyntaxError, '"In" is only supported inside `ti.static`.', "use a tuple: `x in (1, 2)`"
        )
    found: Any = None
    for item in right:
        equal = context.lift(compare(context, COMPARE[ast.Eq], left, item))
        found = equal if found is None else logical(context, "or", found, equal)
    return found if is_in else context.builder.op("logical_not", found)


@expression(ast.BoolOp)
def build_logical(context: Context, node: ast.BoolOp) -> Any:
    """`a and b`, `a or b`: the second only if the first does not decide; on tensors element by element."""
    name = "and" if isinstance(node.op, ast.And) else "or"
    is_truth = context.truth_node is node
    evaluate = context.truth if is_truth else context.value
    result = evaluate(node.values[0])
    for operand in node.values[1:]:
        if not is_runtime(result) and not holds_runtime(result):
            if bool(result) == (name == "or"):
                return result
            result = evaluate(operand)
            continue
        result = _logical(context, name, context.lift(result), operand, is_truth)
    return result


def _logical(context: Context, name: str, left: Statement, node: ast.expr, is_truth: bool) -> Statement:
    block = Block()
    with context.builder.into(block):
        right = context.lift(context.truth(node) if is_truth else context.value(node), node)
    if isinstance(left.type, Tensor) or isinstance(right.type, Tensor):
        _splice(context, block)
        return logical(context, name, left, right)
    if not is_truth and (left.type != u1 or right.type != u1):
        return _decided(context, name, left, right, block)
    left = context.condition(left, name)
    with context.builder.into(block):
        block.result = context.condition(right, name)
    if not context.options.short_circuit_operators or _is_cheap(block):
        result = block.result
        _splice(context, block)
        return logical(context, name, left, result)
    decided = Block()
    with context.builder.into(decided):
        decided.result = context.builder.const(name == "or", u1)
    branches = (block, decided) if name == "and" else (decided, block)
    return context.builder.add(IfExp(left, *branches, type=u1))


def _decided(context: Context, name: str, left: Statement, right: Statement, block: Block) -> Statement:
    """Return one of two numbers, as Python does: `3 and 5` is 5, `3 or 5` is 3, in the type they promote to."""
    type, _ = unify(context, [left, right])
    condition = context.condition(left, name)
    first = Block()
    with context.builder.into(first):
        first.result = context.builder.cast(left, type)
    with context.builder.into(block):
        block.result = context.builder.cast(right, type)
    branches = (block, first) if name == "and" else (first, block)
    return context.builder.add(IfExp(condition, *branches, type=type))


def _splice(context: Context, block: Block) -> None:
    context.builder.block.statements.extend(block.statements)


def _is_cheap(block: Block) -> bool:
    """Tell whether computing a block for nothing does no harm: few operations, no division, no array."""
    return len(block) <= MAX_SPECULATED and all(_is_harmless(made) for made in block.statements)


def _is_harmless(made: Statement) -> bool:
    match made:
        case Const() | Cast() | LoopIndex() | ArgLoad() | ArrayShape():
            return True
        case LocalLoad():
            return not isinstance(made.pointer, Operation)
        case Operation(op=op):
            return op not in ("div", "floordiv", "mod", "raw_div", "raw_mod", "pow")
        case MatrixElement(indices=indices):
            return all(isinstance(index, Const) for index in indices)
        case _:
            return False


@expression(ast.IfExp)
def build_conditional(context: Context, node: ast.IfExp) -> Any:
    """`a if c else b`: only the branch taken is computed; the types promote."""
    test = context.truth(node.test)
    if not is_runtime(test) and not holds_runtime(test):
        return context.evaluate(node.body if context.python(bool, test) else node.orelse)
    test = context.lift(test)
    then, otherwise = Block(), Block()
    with context.builder.into(then):
        first = context.runtime(node.body)
    with context.builder.into(otherwise):
        second = context.runtime(node.orelse)
    if isinstance(test.type, Tensor):
        _splice(context, then)
        _splice(context, otherwise)
        return context.builder.op("select", test, first, second)
    condition = context.condition(test, "if")
    element, shape = unify(context, [first, second])
    type = Tensor(shape, element) if shape else element
    for block, value in ((then, first), (otherwise, second)):
        with context.builder.into(block):
            block.result = context.builder.fit(value, type)
    return context.builder.add(IfExp(condition, then, otherwise, type=type))


@expression(ast.NamedExpr)
def build_walrus(context: Context, node: ast.NamedExpr) -> Any:
    """`(a := value)`: a variable of the block that holds the statement."""
    value = context.value(node.value)
    name = node.target.id
    local = context.frame.find(name)
    if local is None:
        found = context.lift(value)
        assert found.type is not None
        with context.builder.into(context.home):
            place = context.variable(name, found.type)
        context.frame.declare(name, place, node.target)
        context.builder.store(place.pointer, found)
        return found
    place = context.place_of(local.value, local)
    context.builder.store(place.pointer, context.fit(value, place.type))
    return context.builder.load(place.pointer)


# --- subscripts -----------------------------------------------------------------------------------------------------


@expression(ast.Subscript)
def build_subscript(context: Context, node: ast.Subscript) -> Any:
    """`a[i, j]` of an array, a tensor, or a Python object."""
    base = context.evaluate(node.value)
    array = context.array(base)
    if array is not None:
        return _array_element(context, array, node)
    if isinstance(base, Place | Statement) and not isinstance(base.type, Tensor):
        kind = describe_kind(base)
        raise context.error(TaichiTypeError, f"A scalar of type {kind} cannot be subscripted", "leave out the brackets")
    if isinstance(base, Method):
        raise context.error(TaichiTypeError, f"`{base.name}` is a method", f"call it: `{base.name}()`")
    if _has_slice(node.slice) and (isinstance(base, Place | Statement)):
        return _slice(context, context.lift(base), node)
    index = context.value(node.slice)
    if isinstance(base, Matrix) and holds_runtime(index):
        base = context.lift(base)
    if isinstance(base, Place | Statement):
        return _tensor_element(context, base, index, node)
    if holds_runtime(index) and isinstance(base, list | tuple | dict | str):
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
    return context.python(lambda: base[index])


def _has_slice(node: ast.expr) -> bool:
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(item, ast.Slice) for item in items)


def _array_element(context: Context, array: Array, node: ast.Subscript) -> Place:
    if _has_slice(node.slice):
        raise context.error(
            TaichiSyntaxError,
            f"`{array.name}` is indexed element by element; slices are not supported",
            "loop over it",
            node.slice,
        )
    index = context.value(node.slice)
    items = [] if index is None else list(index) if isinstance(index, list | tuple) else [index]
    flat = [scalar for item in items for scalar in _index_scalars(context, item, node)]
    if len(flat) != array.ndim:
        what = "Field" if array.parameter is None else "Ndarray"
        raise context.error(
            TaichiIndexError,
            f"{what} with dim {array.ndim} accessed with indices of dim {len(flat)}",
            f"`{array.name}` takes {array.ndim} ind{'ex' if array.ndim == 1 else 'ices'}"
            + ("; write `[None]`" if array.ndim == 0 else ""),
            node,
        )
    for axis, item in enumerate(flat):
        _check_bounds(
            context,
            item,
            array.shape[axis] if array.shape is not None else None,
            node,
            f"axis {axis} of `{array.name}`",
        )
    indices = [index_statement(context, item) for item in flat]
    return Place(context.builder.add(GlobalPtr(array, indices, type=array.element)))


def _index_scalars(context: Context, item: Any, node: ast.Subscript) -> list[Any]:
    """Return an index as scalars: a vector counts as many."""
    item = context.loaded(item)
    if isinstance(item, Statement) and isinstance(item.type, Tensor):
        return list(context.elements(item))
    if isinstance(item, Matrix | list | tuple):
        return [context.loaded(inner) for inner in item]
    if item is Ellipsis:
        raise context.error(TaichiTypeError, "`...` is no index", "write one index for each axis", node.slice)
    return [item]


def index_statement(context: Context, item: Any) -> Statement:
    """Return an index as an i32. Raises: TaichiTypeError for floats."""
    found = context.lift(item)
    type = found.type
    if not isinstance(type, Scalar) or type.is_float:
        raise context.error(
            TaichiTypeError,
            f"indices must be integers, however '{type}' is provided",
            "write `ti.cast(x, ti.i32)` or `int(x)`",
        )
    return context.builder.cast(found, i32)


def _check_bounds(context: Context, item: Any, extent: int | None, node: ast.AST, what: str) -> None:
    """Raise for a constant index that cannot be right."""
    value = int(item) if isinstance(item, int) else None
    if value is None:
        return
    if value < 0:
        raise context.error(
            TaichiIndexError,
            f"Index {value} of {what} is negative",
            "count from the start: the last element is `n - 1`",
            node,
        )
    if extent is not None and value >= extent:
        raise context.error(
            TaichiIndexError, f"Index {value} of {what} is out of range [0, {extent})", "choose a smaller index", node
        )


def _tensor_element(context: Context, base: Place | Statement, index: Any, node: ast.Subscript) -> Any:
    type = base.type
    assert isinstance(type, Tensor)
    items = list(index) if isinstance(index, list | tuple) else _index_scalars(context, index, node)
    if len(items) != len(type.shape):
        kind, count = ("vector", 1) if len(type.shape) == 1 else ("matrix", 2)
        raise context.error(
            TaichiIndexError,
            f"A {kind} takes {count} ind{'ex' if count == 1 else 'ices'}, found {len(items)}",
            "write `v[i]` or `m[i, j]`",
            node,
        )
    for axis, item in enumerate(items):
        _check_bounds(context, item, type.shape[axis], node, f"axis {axis} of `{type}`")
    indices = [index_statement(context, item) for item in items]
    return tensor_element(context, base, indices)


def tensor_element(context: Context, base: Place | Statement, indices: list[Statement]) -> Any:
    """Return one element: of a place its place, of a value its value."""
    if isinstance(base, Place):
        return Place(context.builder.element_ptr(base.pointer, indices))
    return context.builder.element(base, indices)


def _slice(context: Context, base: Statement, node: ast.Subscript) -> Statement:
    """Return a part of a tensor: `v[1:3]`, `m[:, 0]`."""
    type = base.type
    assert isinstance(type, Tensor)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(parts) != len(type.shape):
        raise context.error(
            TaichiIndexError, f"`{type}` takes {len(type.shape)} indices or slices, found {len(parts)}", None, node
        )
    chosen: list[Any] = []
    for part, extent in zip(parts, type.shape, strict=True):
        if isinstance(part, ast.Slice):
            limits = [None if limit is None else context.value(limit) for limit in (part.lower, part.upper, part.step)]
            if any(is_runtime(limit) for limit in limits):
                raise context.error(
                    TaichiSyntaxError, "The bounds of a slice must be known at compile time", None, part
                )
            chosen.append(range(extent)[slice(*limits)])
        else:
            chosen.append(index_statement(context, context.value(part)))
    if len(chosen) == 1:
        return context.tensor([context.builder.element(base, [context.builder.const(i)]) for i in chosen[0]])
    rows, columns = [[context.builder.const(i) for i in part] if isinstance(part, range) else [part] for part in chosen]
    table = [[context.builder.element(base, [i, j]) for j in columns] for i in rows]
    if not isinstance(chosen[0], range):
        return context.tensor(table[0])
    return context.tensor(table if isinstance(chosen[1], range) else [row[0] for row in table])


# --- attributes -----------------------------------------------------------------------------------------------------


@expression(ast.Attribute)
def build_attribute(context: Context, node: ast.Attribute) -> Any:
    """`a.shape`, `v.x`, `v.xyz`, `self.n`, `ti.sin`."""
    base = context.evaluate(node.value)
    if isinstance(base, Place | Statement):
        return _value_attribute(context, base, node)
    array = context.array(base)
    if array is not None:
        found = _array_attribute(context, array, node.attr)
        if found is not None:
            return found
        if base is array:
            _no_attribute(context, f"the array `{array.name}`", node.attr, ["shape", "dtype", "n", "m"])
    if isinstance(base, Matrix) and node.attr in METHOD_NAMES:
        return Method(base, node.attr)
    if isinstance(base, list) and node.attr in ("append", "extend", "insert", "pop", "clear"):
        return Method(base, node.attr)
    try:
        value = getattr(base, node.attr)
    except AttributeError:
        _no_attribute(context, describe_kind(base if array is None else array), node.attr, dir(base))
    except Exception as error:
        raise context.error(TaichiCompilationError, f"{type(error).__name__}: {error}") from None
    if is_number(value) or isinstance(value, Matrix):
        context.captured[ast.unparse(node)] = value
    else:
        context.note(value, node.attr, node.attr)
    return value


def _no_attribute(context: Context, owner: str, name: str, known: list[str]) -> NoReturn:
    close = get_close_matches(name, known, 1)
    hint = f"did you mean `.{close[0]}`?" if close else "check the spelling"
    raise context.error(TaichiNameError, f"AttributeError: {owner} has no attribute `{name}`", hint)


def _array_attribute(context: Context, array: Array, name: str) -> Any:
    if name == "shape":
        if array.shape is not None:
            return array.shape
        return tuple(context.builder.add(ArrayShape(array, axis, type=i32)) for axis in range(array.ndim))
    if name == "dtype":
        return element_of(array.element)
    if name in ("n", "m") and isinstance(array.element, Tensor):
        shape = array.element.shape
        return shape[0] if name == "n" else shape[1] if len(shape) == 2 else 1
    return None


def _value_attribute(context: Context, base: Place | Statement, node: ast.Attribute) -> Any:
    type, name = base.type, node.attr
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
    if name in METHOD_NAMES:
        return Method(base, name)
    _no_attribute(
        context,
        f"a value of type `{type}`",
        name,
        [*sorted(METHOD_NAMES), "shape", "n", "m"] if isinstance(type, Tensor) else [],
    )


def _components(context: Context, type: Tensor, name: str) -> tuple[int, ...] | None:
    """Return the element numbers a swizzle names, None if the name is none. Raises for letters the vector lacks."""
    if len(name) > 4 or not all(letter in "xyzwrgbastpq" for letter in name):
        return None
    for letters in COMPONENTS:
        if all(letter in letters for letter in name):
            if len(type.shape) != 1:
                raise context.error(
                    TaichiTypeError, f"`.{name}` names elements of a vector, found `{type}`", "use `m[i, j]`"
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


def _swizzle(context: Context, base: Place | Statement, components: tuple[int, ...]) -> Any:
    if len(components) == 1:
        return tensor_element(context, base, [context.builder.const(components[0])])
    value = context.lift(base)
    assert isinstance(value.type, Tensor)
    items = [context.builder.element(value, [context.builder.const(k)]) for k in components]
    return context.builder.tensor(items, (len(items),), value.type.element)


# --- displays -------------------------------------------------------------------------------------------------------


def _items(context: Context, nodes: list[ast.expr]) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found.extend(compile_time_items(context, context.value(node.value), node))
        else:
            found.append(context.value(node))
    return found


@expression(ast.Tuple)
def build_tuple(context: Context, node: ast.Tuple) -> tuple[Any, ...]:
    """`(a, b)`: a Python tuple of values."""
    return tuple(_items(context, node.elts))


@expression(ast.List)
def build_list(context: Context, node: ast.List) -> list[Any]:
    """`[a, b]`: a Python list of values."""
    return _items(context, node.elts)


@expression(ast.Dict)
def build_dict(context: Context, node: ast.Dict) -> dict[Any, Any]:
    """`{"a": x}`: a Python dict of values."""
    made: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            made.update(context.value(value))
        else:
            made[context.value(key)] = context.value(value)
    return made


@expression(ast.ListComp)
def build_comprehension(context: Context, node: ast.ListComp) -> list[Any]:
    """`[f(i) for i in ...]` over what is known at compile time."""
    found: list[Any] = []
    _comprehend(context, node, 0, found)
    return found


def _comprehend(context: Context, node: ast.ListComp, depth: int, found: list[Any]) -> None:
    if depth == len(node.generators):
        found.append(context.value(node.elt))
        return
    generator = node.generators[depth]
    for item in compile_time_items(context, context.value(generator.iter), generator.iter):
        context.frame.scopes.append({})
        bind_target(context, generator.target, item)
        tests = [context.value(test) for test in generator.ifs]
        if any(is_runtime(test) for test in tests):
            raise context.error(
                TaichiSyntaxError,
                "The condition of a comprehension must be known at compile time",
                None,
                generator.ifs[0],
            )
        if all(tests):
            _comprehend(context, node, depth + 1, found)
        context.frame.scopes.pop()


def bind_target(context: Context, target: ast.expr, item: Any) -> None:
    """Bind the names of a loop target to a compile-time item."""
    if isinstance(target, ast.Name):
        context.frame.declare(target.id, item, target)
    elif isinstance(target, ast.Tuple | ast.List):
        items = compile_time_items(context, item, target)
        if len(items) != len(target.elts):
            raise context.error(
                TaichiSyntaxError, f"Cannot unpack {len(items)} values into {len(target.elts)} names", None, target
            )
        for element, inner in zip(target.elts, items, strict=True):
            bind_target(context, element, inner)
    else:
        raise context.error(TaichiSyntaxError, "A loop target is a name or a tuple of names", None, target)


@expression(ast.JoinedStr)
def build_formatted(context: Context, node: ast.JoinedStr) -> Any:
    """`f"..."`: a text, or parts and values for `print` and `assert`."""
    return formatted(context, node)


@expression(ast.Slice)
def build_slice(context: Context, node: ast.Slice) -> slice:
    """`a:b` of a compile-time sequence."""
    limits = [None if limit is None else context.value(limit) for limit in (node.lower, node.upper, node.step)]
    if any(is_runtime(limit) for limit in limits):
        raise context.error(TaichiSyntaxError, "The bounds of a slice must be known at compile time", None, node)
    return slice(*limits)
