"""The op table: one entry per operation, with all that is the same for every language; other tables use its names as
keys.

A rule takes the scalar types of the operands and the default float type, and returns the types the operands are cast to
and the type of the result. Elementwise operations take tensors of one shape, or scalars together with tensors; the
shape of other results is given by `shape_rule`. Meanings work on NumPy scalars of the operands' types, with wrapping
integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ..lazy_dataclasses import dataclass
from .types import Scalar, common_type, f32, f64, i32, promote, u1

Rule = Callable[[Sequence[Scalar], Scalar], tuple[tuple[Scalar, ...], Scalar]]
ShapeRule = Callable[[Sequence[tuple[int, ...]]], tuple[int, ...]]


class ShapeError(Exception):
    """Operand shapes that an operation does not take; the message names what it takes. hint: the remedy."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class RuleError(Exception):
    """Operand types that an operation does not take; the message names what it takes."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operation. No operation has an effect: equal operands give equal results.

    Attributes:
        name: in the IR and in other tables.
        arity: number of operands.
        rule: types of the operands and of the result.
        meaning: its function on NumPy scalars.
        symbol: Python's operator, for messages and IR text; a function with this entry (`ti.pow`) is the operator.
        commutative: whether the operands can be exchanged.
        shape_rule: shape of the result, None for elementwise operations.
        on_u1: the operation that replaces it if its result is u1: no target computes with numbers of one bit.
        atomic: its name as an atomic operation.
        negated: the comparison with the opposite result, except for NaN.
        host: its Python source, a format of the operands, if a host computes it in extents; x / 0 is 0, as on devices.
        is_in_math_h: C's math.h and GLSL have it as a function of floats, by this name.
        takes_many: its function takes one or more operands.
        takes_dtype: a type may follow the operands.
    """

    name: str
    arity: int
    rule: Rule
    meaning: Callable[..., Any]
    symbol: str = ""
    commutative: bool = False
    shape_rule: ShapeRule | None = None
    on_u1: str = ""
    atomic: str = ""
    negated: str = ""
    host: str = ""
    is_in_math_h: bool = False
    takes_many: bool = False
    takes_dtype: bool = False


def _promoted(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    common = common_type(types)
    return (common,) * len(types), common


def _arithmetic(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    common = common_type(types)
    if common == u1 and len(types) == 1:
        common = i32
    return (common,) * len(types), common


def _linear(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    common = common_type(types)
    common = i32 if common == u1 else common  # sums of truth values count
    return (common,) * len(types), common


def _power(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    if not any(t.is_float for t in types):
        return (types[0], types[0]), types[0]
    return _promoted(types, default_fp)


def _real(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    common = common_type([t if t.is_float else default_fp for t in types])
    return (common,) * len(types), common


def _angle(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    common = f64 if f64 in types else f32  # whatever the default type
    return (common, common), common


def _integral(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    if any(t.is_float for t in types):
        raise RuleError("takes integers only")
    return _promoted(types, default_fp)


def _plain(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    common = types[0]
    if common.kind not in ("int", "uint") or any(t != common for t in types):
        raise RuleError("takes integers of one type")
    return tuple(types), common


def _shift(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    if any(t.is_float for t in types):
        raise RuleError("takes integers only")
    type = i32 if types[0] == u1 else types[0]
    return (type, type), type


def _wide_shift(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    if any(t.bits != 64 for t in types):
        raise RuleError("takes integers of 64 bits only")
    return _shift(types, default_fp)


def _word_shift(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    if any(t.bits != 32 for t in types):
        raise RuleError("takes integers of 32 bits only")
    return _shift(types, default_fp)


def _compare(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    common = common_type(types)
    return (common, common), u1


def _logical(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    return (u1,) * len(types), u1


def _float_test(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    return _real(types, default_fp)[0], u1


def _count(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    if types[0].is_float:
        raise RuleError("takes an integer")
    return (types[0],), i32


def _overflow(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    if types[0].kind not in ("int", "uint") or any(t != types[0] for t in types):
        raise RuleError("takes integers of one type")
    return tuple(types), u1


def _wide_overflow(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    if types[0].bits < 32:
        raise RuleError("takes integers of 32 or 64 bits")
    return _overflow(types, default_fp)


def _select(types: Sequence[Scalar], default_fp: Scalar) -> tuple[tuple[Scalar, ...], Scalar]:
    common = promote(types[1], types[2])
    return (u1, common, common), common


def _floor_div(a: Any, b: Any) -> Any:
    if isinstance(a, np.floating):
        return np.floor(a / b)
    if b == 0:
        return type(a)(0)
    return type(a)(0) if a.dtype.kind == "b" else _wrap(int(a) // int(b), type(a))


def _mod(a: Any, b: Any) -> Any:
    if isinstance(a, np.floating):
        return a - b * np.floor(a / b)
    return type(a)(0) if b == 0 else type(a)(int(a) % int(b))


def _raw_div(a: Any, b: Any) -> Any:
    if isinstance(a, np.floating):
        return a / b
    if b == 0:
        return type(a)(0)
    quotient = abs(int(a)) // abs(int(b))
    return _wrap(quotient if (a < 0) == (b < 0) else -quotient, type(a))


def _raw_mod(a: Any, b: Any) -> Any:
    if isinstance(a, np.floating):
        return np.fmod(a, b)
    return type(a)(0) if b == 0 else _wrap(int(a) - int(b) * int(_raw_div(a, b)), type(a))


def _wrap(value: int, kind: type) -> Any:
    """Return `value` modulo 2^bits as NumPy integer `kind`."""
    info = np.iinfo(kind)
    value &= (1 << info.bits) - 1
    return kind(value - (1 << info.bits) if value > info.max else value)


def _pow(a: Any, b: Any) -> Any:
    if isinstance(a, np.floating):
        return np.sqrt(abs(a)) if b == 0.5 and (a == 0 or a == -np.inf) else np.power(a, b)  # NumPy: -0.0 and nan
    if b < 0:
        return type(a)(1 if a == 1 else (1 if int(b) % 2 == 0 else -1) if a == -1 else 0)
    return _wrap(pow(int(a), int(b), 1 << np.iinfo(type(a)).bits), type(a))


def _shift_left(a: Any, b: Any) -> Any:
    return _wrap(int(a) << (int(b) & (a.dtype.itemsize * 8 - 1)), type(a))


def _shift_right(a: Any, b: Any) -> Any:
    return type(a)(int(a) >> (int(b) & (a.dtype.itemsize * 8 - 1)))


def _shift_right_logical(a: Any, b: Any) -> Any:
    bits = a.dtype.itemsize * 8
    return _wrap((int(a) & ((1 << bits) - 1)) >> (int(b) & (bits - 1)), type(a))


def _overflows(value: int, kind: type) -> Any:
    """Return whether a number does not fit a NumPy integer `kind`."""
    return np.bool_(not np.iinfo(kind).min <= value <= np.iinfo(kind).max)


def _shift_overflows(a: Any, b: Any) -> Any:
    return np.True_ if not 0 <= b < a.dtype.itemsize * 8 else _overflows(int(a) << int(b), type(a))


def _power_overflows(a: Any, b: Any) -> Any:
    if b < 0 or abs(int(a)) <= 1:
        return np.False_
    return np.True_ if b >= a.dtype.itemsize * 8 else _overflows(int(a) ** int(b), type(a))


def _sum_overflows(a: Any) -> Any:
    """Return whether a partial sum of integers, in order, leaves their type."""
    return np.bool_(any(_overflows(total, a.dtype.type) for total in accumulate(map(int, a.flat))))


def _dot_overflows(a: Any, b: Any) -> Any:
    """Return whether a product, or a partial sum of the products, leaves the type."""
    products = [int(x) * int(y) for x, y in zip(a, b, strict=True)]
    return np.bool_(any(_overflows(n, a.dtype.type) for n in (*products, *accumulate(products))))


def _matmul_overflows(a: Any, b: Any) -> Any:
    return np.bool_(any(_dot_overflows(row, column) for row in a for column in np.atleast_2d(b.T)))


def _outer_overflows(a: Any, b: Any) -> Any:
    return np.bool_(any(_overflows(int(x) * int(y), a.dtype.type) for x in a for y in b))


def _cross_overflows(a: Any, b: Any) -> Any:
    left, right = (np.roll(a, -1), np.roll(b, 1)), (np.roll(a, 1), np.roll(b, -1))
    products = [[int(x) * int(y) for x, y in zip(*pair, strict=True)] for pair in (left, right)]
    differences = (x - y for x, y in zip(*products, strict=True))
    return np.bool_(any(_overflows(n, a.dtype.type) for n in (*products[0], *products[1], *differences)))


def _rounded(rounding: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the meaning of a rounding to whole numbers; it does not change integers."""
    return lambda a: rounding(a) if isinstance(a, np.floating) else a


def _leading_zeros(a: Any) -> Any:
    bits = a.dtype.itemsize * 8
    return np.int32(bits - (int(a) & ((1 << bits) - 1)).bit_length())


def _ones(a: Any) -> Any:
    return np.int32((int(a) & ((1 << a.dtype.itemsize * 8) - 1)).bit_count())


def _same_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if len(shapes[0]) != 1 or shapes[0] != shapes[-1]:
        raise ShapeError("takes two vectors of one length", "give both vectors one length: `v.xy` shortens")
    return ()


def _matmul_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    a, b = shapes
    if len(a) != 2 or not b or a[1] != b[0]:
        raise ShapeError(f"takes (n, k) @ (k, m) or (n, k) @ (k,), found {a} @ {b}", "swap or transpose an operand")
    return (a[0], b[1]) if len(b) == 2 else (a[0],)


def _transpose_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if len(shapes[0]) != 2:
        raise ShapeError("takes a matrix", "make one: `ti.Matrix([[a, b], [c, d]])`")
    return shapes[0][::-1]


def _outer_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if len(shapes[0]) != 1 or len(shapes[1]) != 1:
        raise ShapeError("takes two vectors", "make them: `ti.Vector([a, b])`")
    return shapes[0] + shapes[1]


def _cross_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if list(shapes) != [(3,), (3,)]:
        raise ShapeError("takes two vectors of 3 elements", "write `ti.math.vec3(x, y, z)`")
    return (3,)


def _any_to_scalar(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if not shapes[0]:
        raise ShapeError("takes a vector or matrix", "make one: `ti.Vector([a, b])`")
    return ()


def _vector_itself(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if len(shapes[0]) != 1:
        raise ShapeError("takes a vector", "make one: `ti.Vector([a, b])`")
    return shapes[0]


def _square_to_scalar(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    _square_itself(shapes)
    return ()


def _square_itself(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if len(shapes[0]) != 2 or shapes[0][0] != shapes[0][1]:
        raise ShapeError("takes a square matrix", "give it an (n, n) matrix")
    return shapes[0]


def _without_shape(rule: ShapeRule) -> ShapeRule:
    """Return a rule that takes the operands of `rule` and returns one value."""

    def single(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        rule(shapes)
        return ()

    return single


def _inverse(a: Any) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:  # singular: the result of elimination on the other targets, without its signs
        return np.full_like(a, np.inf)


def _sum(a: Any, axis: int = 0) -> Any:
    """Add elements one after another, as emitted sources do; `ndarray.sum` adds eight partial sums."""
    terms = np.ravel(a) if axis == 0 else a
    return np.add.accumulate(terms, axis=axis, dtype=a.dtype).take(-1, axis=axis)


def _matmul(a: Any, b: Any) -> Any:
    """Multiply and add as emitted sources do; NumPy's `a @ b` rounds a product and a sum once."""
    return _sum(a[:, :, np.newaxis] * b if b.ndim == 2 else a * b, axis=1)


def _norm(a: Any) -> Any:
    return np.sqrt(_sum(a * a))


OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op("add", 2, _arithmetic, lambda a, b: a + b, "+", commutative=True, on_u1="ne", atomic="add",
            host="({} + {})"),
        Op("sub", 2, _arithmetic, lambda a, b: a - b, "-", on_u1="ne", atomic="sub", host="({} - {})"),
        Op("mul", 2, _arithmetic, lambda a, b: a * b, "*", commutative=True, on_u1="logical_and", atomic="mul",
            host="({} * {})"),
        Op("div", 2, _real, lambda a, b: a / b, "/"),
        Op("floordiv", 2, _arithmetic, _floor_div, "//", on_u1="logical_and", host="({0} // {1} if {1} else 0)"),
        Op("mod", 2, _arithmetic, _mod, "%", host="({0} % {1} if {1} else 0)"),
        Op("pow", 2, _power, _pow, "**"),
        Op("raw_div", 2, _arithmetic, _raw_div, on_u1="logical_and", host="(int({0} / {1}) if {1} else 0)"),
        Op("raw_mod", 2, _arithmetic, _raw_mod),
        Op("plain_div", 2, _plain, _raw_div),
        Op("plain_mod", 2, _plain, _raw_mod),
        Op("near_mod", 2, _plain, _mod),
        Op("close_mod", 2, _plain, _mod),
        Op("wrapping_add", 2, _plain, lambda a, b: a + b, commutative=True),
        Op("wrapping_sub", 2, _plain, lambda a, b: a - b),
        Op("wrapping_mul", 2, _plain, lambda a, b: a * b, commutative=True),
        Op("wrapping_neg", 1, _plain, lambda a: -a),
        Op("biased_min", 2, _plain, np.fmin, commutative=True),
        Op("biased_max", 2, _plain, np.fmax, commutative=True),
        Op("lowest_bit", 1, _plain, lambda a: a & 1),
        Op("wide_shl", 2, _wide_shift, _shift_left),
        Op("shifted", 2, _word_shift, _shift_right),
        Op("shifted_bits", 2, _word_shift, _shift_right_logical),
        Op("rounded_half", 1, _real, lambda a: a),
        Op("root_square", 1, _real, lambda a: a * a),
        Op("flushed", 1, _real, lambda a: type(a)(0) if abs(a) < np.finfo(a.dtype).tiny and a.nbytes > 2 else a),
        Op("normal_rsqrt", 1, _real, lambda a: type(a)(1) / np.sqrt(a)),
        Op("normal_sqrt", 1, _real, np.sqrt),
        Op("short_sin", 1, _real, np.sin),
        Op("short_cos", 1, _real, np.cos),
        Op("paired_sin", 1, _real, np.sin),
        Op("paired_cos", 1, _real, np.cos),
        Op("short_atan2", 2, _angle, np.arctan2),
        Op("exp2", 1, _real, np.exp2),
        Op("exp10", 1, _real, lambda a: np.power(type(a)(10), a)),
        Op("normal_reciprocal", 1, _real, lambda a: type(a)(1) / a),
        Op("min", 2, _promoted, np.fmin, commutative=True, on_u1="logical_and", atomic="min",
            host="min({}, {})", takes_many=True),
        Op("max", 2, _promoted, np.fmax, commutative=True, on_u1="logical_or", atomic="max",
            host="max({}, {})", takes_many=True),
        Op("at_most", 2, _real, np.fmin),
        Op("at_least", 2, _real, np.fmax),
        Op("running_min", 2, _real, np.fmin),
        Op("running_max", 2, _real, np.fmax),
        Op("scalar_min", 2, _real, np.fmin),
        Op("scalar_max", 2, _real, np.fmax),
        Op("atan2", 2, _angle, np.arctan2),
        Op("bit_and", 2, _integral, lambda a, b: a & b, "&", commutative=True, on_u1="logical_and", atomic="and",
            host="({} & {})"),
        Op("bit_or", 2, _integral, lambda a, b: a | b, "|", commutative=True, on_u1="logical_or", atomic="or",
            host="({} | {})"),
        Op("bit_xor", 2, _integral, lambda a, b: a ^ b, "^", commutative=True, on_u1="ne", atomic="xor",
            host="({} ^ {})"),
        Op("shl", 2, _shift, _shift_left, "<<", host="({} << {})"),
        Op("sar", 2, _shift, _shift_right, ">>", host="({} >> {})"),
        Op("shr", 2, _shift, _shift_right_logical),
        Op("lt", 2, _compare, lambda a, b: a < b, "<", negated="ge", host="({} < {})"),
        Op("le", 2, _compare, lambda a, b: a <= b, "<=", negated="gt", host="({} <= {})"),
        Op("gt", 2, _compare, lambda a, b: a > b, ">", negated="le", host="({} > {})"),
        Op("ge", 2, _compare, lambda a, b: a >= b, ">=", negated="lt", host="({} >= {})"),
        Op("eq", 2, _compare, lambda a, b: a == b, "==", commutative=True, negated="ne", host="({} == {})"),
        Op("ne", 2, _compare, lambda a, b: a != b, "!=", commutative=True, negated="eq", host="({} != {})"),
        Op("logical_and", 2, _logical, np.logical_and, "and", commutative=True),
        Op("logical_or", 2, _logical, np.logical_or, "or", commutative=True),
        Op("logical_not", 1, _logical, np.logical_not, "not"),
        Op("rejoined", 1, _logical, lambda a: a),
        Op("neg", 1, _arithmetic, lambda a: -a, "-", host="(-{})"),
        Op("bit_not", 1, _integral, lambda a: ~a, "~"),
        Op("abs", 1, _promoted, np.abs, host="abs({})"),
        Op("sign", 1, _promoted, np.sign),
        Op("floor", 1, _promoted, _rounded(np.floor), is_in_math_h=True, takes_dtype=True),
        Op("ceil", 1, _promoted, _rounded(np.ceil), is_in_math_h=True, takes_dtype=True),
        Op("round", 1, _promoted, _rounded(np.rint), takes_dtype=True),
        Op("sin", 1, _real, np.sin, is_in_math_h=True),
        Op("cos", 1, _real, np.cos, is_in_math_h=True),
        Op("tan", 1, _real, np.tan, is_in_math_h=True),
        Op("asin", 1, _real, np.arcsin, is_in_math_h=True),
        Op("acos", 1, _real, np.arccos, is_in_math_h=True),
        Op("tanh", 1, _real, np.tanh, is_in_math_h=True),
        Op("asinh", 1, _real, np.arcsinh, is_in_math_h=True),
        Op("acosh", 1, _real, np.arccosh, is_in_math_h=True),
        Op("atanh", 1, _real, np.arctanh, is_in_math_h=True),
        Op("exp", 1, _real, np.exp, is_in_math_h=True),
        Op("log", 1, _real, np.log, is_in_math_h=True),
        Op("sqrt", 1, _real, np.sqrt, is_in_math_h=True),
        Op("rsqrt", 1, _real, lambda a: type(a)(1) / np.sqrt(a)),
        Op("isnan", 1, _float_test, np.isnan),
        Op("isinf", 1, _float_test, np.isinf),
        Op("popcnt", 1, _count, _ones),
        Op("clz", 1, _count, _leading_zeros),
        Op("select", 3, _select, lambda c, a, b: a if c else b, host="({1} if {0} else {2})"),
        Op("add_overflows", 2, _overflow, lambda a, b: _overflows(int(a) + int(b), type(a))),
        Op("sub_overflows", 2, _overflow, lambda a, b: _overflows(int(a) - int(b), type(a))),
        Op("mul_overflows", 2, _overflow, lambda a, b: _overflows(int(a) * int(b), type(a))),
        Op("shl_overflows", 2, _wide_overflow, _shift_overflows),
        Op("pow_overflows", 2, _wide_overflow, _power_overflows),
        Op("sum_overflows", 1, _overflow, _sum_overflows, shape_rule=_any_to_scalar),
        Op("dot_overflows", 2, _overflow, _dot_overflows, commutative=True, shape_rule=_same_shape),
        Op("cross_overflows", 2, _overflow, _cross_overflows, shape_rule=_without_shape(_cross_shape)),
        Op("matmul_overflows", 2, _overflow, _matmul_overflows, shape_rule=_without_shape(_matmul_shape)),
        Op("outer_product_overflows", 2, _overflow, _outer_overflows, shape_rule=_without_shape(_outer_shape)),
        Op("dot", 2, _linear, lambda a, b: _sum(a * b), commutative=True, shape_rule=_same_shape),
        Op("cross", 2, _linear, np.cross, shape_rule=_cross_shape),
        Op("matmul", 2, _linear, _matmul, "@", shape_rule=_matmul_shape),
        Op("lean_matmul", 2, _linear, _matmul, "@", shape_rule=_matmul_shape),
        Op("outer_product", 2, _linear, np.multiply.outer, shape_rule=_outer_shape),
        Op("transpose", 1, _promoted, np.transpose, shape_rule=_transpose_shape),
        Op("norm", 1, _real, _norm, shape_rule=_any_to_scalar),
        Op("normal_norm", 1, _real, _norm, shape_rule=_any_to_scalar),
        Op("normalized", 1, _real, lambda a: a / _norm(a), shape_rule=_vector_itself),
        Op("determinant", 1, _real, np.linalg.det, shape_rule=_square_to_scalar),
        Op("inverse", 1, _real, _inverse, shape_rule=_square_itself),
        Op("sum", 1, _arithmetic, _sum, shape_rule=_any_to_scalar),
    )
}  # fmt: skip
"""All operations except `cast` and `bit_cast`, whose result type is an argument (`statements.Cast`).

`plain_div` and `plain_mod` are `/` and `%` of the emitted languages, for non-negative integers and positive divisors.
`near_mod` is `mod` of an i32 from `-b` to `2 * b - 1`, `close_mod` from `-2 * b` to `3 * b - 1`, which need no division
(`passes/arithmetic/ranges.py`).
`wrapping_add` and its like are sums that may wrap, where a language leaves signed overflow undefined (pass `wrapping`).
`biased_min` and `biased_max` are `min` and `max` of integers with inverted sign bits (`passes/drivers/minima.py`).
`lowest_bit` is `x & 1`, extracted (`passes/drivers/lowest_bits.py`).
`wide_shl` is `<<` of 64 bits, in two words (`passes/drivers/wide_shifts.py`).
`shifted` and `shifted_bits` are `sar` and `shr` of 32 bits, extracted (`passes/drivers/added_shifts.py`).
`rejoined` is its operand, a condition of which the compiler knows nothing (`passes/drivers/rejoined_threads.py`).
`rounded_half` is its operand, an f16, certainly rounded (`passes/drivers/rounded_halves.py`).
`short_sin` and `short_cos` are `sin` and `cos` of an f32, coarser for large ones; `paired_sin` and `paired_cos` are
these where both are computed of one angle; `short_atan2` is `atan2` of f32 (`passes/arithmetic/short_angles.py`).
`exp2` and `exp10` are powers of 2 and 10 (`passes/arithmetic/literal_bases.py`).
`normal_rsqrt`, `normal_sqrt` and `normal_reciprocal` are `rsqrt`, `sqrt` and `1 / x` of an f32 that is no subnormal
number, or counts as 0 if it is; `normal_norm` is `norm` by `normal_sqrt` (`passes/arithmetic/normal_numbers.py`).
`root_square` is the product of a square root by itself (`passes/arithmetic/root_squares.py`).
`flushed` is its operand, or 0 if this is a subnormal number (`passes/arithmetic/flush_subnormals.py`).
`lean_matmul` is `matmul` without products by constants that are 0 (`passes/arithmetic/lean_products.py`).
`at_most`, `at_least`, `running_min`, `running_max`, `scalar_min` and `scalar_max` are those of `EXTREMES`.
"""

EXTREMES: dict[str, str] = {
    "at_most": "min", "at_least": "max", "running_min": "min", "running_max": "max",
    "scalar_min": "min", "scalar_max": "max",
}  # fmt: skip
"""`min` and `max` of floats in C whose second operand is no NaN, whose first one is that of earlier iterations, or that
are in no vectors (`passes/branches/extremes.py`); and what they are elsewhere."""

WRAPPING: dict[str, str] = {name: f"wrapping_{name}" for name in ("add", "sub", "mul", "neg")}
"""Operations of integers that wrap, and the same for languages in which signed overflow is undefined."""

U1_OPS: dict[str, str] = {op.name: op.on_u1 for op in OPS.values() if op.on_u1}
"""Operations whose result is u1, and the operation that replaces each on one bit."""

ATOMIC_OPS: dict[str, str] = {op.atomic: op.name for op in OPS.values() if op.atomic}
"""Atomic operations, and the operation of `OPS` that each computes."""

MASKED_OPS: dict[str, str] = {
    "insert": "({0} & ~{2}) | {1}",
    "add_bits": "({0} & ~{2}) | (({0} + {1}) & {2})",
}
"""Atomic operations on some bits of an unsigned integer, with what they compute of the old one, the value and the mask.

`insert` replaces the bits by those of the value, which has no others; `add_bits` adds to them, and they wrap.
"""

NEGATED: dict[str, str] = {op.name: op.negated for op in OPS.values() if op.negated}
"""Comparisons and their negations; for floats only `eq` and `ne`, since a NaN is neither less nor greater."""

ORDERINGS = frozenset({"lt", "le", "gt", "ge"})
COMPARISONS = ORDERINGS | {"eq", "ne"}
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
"""Comparisons, and what each is if its operands are exchanged."""

HOST_OPS: dict[str, int] = {op.name: op.arity for op in OPS.values() if op.host}
"""Operations that the extent of a loop may contain, with the number of their operands."""

MATH_H: tuple[str, ...] = tuple(op.name for op in OPS.values() if op.is_in_math_h)
"""Functions of floats that C's math.h and GLSL have by these names."""
LIBRARY = frozenset({*MATH_H, "pow", "atan2"}) - {"floor", "ceil", "sqrt"}
"""Operations that are calls in C."""
