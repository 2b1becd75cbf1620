"""What differs between targets when macros of edited sources are active."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....transpiler.backend.module.interface import TaskSource
from ...devices.target_tools import Part


@dataclass(frozen=True, slots=True)
class Statement:
    """One use of a macro, to be written as a statement without its semicolon.

    name: of the macro. site: number of its record site. condition: of SM_ASSERT. before: integers that a record begins
    with. values: what it has then; of SM_TRAP_NAN the values that may be NaN. task: that runs it, None if unknown.
    """

    name: str
    site: int
    condition: str
    before: Sequence[str]
    values: Sequence[str]
    task: TaskSource | None

    @property
    def all_values(self) -> list[str]:
        """All values of the record."""
        return [*self.before, *self.values]


@dataclass(frozen=True, kw_only=True)
class MacroTools(Part):
    """How macros are written in the language of a target.

    header: takes the source and the address of the report buffer; returns the code that statements need.
    place: takes the source without comments and strings; returns where the header goes.
    statement: returns the code of a use, on one line.
    additions: takes the source without comments and strings; returns code by the position at which it is inserted.
    has_threads: a record has the number of the thread that wrote it.
    """

    MODULE: ClassVar[str] = "macros"

    header: Callable[[str, int], str]
    place: Callable[[str], int]
    statement: Callable[[Statement], str]
    additions: Callable[[str], dict[int, str]] = lambda code: {}
    has_threads: bool = True
