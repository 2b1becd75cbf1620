"""How one kernel is printed: in which language, how exactly, and around which names."""

from __future__ import annotations

from dataclasses import dataclass

from .language import Language


@dataclass(frozen=True, slots=True)
class Target:
    """A language and what one kernel asks of it.

    exact: helpers of ours compute what the language's own operations compute coarsely (fast_math=False).
    needed: names by which the source means something, so that none of the user's may hide them.
    """

    language: Language
    exact: bool = False
    needed: frozenset[str] = frozenset()
