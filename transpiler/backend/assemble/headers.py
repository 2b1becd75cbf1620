"""Which headers a text in C needs, found by the words in it.

In: the data of its template and the bodies of its functions. Out: names of headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..helpers import words_of_code
from ..print.functions import PrintedFunction
from ..print.statements import Line
from ..tables_c import HEADERS

LISTS = ("structs", "members", "temporaries", "results", "accessors", "cell_functions")
"""Lists of texts in the data of the template."""


def texts_of(
    data: Mapping[str, Any], bodies: Iterable[Sequence[Line]], functions: Iterable[PrintedFunction]
) -> list[str]:
    """Return the texts that a file in C is put together from."""
    texts = [data["helpers"], *(text for name in LISTS for text in data[name])]
    texts += [line.text for body in bodies for line in body]
    texts += [text for f in functions for text in (f.structure, f.head, *(line.text for line in f.body))]
    return texts + [text for task in data["tasks"] for text in (task["head"], *task["prologue"], *task["nest"])]


def headers(texts: Iterable[str]) -> list[str]:
    """Return the headers that declare a word in `texts`."""
    words = {word for text in texts for line in text.split("\n") for word in words_of_code(line)}
    return [header for header, declared in HEADERS.items() if words & declared]
