"""A number that a kernel read from outside and has as a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import SourceLocation


@dataclass(frozen=True, slots=True)
class Captured:
    """A number read from outside the kernel. read: gives the present value. location: where the kernel reads it."""

    value: Any
    read: Callable[[], Any]
    location: SourceLocation
