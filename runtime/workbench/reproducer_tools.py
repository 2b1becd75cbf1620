"""What differs between targets when a call is exported as a program of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ...transpiler.backend.module.interface import BackendModule, TaskSource
from ..devices.target_tools import Part


@dataclass(frozen=True, kw_only=True)
class ReproducerTools(Part):
    """How the program launches sources of a target.

    flags: options of the compiler for a module. grid: takes a task and its number of groups; returns groups in a row,
    and rows. facts: further entries of `launch.json`.
    """

    MODULE: ClassVar[str] = "reproducer"

    flags: Callable[[BackendModule], list[str]]
    grid: Callable[[TaskSource, int], tuple[int, int]] = lambda task, groups: (groups, 1)
    facts: Callable[[], dict[str, Any]] = dict
