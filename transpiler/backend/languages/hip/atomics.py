"""Atomic operations of HIP: those of CUDA, but for 16 bits, of which there is no compare-and-swap."""

from __future__ import annotations

from ....errors import UnsupportedError
from ....ir.types import Scalar
from ..common.spelling_forms import Spelling
from ..cuda import atomics


def spell(op: str, type: Scalar, native: bool) -> Spelling:
    """Return how an atomic operation is written: {0} place, {1} value.

    Raises: UnsupportedError for 8 and 16 bits.
    """
    if type.bits < 32:
        raise UnsupportedError(f"HIP has no atomic operations on {type}: use i32 or u32.")
    return atomics.spell(op, type, native)
