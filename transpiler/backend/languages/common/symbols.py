"""The names that a source refers to: what printers report about the source that they have printed.

(int)floorf(x) + clz_u32(n)    ->    called: floorf, clz_u32; named: these, and int
"""

from __future__ import annotations

from dataclasses import field

from ....lazy_dataclasses import dataclass
from .language import Language
from .syntax_forms import Syntax


@dataclass(slots=True)
class Symbols:
    """Names of a language or of helpers, as they are printed.

    Attributes:
        called: functions.
        named: types and constants too.
        templates: those whose names have been recorded.
    """

    called: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    templates: set[str] = field(default_factory=set)

    def use(self, syntax: Syntax) -> None:
        """Record the names in a syntax."""
        if syntax.template not in self.templates:
            self.templates.add(syntax.template)
            self.called.update(syntax.called)
            self.named.update(syntax.named)

    def call(self, *names: str) -> None:
        """Record functions that are called."""
        self.called.update(names)
        self.named.update(names)

    def name_types(self, language: Language, scalars: list[str]) -> None:
        """Record the language's names of scalar types."""
        self.named.update(language.types[scalar] for scalar in scalars)

    def add(self, other: Symbols) -> None:
        """Record the names of another source."""
        self.called |= other.called
        self.named |= other.named
