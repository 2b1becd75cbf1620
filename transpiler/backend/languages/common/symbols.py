"""Which names a source means something by: what printers hand on of what they have printed.

(int)floorf(x) + clz_u32(n)    ->    called: floorf, clz_u32; named: these, and int
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .language import Language
from .syntax_forms import Syntax


@dataclass(slots=True)
class Symbols:
    """Names of a language or of helpers, as they are printed. called: functions. named: also types and constants."""

    called: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)

    def use(self, syntax: Syntax) -> None:
        """Note the names in a spelling."""
        self.called.update(syntax.called)
        self.named.update(syntax.named)

    def call(self, *names: str) -> None:
        """Note functions that are called."""
        self.called.update(names)
        self.named.update(names)

    def name_types(self, language: Language, scalars: list[str]) -> None:
        """Note the names that a language has for types of ours."""
        self.named.update(language.types[scalar] for scalar in scalars)

    def add(self, other: Symbols) -> None:
        """Note what another source names."""
        self.called |= other.called
        self.named |= other.named
