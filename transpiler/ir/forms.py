"""What the frontend hands over: a kernel before any pass, and the Python objects its arrays stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import SourceLocation
from .snodes import Node
from .tasks import Kernel


@dataclass(frozen=True, slots=True)
class Captured:
    """A number read from outside the kernel. read: gives what stands there now. location: where the kernel reads it."""

    value: Any
    read: Callable[[], Any]
    location: SourceLocation


@dataclass(slots=True)
class FrontendResult:
    """kernel: statements still as the author nested them.

    fields: Python objects of captured arrays, by slot (None: parameter). captured: globals read as constants, by the
    expression that reads them. trees: owners of the memory of sparse trees, by the tops of these.
    """

    kernel: Kernel
    fields: list[Any]
    captured: dict[str, Captured] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    trees: dict[Node, Any] = field(default_factory=dict)
