"""Objects that notebooks show as HTML: the base class, which knows none of the pages.

In: `use`, a function from an object to HTML; the root package gives it, and it loads what it needs at its first call.
Out: `_repr_html_`, which IPython, marimo and Quarto call. Programs outside notebooks pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_RENDERERS: list[Callable[[Any], str]] = []


def use(render: Callable[[Any], str]) -> None:
    """Let `render` make the HTML of all objects."""
    _RENDERERS[:] = [render]


def table_lines(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Return rows as lines of text, with columns of one width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


class Viewed:
    """Base of objects that notebooks show as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return _RENDERERS[0](self) if _RENDERERS else None


class Code(str, Viewed):
    """Source as a string that a notebook shows in colours. language: the name of the target."""

    language: str

    def __new__(cls, text: str, language: str) -> Code:
        """Return the string with its language."""
        code = super().__new__(cls, text)
        code.language = language
        return code

    def __reduce__(self) -> tuple[Any, ...]:
        return Code, (str(self), self.language)

    def __str__(self) -> str:
        return str.__str__(self)
