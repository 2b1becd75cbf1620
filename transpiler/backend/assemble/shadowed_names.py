"""Finds the user's names that would hide what the text itself calls by the same word.

    float vec3_length = vec3_length(v);    ->    float vec3_length_ = vec3_length(v);

Which functions and types a text needs is known when it has been printed, not before. So it is printed with the user's
own names, and once more, with these words taken, if one of them hides something: names that hide nothing stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..layout.layout import Layout
from ..print.functions import PrintedFunction
from ..signatures import Signature
from ..spelling import helper_names
from ..target import Target

CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


def own_words(form: Layout, signatures: Iterable[Signature]) -> set[str]:
    """Return what the user's arrays, nodes, types, textures and functions are called, for all of a file to see."""
    words = {*form.accessors.names.values(), *form.words, *form.structs.names.values(), *form.textures.values()}
    words |= {name for tree in form.trees.values() for name in tree.names}
    return words | {name for signature in signatures for name in (signature.name, signature.result_type) if name}


def words_needed(
    target: Target,
    form: Layout,
    own: set[str],
    helpers: Iterable[str],
    data: Mapping[str, Any],
    functions: Iterable[PrintedFunction],
) -> set[str]:
    """Return the words by which a file means something that is ours or the language's: helpers, types, what it calls.

    own: names of the user's, which it calls too. helpers: keys of those it declares. data: of its template.
    """
    texts = [text for name in ("accessors", "cell_functions") for text in data[name]]
    texts += [text for f in functions for text in (f.head, f.text)]
    for task in data["tasks"]:
        texts += [task["head"], task["body"], task["call"], task["count"], task["pragma"]]
        texts += [*task["prologue"], *task["nest"]]
    called = {word for text in texts for line in text.split("\n") for word in CALL.findall(line.split("//")[0])}
    return (called - own) | {*helper_names(target.name, helpers), *(reference.name for reference in form.references)}
