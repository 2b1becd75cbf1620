"""Atomic operations of HIP: those of CUDA except for 16 bits, which have no compare-and-swap."""

from __future__ import annotations

from ....errors import UnsupportedError
from ....ir.types import Scalar
from ..common.syntax_forms import Syntax
from ..cuda import atomics


def atomic_syntax(op: str, type: Scalar, native: bool) -> Syntax:
    """Return the syntax of an atomic operation: {0} target, {1} value.

    Raises: UnsupportedError for 8 and 16 bits.
    """
    if type.bits < 32:
        raise UnsupportedError(f"HIP has no atomic operations on {type}: use i32 or u32.")
    return atomics.atomic_syntax(op, type, native)
