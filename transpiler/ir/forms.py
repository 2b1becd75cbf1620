"""What the frontend hands over: a kernel before any pass, and the Python objects its arrays represent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .captured import Captured
from .snodes import Node
from .tasks import Kernel


@dataclass(slots=True)
class FrontendResult:
    """kernel: statements still as the author nested them.

    fields: Python objects of captured arrays, by slot (None: parameter). captured: globals read as constants, by the
    expression that reads them. trees: owners of the memory of sparse trees, by the tops of these. read: the objects
    that were read by a name or as a member, by identity. needs: what a target must have, or the frontend would have
    refused the kernel: member of `Capabilities`, relation, value.
    """

    kernel: Kernel
    fields: list[Any]
    captured: dict[str, Captured] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    trees: dict[Node, Any] = field(default_factory=dict)
    read: dict[int, Any] = field(default_factory=dict)
    needs: list[tuple[str, str, int | str]] = field(default_factory=list)
