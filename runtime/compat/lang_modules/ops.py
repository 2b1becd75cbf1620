"""`ti.lang.ops`: the mathematical and atomic functions of the language, and Python's operators as functions."""

from __future__ import annotations

from operator import add, floordiv, mul, sub, truediv
from operator import and_ as bit_and
from operator import eq as cmp_eq
from operator import ge as cmp_ge
from operator import gt as cmp_gt
from operator import inv as bit_not
from operator import le as cmp_le
from operator import lshift as bit_shl
from operator import lt as cmp_lt
from operator import ne as cmp_ne
from operator import or_ as bit_or
from operator import rshift as bit_sar
from operator import xor as bit_xor
from typing import Any

from ....transpiler.lang import operations
from ....transpiler.lang.decorators import pyfunc
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
    "add", "atomic_add", "atomic_and", "atomic_max", "atomic_min", "atomic_mul", "atomic_or", "atomic_sub",
    "atomic_xor", "bit_and", "bit_cast", "bit_not", "bit_or", "bit_sar", "bit_shl", "bit_shr", "bit_xor", "cast",
    "cmp_eq", "cmp_ge", "cmp_gt", "cmp_le", "cmp_lt", "cmp_ne", "floordiv", "mul", "neg", "random", "raw_div",
    "raw_mod", "rsqrt", "select", "sub", "truediv",
]  # fmt: skip
__all__ += operations.__all__


@pyfunc
def neg(x: Any) -> Any:
    """Return a value with the other sign."""
    return -x
