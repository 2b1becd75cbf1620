"""Finds the user's names that would hide what the text itself calls by the same word.

    float vec3_length = vec3_length(v);    ->    float vec3_length_ = vec3_length(v);

Which functions and types a text needs is known when it has been printed, not before. So it is printed with the user's
own names, and once more, with these words taken, if one of them hides something: names that hide nothing stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..languages.common.signatures import Signature
from ..languages.common.symbols import Symbols
from ..languages.common.syntax import helper_names
from ..languages.common.target import Target
from ..layout.layout import Layout


def user_names(form: Layout, signatures: Iterable[Signature]) -> set[str]:
    """Return what the user's arrays, nodes, types, textures and functions are called, for all of a file to see."""
    words = {*form.accessors.names.values(), *form.words, *form.structs.names.values(), *form.textures.values()}
    words |= {name for tree in form.trees.values() for name in tree.names}
    return words | {name for signature in signatures for name in (signature.name, signature.result_type) if name}


def names_referenced(target: Target, form: Layout, helpers: Iterable[str], symbols: Symbols) -> set[str]:
    """Return the names by which a file means something that is ours or the language's: helpers, types, what it calls.

    helpers: keys of those it declares. symbols: of what is printed in it.
    """
    names = {reference.name for reference in form.references}
    return symbols.called | names.union(helper_names(target.language, helpers))
