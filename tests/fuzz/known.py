"""Failures whose cause is known and is not ours: each with whose fault it is, and how it is recognised, narrowly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session import Failure

Run = Callable[[str, str], tuple[str, Any]]
"""Runs a program on a target: (target, source) to (kind, result)."""


@dataclass(frozen=True)
class Cause:
    """name: with whose fault it is. is_it: whether a failure has this cause."""

    name: str
    is_it: Callable[[Failure, Run], bool]


CAUSES: tuple[Cause, ...] = ()


def cause_of(failure: Failure, run: Run) -> str | None:
    """Return the name of the known cause of a failure, None if there is none."""
    return next((cause.name for cause in CAUSES if cause.is_it(failure, run)), None)
