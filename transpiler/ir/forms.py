"""What the frontend hands over: a kernel before any pass, and the Python objects its arrays stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .tasks import Kernel


@dataclass(slots=True)
class FrontendResult:
    """kernel: statements still as the author nested them.

    fields: Python objects of captured arrays, by slot (None: parameter). captured: names of globals read as constants,
    with their values.
    """

    kernel: Kernel
    fields: list[Any]
    captured: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
