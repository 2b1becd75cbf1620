"""Names in an emitted file: which come from the user, which the file references, and which headers declare these.

A user's name may hide a name that the source references:

    float vec3_length = vec3_length(v);    ->    float vec3_length_ = vec3_length(v);

Which functions and types a source references is known only when it has been printed. So it is printed with the user's
names, and printed again without those that hide something.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...ir.types import SCALARS, Scalar, parts_of, scalars_of, u32
from ..languages.common.language import Language
from ..languages.common.symbols import Symbols
from ..languages.common.syntax import stored_type
from ..layout.args_members import WIDENED
from ..layout.layout import Layout
from ..layout.signatures import Signature


def user_names(layout: Layout, signatures: Iterable[Signature]) -> frozenset[str]:
    """Return the names with file scope of the user's arrays, nodes, types, textures and functions."""
    names = {*layout.accessors.names.values(), *layout.macro_names, *layout.structs.names.values()}
    names |= layout.constants.numbers.keys()
    names |= {*layout.textures.values(), *(name for tree in layout.trees.values() for name in tree.names)}
    names |= {name for signature in signatures for name in (signature.name, signature.result_type) if name}
    return frozenset(names)


def referenced_names(layout: Layout, helpers: Iterable[str], symbols: Symbols) -> set[str]:
    """Return the generated names and the names of the language that a file references: helpers, types, functions.

    helpers: the names that the helpers of the file define. symbols: of what is printed in it.
    """
    references = [reference.name for reference in layout.references]
    return symbols.called.union(references, helpers, layout.memory.variables.values())


def headers(language: Language, names: Collection[str]) -> list[str]:
    """Return the headers that every source includes, and those that declare one of `names`."""
    return [*language.includes, *(header for header, declared in language.headers.items() if declared & set(names))]


def member_types(language: Language, layout: Layout) -> set[str]:
    """Return the names of the scalar types that are stored in memory or passed in `Args`."""
    usage = layout.usage
    passed = [p.type for p in usage.parameters]
    widened = [SCALARS[WIDENED.get(t.name, t.name)] if isinstance(t, Scalar) else t for t in passed]
    parts = [stored_type(language, part) for type in (*layout.memory_types, *widened) for part in parts_of(type)]
    names = {scalar.name for part in parts for scalar in scalars_of(part)}
    names |= {u32.name} if usage.random or usage.sites or layout.cells is not None else set()
    return {language.types[name] for name in names}
