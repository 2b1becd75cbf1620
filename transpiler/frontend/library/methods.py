"""Vectors and matrices: constructors (`ti.Vector`, `ti.Matrix.zero`) and methods (`v.norm()`, `m.inverse()`)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...errors import TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.statements import LoopIndex, StructFor
from ...ir.textures import Texture
from ...ir.types import Scalar, Struct, Tensor, describe_type, element_of, f32, i32, u1
from ...lang.annotations import as_type
from ...lang.matrix import Matrix, Vector
from ...lang.struct import StructType
from ..context.context import Context
from ..context.handler_calls import ArgumentsError, call_handler
from ..context.per_iteration import PerIteration, each
from ..context.values import ArrayMember, Lvalue, Method, describe_kind, holds_runtime, is_number, is_runtime
from ..source.named_numbers import plain
from .sparse import ListCell, call_list_method
from .structs import call_struct_method, element_lvalue, filled, part_of_array, scalar_field
from .textures import call_texture_method

Meaning = Callable[..., Any]

MAX_COFACTORS = 4
"""Determinants of integers are expanded up to this size: the number of products is its factorial."""

# --- constructors ---------------------------------------------------------------------------------------------------


def _make(context: Context, arr: Any, dt: Any = None) -> Statement:
    """Return `ti.Vector([...])` or `ti.Matrix([[...], ...])`."""
    element = None if dt is None else element_type(context, dt)
    if isinstance(arr, Statement) and isinstance(arr.type, Tensor):
        return arr if element is None else context.builder.cast(arr, element)
    if isinstance(arr, (list, tuple, Matrix, range)):
        return context.values.tensor(arr, element)
    if hasattr(type(arr), "tolist") and not is_number(arr):
        return context.values.tensor(context.python(arr.tolist), element)
    raise context.error(
        TaichiTypeError,
        f"A vector or matrix is made from a list, found {describe_kind(arr)}",
        "write `ti.Vector([a, b])`",
    )


def element_type(context: Context, dt: Any) -> Scalar:
    """Return the number type that `dt` names. Raises: TaichiTypeError if it is none."""
    type = as_type(dt, context.options)
    if not isinstance(type, Scalar):
        raise context.error(
            TaichiTypeError, f"The element type must be a number type, found {describe_kind(dt)}", "write `ti.f32`"
        )
    return type


def _filled(value: int) -> Meaning:
    def meaning(context: Context, dt: Any, n: Any, m: Any = None) -> Statement:
        _check_sizes(context, n, m)
        shape = (plain(n),) if m is None else (plain(n), plain(m))
        return context.values.fit(
            context.builder.const(value, element_type(context, dt)), Tensor(shape, element_type(context, dt))
        )

    return meaning


def _check_sizes(context: Context, *sizes: Any) -> None:
    for size in sizes:
        if size is not None and (is_runtime(size) or not isinstance(size, int) or size < 1):
            raise context.error(
                TaichiTypeError, "The sizes of a matrix are positive integers known at compile time", "write a number"
            )
    context.builder.check_size(prod(size for size in sizes if size is not None))


def _unit(context: Context, n: Any, i: Any, dt: Any = int) -> Statement:
    _check_sizes(context, n)
    if is_runtime(i) or not 0 <= i < n:
        raise context.error(
            TaichiTypeError,
            "`Vector.unit` takes an index known at compile time, below the size",
            "write `ti.Vector.unit(3, 0)`",
        )
    return context.values.tensor([int(k == i) for k in range(n)], element_type(context, dt))


def _identity(context: Context, dt: Any, n: Any) -> Statement:
    _check_sizes(context, n, n)
    return context.values.tensor([[int(i == j) for j in range(n)] for i in range(n)], element_type(context, dt))


def _diag(context: Context, dim: Any, val: Any) -> Statement:
    _check_sizes(context, dim, dim)
    value = context.values.lift(val)
    zero = context.builder.const(0, element_of(value.type))  # type: ignore[arg-type]
    return context.values.tensor([[value if i == j else zero for j in range(dim)] for i in range(dim)])


def _rows(context: Context, rows: Any) -> Statement:
    return context.values.tensor(rows)


def _cols(context: Context, cols: Any) -> Statement:
    columns = context.values.tensor(cols)
    assert isinstance(columns.type, Tensor)
    if len(columns.type.shape) != 2:
        raise context.error(TaichiTypeError, "`Matrix.cols` takes vectors", "write `ti.Vector([...])` for one column")
    (n, m), flat = columns.type.shape, context.values.elements(columns)
    return context.builder.tensor([flat[i * m + j] for j in range(m) for i in range(n)], (m, n), columns.type.element)


def matrix_constructors() -> dict[Any, Meaning]:
    """Return the handlers of the classes and their static methods."""
    return {
        Matrix: _make,
        Vector: _make,
        Matrix.zero: _filled(0),
        Matrix.one: _filled(1),
        Matrix.unit: _unit,
        Matrix.identity: _identity,
        Matrix.diag: _diag,
        Matrix.rows: _rows,
        Matrix.cols: _cols,
    }


# --- methods --------------------------------------------------------------------------------------------------------


def call_method(context: Context, method: Method, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Call a method of a tensor, or of a Python list or matrix."""
    owner = method.owner
    arguments = [context.loaded(argument) for argument in arguments]
    named = {name: context.loaded(value) for name, value in named.items()}
    if isinstance(owner, Texture):
        return call_texture_method(context, owner, method.name, arguments, named)
    if isinstance(owner, ListCell):
        return call_list_method(context, owner, method.name, [*arguments, *named.values()])
    if isinstance(owner, PerIteration) and not any(holds_runtime(v) for v in (*arguments, *named.values())):
        return each("", lambda item, *given: getattr(item, method.name)(*given, **named), owner, *arguments)
    if isinstance(owner, list):
        context.need_copies()
        return context.python(getattr(owner, method.name), *arguments, **named)
    if isinstance(owner, Matrix) and not any(holds_runtime(v) for v in (*arguments, *named.values())):
        return context.python(getattr(owner, method.name), *arguments, **named)
    if method.name == "fill":
        return _fill(context, owner, [*arguments, *named.values()])
    if method.name == "get_scalar_field":
        return scalar_field(context, owner, [*arguments, *named.values()])
    if isinstance(owner, (ArrayMember, StructType)) or method.name == "to_dict":
        return call_struct_method(context, method, [*arguments, *named.values()])
    value = context.values.lift(owner)
    if not isinstance(value.type, Tensor) and method.name != "cast":
        raise context.error(
            TaichiTypeError,
            f"`.{method.name}()` takes a vector or matrix, found `{describe_type(value.type)}`",
            "use a function on the scalar",
        )
    meaning = METHODS.get(method.name)
    if meaning is None:
        raise context.error(
            TaichiSyntaxError, f"Vectors have no method `{method.name}` in kernels", f"there are {', '.join(METHODS)}"
        )
    try:
        return call_handler(meaning, (context, value), arguments, named)
    except ArgumentsError as error:
        raise context.error(TaichiSyntaxError, f"`.{method.name}()` {error}", "check the arguments") from None


def _fill(context: Context, owner: Any, arguments: list[Any]) -> None:
    if not isinstance(owner, (Lvalue, ArrayMember)):
        raise context.error(TaichiTypeError, "`.fill()` needs a variable", "assign the vector to a variable first")
    if len(arguments) != 1:
        raise context.error(
            TaichiSyntaxError, f"`.fill()` takes 1 argument, found {len(arguments)}", "write `v.fill(0.0)`"
        )
    if isinstance(owner, ArrayMember):
        _fill_array(context, owner, arguments[0])
    else:
        context.builder.store(owner.pointer, context.values.fit(arguments[0], owner.type))


def _fill_array(context: Context, owner: ArrayMember, value: Any) -> None:
    """Store `value` in every element, or in one member of each: a loop as the user would write it."""
    context.need_copies_at_top()
    build, location, array = context.builder, context.builder.location, owner.array
    filling = filled(context, owner.type, value) if is_number(value) else context.values.fit(value, owner.type)
    if len({part.shape for part in array.parts}) > 1:  # members that were placed separately, in nodes of other shapes
        assert isinstance(owner.type, Struct)
        for name in owner.type.names:
            _fill_array(context, part_of_array(owner, name), build.member(filling, name))
        return
    if array.ndim == 0:
        build.store(element_lvalue(context, owner, []).pointer, filling)
        return
    loop = StructFor(array, [f"i_{axis}" for axis in range(array.ndim)])
    loop.serialize = context.nesting.is_conditional
    with build.into(loop.body):
        indices: list[Statement] = [
            build.add(LoopIndex(loop, axis, type=i32, name=name)) for axis, name in enumerate(loop.names)
        ]
        build.store(element_lvalue(context, owner, indices).pointer, filling)
    build.location = loop.location = location
    build.add(loop)


def _operation(name: str) -> Meaning:
    def meaning(context: Context, value: Statement) -> Statement:
        return context.builder.op(name, value)

    return meaning


def _pair(name: str) -> Meaning:
    def meaning(context: Context, value: Statement, other: Any) -> Statement:
        return context.builder.op(name, value, context.values.lift(other))

    return meaning


def _norm_sqr(context: Context, value: Statement) -> Statement:
    assert isinstance(value.type, Tensor)
    if len(value.type.shape) == 1:
        return context.builder.op("dot", value, value)
    return context.builder.op("sum", context.builder.op("mul", value, value))


def _norm(context: Context, value: Statement, eps: Any = 0) -> Statement:
    if is_number(eps) and eps == 0:
        return context.builder.op("norm", value)
    return context.builder.op("sqrt", context.builder.op("add", _norm_sqr(context, value), context.values.lift(eps)))


def _norm_inv(context: Context, value: Statement, eps: Any = 0) -> Statement:
    squared = _norm_sqr(context, value)
    if not (is_number(eps) and eps == 0):
        squared = context.builder.op("add", squared, context.values.lift(eps))
    return context.builder.op("rsqrt", squared)


def _normalized(context: Context, value: Statement, eps: Any = 0) -> Statement:
    if is_number(eps) and eps == 0:
        return context.builder.op("normalized", value)
    length = context.builder.op("add", context.builder.op("norm", value), context.values.lift(eps))
    return context.builder.op("div", value, length)


def _is_pair(type: Any) -> bool:
    return isinstance(type, Tensor) and type.shape == (2,)


def _cross(context: Context, value: Statement, other: Any) -> Statement:
    lifted = context.values.lift(other)
    if isinstance(value.type, Tensor) and value.type.shape == (2,) and _is_pair(lifted.type):
        (a, b), (c, d) = context.values.elements(value), context.values.elements(lifted)
        return context.builder.op("sub", context.builder.op("mul", a, d), context.builder.op("mul", b, c))
    return context.builder.op("cross", value, lifted)


def _fold(context: Context, name: str, items: list[Statement]) -> Statement:
    result = items[0]
    for item in items[1:]:
        result = context.builder.op(name, result, item)
    return result


def _reduction(name: str) -> Meaning:
    def meaning(context: Context, value: Statement) -> Statement:
        return _fold(context, name, context.values.elements(value))

    return meaning


def _quantifier(name: str) -> Meaning:
    def meaning(context: Context, value: Statement) -> Statement:
        element = element_of(value.type)  # type: ignore[arg-type]
        if element != u1:
            value = context.builder.op("ne", value, context.builder.const(0, element))
        return _fold(context, name, context.values.elements(value))

    return meaning


def _cast(context: Context, value: Statement, dtype: Any) -> Statement:
    return context.builder.cast(value, element_type(context, dtype))


def _square(context: Context, value: Statement, name: str) -> list[list[Statement]]:
    assert isinstance(value.type, Tensor)
    shape = value.type.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise context.error(
            TaichiTypeError,
            f"`.{name}()` takes a square matrix, found `{describe_type(value.type)}`",
            "give it an (n, n) matrix",
        )
    flat = context.values.elements(value)
    return [flat[row * shape[0] : (row + 1) * shape[0]] for row in range(shape[0])]


def _trace(context: Context, value: Statement) -> Statement:
    rows = _square(context, value, "trace")
    return _fold(context, "add", [rows[k][k] for k in range(len(rows))])


def _minor(rows: list[list[Statement]], row: int, column: int) -> list[list[Statement]]:
    return [[item for j, item in enumerate(line) if j != column] for i, line in enumerate(rows) if i != row]


def _determinant_of(context: Context, rows: list[list[Statement]]) -> Statement:
    """Return a determinant by expansion along the first row."""
    if len(rows) == 1:
        return rows[0][0]
    total: Statement | None = None
    for column, item in enumerate(rows[0]):
        term = context.builder.op("mul", item, _determinant_of(context, _minor(rows, 0, column)))
        if total is None:
            total = term
        else:
            total = context.builder.op("sub" if column % 2 else "add", total, term)
    assert total is not None
    return total


def _determinant(context: Context, value: Statement) -> Statement:
    """Return the determinant: by elimination for floats from 3x3 on, else by cofactors, which is exact for integers."""
    rows = _square(context, value, "determinant")
    element = element_of(value.type)  # type: ignore[arg-type]
    if element.is_float and len(rows) > 2:
        return _in_f32_at_least(context, "determinant", value, element)
    if len(rows) > MAX_COFACTORS:
        shape = f"{len(rows)}x{len(rows)}"
        message = f"`.determinant()` takes integer matrices up to {MAX_COFACTORS}x{MAX_COFACTORS}, found {shape}"
        raise context.error(TaichiTypeError, message, "cast it first: `m.cast(ti.f32)`")
    return _determinant_of(context, rows)


def _inverse(context: Context, value: Statement) -> Statement:
    """Return the inverse: from 3x3 on by elimination, else cofactors, transposed, over the determinant."""
    rows = _square(context, value, "inverse")
    element = element_of(value.type)  # type: ignore[arg-type]
    if not element.is_float:
        value = context.builder.cast(value, context.default_fp)
        rows = _square(context, value, "inverse")
        element = context.default_fp
    size = len(rows)
    if size > 2:
        return _in_f32_at_least(context, "inverse", value, element)
    reciprocal = context.builder.op("div", context.builder.const(1, element), _determinant_of(context, rows))
    if size == 1:
        return context.values.tensor([[reciprocal]])
    cofactors = [[_cofactor(context, rows, j, i) for j in range(size)] for i in range(size)]
    return context.builder.op("mul", context.values.tensor(cofactors), reciprocal)


def _in_f32_at_least(context: Context, name: str, value: Statement, element: Scalar) -> Statement:
    """Apply an operation on floats; f16 has too few digits for its intermediate results."""
    wide = context.builder.cast(value, f32) if element.bits < f32.bits else value
    return context.builder.cast(context.builder.op(name, wide), element)


def _cofactor(context: Context, rows: list[list[Statement]], row: int, column: int) -> Statement:
    determinant = _determinant_of(context, _minor(rows, row, column))
    return context.builder.op("neg", determinant) if (row + column) % 2 else determinant


def _to_list(context: Context, value: Statement) -> list[Any]:
    assert isinstance(value.type, Tensor)
    flat = context.values.elements(value)
    if len(value.type.shape) == 1:
        return list(flat)
    width = value.type.shape[1]
    return [flat[k : k + width] for k in range(0, len(flat), width)]


def _get_shape(context: Context, value: Statement) -> tuple[int, ...]:
    assert isinstance(value.type, Tensor)
    return value.type.shape


METHODS: dict[str, Meaning] = {
    "norm": _norm,
    "norm_sqr": _norm_sqr,
    "norm_inv": _norm_inv,
    "normalized": _normalized,
    "dot": _pair("dot"),
    "cross": _cross,
    "outer_product": _pair("outer_product"),
    "transpose": _operation("transpose"),
    "sum": _operation("sum"),
    "trace": _trace,
    "determinant": _determinant,
    "inverse": _inverse,
    "max": _reduction("max"),
    "min": _reduction("min"),
    "any": _quantifier("logical_or"),
    "all": _quantifier("logical_and"),
    "cast": _cast,
    "to_list": _to_list,
    "get_shape": _get_shape,
}
"""Methods of a tensor value; only `fill` needs an lvalue."""

METHOD_NAMES = frozenset({*METHODS, "fill"})
