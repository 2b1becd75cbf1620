"""The known name that a misspelt one is probably meant for.

Python's `difflib` is loaded at the first misspelt name: every start imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .loading import loader

if TYPE_CHECKING:
    from typing import Protocol

    class _Difflib(Protocol):
        def get_close_matches(self, word: str, possibilities: list[str], n: int) -> list[str]: ...


_difflib: Callable[[], _Difflib] = loader("difflib", None)


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the closest known name in a list, which is empty if none is close."""
    return _difflib().get_close_matches(name, list(known), 1)
