"""The result of a compilation. A module of its own, since a source from the cache needs no compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ...ir.captured_constant import CapturedConstant
from ...ir.snodes import Node
from ...lazy_dataclasses import dataclass
from .interface import BackendModule


@dataclass(frozen=True, slots=True)
class Compilation:
    """The result of a compilation.

    module: the source and its interface.
    fields: captured arrays by binding, None for parameters.
    times: [s] by stage, filled in by the caller that measures them.
    auxiliary: node and role of the auxiliary arrays of sparse trees, by binding.
    loops: file and line of the loop of each task.
    dependencies: the Python objects that the kernel and its functions read by a name or as a member, by identity; None
        for a source from the cache.
    passes: [s] by pass.
    runs: name, start, seconds and effect of each run of a pass (`passes.context.PassRun`), in order.
    """

    module: BackendModule
    fields: tuple[Any, ...]
    captured: dict[str, CapturedConstant]
    warnings: tuple[str, ...]
    times: dict[str, float]
    auxiliary: Mapping[int, tuple[Node, str]] = field(default_factory=dict)
    loops: tuple[tuple[str, int] | None, ...] = ()
    dependencies: Mapping[int, Any] | None = None
    passes: Mapping[str, float] = field(default_factory=dict)
    runs: tuple[Any, ...] = ()
