"""Which headers a source needs, by the names that it means something by."""

from __future__ import annotations

from collections.abc import Collection

from ..languages.common.language import Language


def headers(language: Language, names: Collection[str]) -> list[str]:
    """Return the headers that every source has, and those that declare one of `names`."""
    return [*language.includes, *(header for header, declared in language.headers.items() if declared & set(names))]
