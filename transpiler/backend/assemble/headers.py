"""Which headers a source needs, by the names that it means something by."""

from __future__ import annotations

from collections.abc import Collection

from ...ir.types import SCALARS, Scalar, parts_of, scalars_of, u32
from ..languages.common.language import Language
from ..languages.common.syntax import stored_type
from ..layout.layout import WIDENED, Layout


def headers(language: Language, names: Collection[str]) -> list[str]:
    """Return the headers that every source has, and those that declare one of `names`."""
    return [*language.includes, *(header for header, declared in language.headers.items() if declared & set(names))]


def member_types(language: Language, form: Layout) -> set[str]:
    """Return the names of the scalar types that lie in memory and that members of `Args` have."""
    use = form.use
    passed = [p.type for p in use.parameters]
    widened = [SCALARS[WIDENED.get(t.name, t.name)] if isinstance(t, Scalar) else t for t in passed]
    parts = [stored_type(language, part) for type in (*form.memory_types, *widened) for part in parts_of(type)]
    names = {scalar.name for part in parts for scalar in scalars_of(part)}
    names |= {u32.name} if use.random or use.sites or form.cells is not None else set()
    return {language.types[name] for name in names}
