"""What differs between targets when a call is written as a program of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ...transpiler.backend.module.interface import BackendModule, TaskSource
from ..devices.target_tools import Part


@dataclass(frozen=True, kw_only=True)
class ReproducerTools(Part):
    """How the program launches sources of a target.

    flags: what the compiler of a module is called with. grid: takes a task and its number of groups; returns groups
    in a row, and rows. facts: what `launch.json` holds besides.
    """

    MODULE: ClassVar[str] = "reproducer"

    flags: Callable[[BackendModule], list[str]]
    grid: Callable[[TaskSource, int], tuple[int, int]] = lambda task, groups: (groups, 1)
    facts: Callable[[], dict[str, Any]] = dict
