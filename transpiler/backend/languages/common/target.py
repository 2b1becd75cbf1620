"""How one kernel is printed: the language, the accuracy, and the names to avoid."""

from __future__ import annotations

from ....lazy_dataclasses import dataclass
from .language import Language


@dataclass(frozen=True, slots=True)
class Target:
    """A language and the settings of one kernel.

    exact: generated helpers replace the language's operations that are too coarse (fast_math=False).
    offsets: comments of the argument block have the offsets of its members.
    referenced: names that the source refers to, so that no name of the user may hide them.
    """

    language: Language
    exact: bool = False
    offsets: bool = False
    referenced: frozenset[str] = frozenset()
