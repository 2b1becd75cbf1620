"""`ti.lang.ops`: the functions of the language that compute."""

from __future__ import annotations

from ....transpiler.lang.functions import (
    abs,  # noqa: A004
    acos,
    asin,
    atan2,
    atomic_add,
    atomic_and,
    atomic_max,
    atomic_min,
    atomic_mul,
    atomic_or,
    atomic_sub,
    atomic_xor,
    bit_cast,
    bit_shr,
    cast,
    ceil,
    cos,
    exp,
    floor,
    log,
    max,  # noqa: A004
    min,  # noqa: A004
    pow,  # noqa: A004
    random,
    raw_div,
    raw_mod,
    round,  # noqa: A004
    rsqrt,
    select,
    sin,
    sqrt,
    tan,
    tanh,
)

__all__ = [
    "abs", "acos", "asin", "atan2", "atomic_add", "atomic_and", "atomic_max", "atomic_min", "atomic_mul", "atomic_or",
    "atomic_sub", "atomic_xor", "bit_cast", "bit_shr", "cast", "ceil", "cos", "exp", "floor", "log", "max", "min",
    "pow", "random", "raw_div", "raw_mod", "round", "rsqrt", "select", "sin", "sqrt", "tan", "tanh",
]  # fmt: skip
