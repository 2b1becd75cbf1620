"""The adjoint of every operation: what the operands contribute to, given the adjoint of the result.

`ADJOINTS` has a rule for each operation whose result is a real function of its operands, `ZERO` the operations whose
derivative is 0 wherever it exists (steps, integers, truth values). An operation is in exactly one of them; a test fails
for one that is in none.

A rule takes the adjoint `g` of the result, the result `y`, and the operands; it returns the adjoint of each operand,
None for one that is no real number. Elementwise rules hold element by element.
Source: the rules of matrices are those of Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....ir.ops import EXTREMES, OPS
from .algebra import Value, tensor, where

Rule = Callable[..., Sequence["Value | None"]]


def _product(g: Value, y: Value, a: Value, b: Value) -> Sequence[Value]:
    if a.statement is b.statement:
        return (2.0 * a * g,)
    return g * b, g * a


def _power(g: Value, y: Value, a: Value, b: Value) -> Sequence[Value]:
    slope = b * a.apply("pow", b - 1.0)
    return g * slope, g * where(a.apply("eq", 0.0), 0.0, y * a.apply("log"))


def _least(g: Value, y: Value, a: Value, b: Value) -> Sequence[Value]:
    is_first = a.apply("le", b)
    return where(is_first, g, 0.0), where(is_first, 0.0, g)


def _greatest(g: Value, y: Value, a: Value, b: Value) -> Sequence[Value]:
    is_first = a.apply("ge", b)
    return where(is_first, g, 0.0), where(is_first, 0.0, g)


def _angle(g: Value, y: Value, a: Value, b: Value) -> Sequence[Value]:
    square = a * a + b * b
    return g * b / square, -g * a / square


def _choice(g: Value, y: Value, condition: Value, a: Value, b: Value) -> Sequence[Value | None]:
    return None, where(condition, g, 0.0), where(condition, 0.0, g)


def _matrix_product(g: Value, y: Value, a: Value, b: Value) -> Sequence[Value]:
    if len(b.shape) == 1:
        return g.apply("outer_product", b), a.transposed @ g
    return g @ b.transposed, a.transposed @ g


def _length(g: Value, y: Value, a: Value) -> Sequence[Value]:
    return (g / y * a,)


def _direction(g: Value, y: Value, a: Value) -> Sequence[Value]:
    return ((g - y * y.apply("dot", g)) / a.apply("norm"),)


def _determinant(g: Value, y: Value, a: Value) -> Sequence[Value]:
    rows = list(range(a.shape[0]))
    cofactors = [_cofactor(a, row, column) for row in rows for column in rows]
    return (g * tensor(cofactors, a.shape),)


def _cofactor(a: Value, row: int, column: int) -> Value:
    """Return the derivative of the determinant by an element."""
    rows = [k for k in range(a.shape[0]) if k != row]
    columns = [k for k in range(a.shape[0]) if k != column]
    minor = _minor(a, rows, columns)
    return -minor if (row + column) % 2 else minor


def _minor(a: Value, rows: list[int], columns: list[int]) -> Value:
    """Return the determinant of the chosen rows and columns, by the first of the rows."""
    if not rows:
        return Value(a.builder, a.builder.const(1, a.element))
    result: Value | None = None
    for position, column in enumerate(columns):
        rest = [other for other in columns if other != column]
        term = a.at(rows[0], column) * _minor(a, rows[1:], rest)
        result = term if result is None else result - term if position % 2 else result + term
    assert result is not None
    return result


def _inverse(g: Value, y: Value, a: Value) -> Sequence[Value]:
    return (-(y.transposed @ g @ y.transposed),)


def _sum(g: Value, y: Value, a: Value) -> Sequence[Value]:
    count = 1
    for extent in a.shape:
        count *= extent
    return (tensor([g] * count, a.shape),)


ADJOINTS: dict[str, Rule] = {
    "add": lambda g, y, a, b: (g, g),
    "sub": lambda g, y, a, b: (g, -g),
    "mul": _product,
    "div": lambda g, y, a, b: (g / b, -g * y / b),
    "raw_div": lambda g, y, a, b: (g / b, -g * y / b),
    "mod": lambda g, y, a, b: (g, -g * (a / b).apply("floor")),
    "raw_mod": lambda g, y, a, b: (g, -g * ((a - y) / b).apply("round")),
    "pow": _power,
    "min": _least,
    "max": _greatest,
    **{name: _least if general == "min" else _greatest for name, general in EXTREMES.items()},
    "atan2": _angle,
    "neg": lambda g, y, a: (-g,),
    "abs": lambda g, y, a: (g * a.apply("sign"),),
    "sin": lambda g, y, a: (g * a.apply("cos"),),
    "cos": lambda g, y, a: (-g * a.apply("sin"),),
    "tan": lambda g, y, a: (g * (1.0 + y * y),),
    "asin": lambda g, y, a: (g / (1.0 - a * a).apply("sqrt"),),
    "acos": lambda g, y, a: (-g / (1.0 - a * a).apply("sqrt"),),
    "tanh": lambda g, y, a: (g * (1.0 - y * y),),
    "asinh": lambda g, y, a: (g / (a * a + 1.0).apply("sqrt"),),
    "acosh": lambda g, y, a: (g / (a * a - 1.0).apply("sqrt"),),
    "atanh": lambda g, y, a: (g / (1.0 - a * a),),
    "exp": lambda g, y, a: (g * y,),
    "log": lambda g, y, a: (g / a,),
    "sqrt": lambda g, y, a: (0.5 * g / y,),
    "rsqrt": lambda g, y, a: (-0.5 * g * y / a,),
    "normal_rsqrt": lambda g, y, a: (-0.5 * g * y / a,),
    "normal_sqrt": lambda g, y, a: (0.5 * g / y,),
    "short_sin": lambda g, y, a: (g * a.apply("cos"),),
    "short_cos": lambda g, y, a: (-g * a.apply("sin"),),
    "paired_sin": lambda g, y, a: (g * a.apply("cos"),),
    "paired_cos": lambda g, y, a: (-g * a.apply("sin"),),
    "short_atan2": _angle,
    "exp2": lambda g, y, a: (math.log(2) * g * y,),
    "exp10": lambda g, y, a: (math.log(10) * g * y,),
    "normal_reciprocal": lambda g, y, a: (-g * y * y,),
    "rounded_half": lambda g, y, a: (g,),
    "flushed": lambda g, y, a: (g,),
    "root_square": lambda g, y, a: (2.0 * g * a,),
    "select": _choice,
    "dot": lambda g, y, a, b: (2.0 * g * a,) if a.statement is b.statement else (g * b, g * a),
    "cross": lambda g, y, a, b: (b.apply("cross", g), g.apply("cross", a)),
    "matmul": _matrix_product,
    "lean_matmul": _matrix_product,
    "outer_product": lambda g, y, a, b: (g @ b, g.transposed @ a),
    "transpose": lambda g, y, a: (g.transposed,),
    "norm": _length,
    "normal_norm": _length,
    "normalized": _direction,
    "determinant": _determinant,
    "inverse": _inverse,
    "sum": _sum,
}
"""The rule of each operation. A rule may return one adjoint for two equal operands: that of both together."""

ZERO = frozenset({
    "floordiv", "floor", "ceil", "round", "sign",
    "lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_not", "rejoined", "isnan", "isinf",
    "bit_and", "bit_or", "bit_xor", "bit_not", "shl", "sar", "shr", "popcnt", "clz",
    "plain_div", "plain_mod", "near_mod", "close_mod", "wrapping_add", "wrapping_sub", "wrapping_mul", "wrapping_neg",
    "biased_min", "biased_max", "lowest_bit", "wide_shl", "shifted",
    "shifted_bits",
    *(name for name in OPS if name.endswith("_overflows")),
})  # fmt: skip
"""Operations whose derivative is 0 wherever it exists: steps, and those whose operands or results are no reals."""
