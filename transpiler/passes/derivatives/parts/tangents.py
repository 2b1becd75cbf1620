"""The tangent of every operation: how its result changes, given how its operands do.

Of an elementwise operation the rule of its adjoint serves, since a partial derivative is a factor in both. `TANGENTS`
has the rules of the operations of vectors and matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .adjoints import ADJOINTS
from .algebra import Value

Rule = Callable[..., "Value | None"]
"""Takes the result, then the operands, then the tangents of these, None for those that do not change."""


def _bilinear(name: str) -> Rule:
    def rule(y: Value, a: Value, b: Value, da: Value | None, db: Value | None) -> Value | None:
        first = None if da is None else da.apply(name, b)
        second = None if db is None else a.apply(name, db)
        return first + second if first is not None and second is not None else first or second

    return rule


def _linear(name: str) -> Rule:
    return lambda y, a, da: da.apply(name)


def _determinant(y: Value, a: Value, da: Value) -> Value:
    one = Value(a.builder, a.builder.const(1, a.element))
    (cofactors,) = ADJOINTS["determinant"](one, y, a)
    assert cofactors is not None
    return (cofactors * da).apply("sum")


TANGENTS: dict[str, Rule] = {
    "dot": _bilinear("dot"),
    "cross": _bilinear("cross"),
    "matmul": _bilinear("matmul"),
    "lean_matmul": _bilinear("matmul"),
    "outer_product": _bilinear("outer_product"),
    "transpose": _linear("transpose"),
    "sum": _linear("sum"),
    "norm": lambda y, a, da: (a * da).apply("sum") / y,
    "normal_norm": lambda y, a, da: (a * da).apply("sum") / y,
    "normalized": lambda y, a, da: (da - y * y.apply("dot", da)) / a.apply("norm"),
    "determinant": _determinant,
    "inverse": lambda y, a, da: -(y @ da @ y),
}


def tangent_of(name: str, y: Value, operands: Sequence[Value], tangents: Sequence[Value | None]) -> Value | None:
    """Return the tangent of a result, None if no operand changes."""
    if all(tangent is None for tangent in tangents):
        return None
    if name in TANGENTS:
        return TANGENTS[name](y, *operands, *tangents)
    total: Value | None = None
    for position, tangent in enumerate(tangents):
        if tangent is None:
            continue
        contributions = ADJOINTS[name](tangent, y, *operands)
        if position < len(contributions) and (term := contributions[position]) is not None:
            total = term if total is None else total + term
    return total
