"""`ti.lang.enums`: the enumerations of derivatives."""

from __future__ import annotations

from enum import Enum

__all__ = ["AutodiffMode", "SNodeGradType"]


class AutodiffMode(Enum):
    """What a kernel computes: values, or derivatives in one of two orders."""

    NONE = 0
    VALIDATION = 1
    FORWARD = 2
    REVERSE = 3


class SNodeGradType(Enum):
    """What a field holds: values, derivatives, or the marks of a check."""

    PRIMAL = 0
    ADJOINT = 1
    DUAL = 2
    ADJOINT_CHECKBIT = 3
