"""What a compilation gives; a module of its own, since a text from the cache needs no compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...ir.captured_constant import CapturedConstant
from ...ir.snodes import Node
from .interface import BackendModule


@dataclass(frozen=True, slots=True)
class Compilation:
    """module: the text and its interface. fields: captured arrays by slot, None for parameters. times: [s] by
    stage, filled by who took them.

    beside: node and role of the arrays beside the cells of sparse trees, by slot. loops: file and line of
    the loop of each task. read: the Python objects that the
    kernel and its functions read by a name or as a member, by identity; None for a text from the cache. passes: [s] in
    each of them.
    """

    module: BackendModule
    fields: tuple[Any, ...]
    captured: dict[str, CapturedConstant]
    warnings: tuple[str, ...]
    times: dict[str, float]
    beside: Mapping[int, tuple[Node, str]] = field(default_factory=dict)
    loops: tuple[tuple[str, int] | None, ...] = ()
    dependencies: Mapping[int, Any] | None = None
    passes: Mapping[str, float] = field(default_factory=dict)
