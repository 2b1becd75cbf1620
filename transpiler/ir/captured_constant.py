"""A number that a kernel reads from outside and that is a constant of the compiled kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import SourceLocation
from ..lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CapturedConstant:
    """A number read from outside the kernel.

    Attributes:
        value: the number at the time of compilation.
        read: returns the present value.
        location: where the kernel reads it.
    """

    value: Any
    read: Callable[[], Any]
    location: SourceLocation
