"""`ti.lang.ops`: the mathematical and atomic functions of the language."""

from __future__ import annotations

from ....transpiler.lang import operations
from ....transpiler.lang.functions import (
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
    random,
    raw_div,
    raw_mod,
    rsqrt,
    select,
)
from ....transpiler.lang.operations import *  # noqa: F403

__all__ = [
    "atomic_add", "atomic_and", "atomic_max", "atomic_min", "atomic_mul", "atomic_or", "atomic_sub", "atomic_xor",
    "bit_cast", "bit_shr", "cast", "random", "raw_div", "raw_mod", "rsqrt", "select",
]  # fmt: skip
__all__ += operations.__all__
