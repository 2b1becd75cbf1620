"""Sets of texts, whose order differs from process to process: whether a kernel may depend on it.

In: texts of functions, and the names by which they know a set. Out: whether they only ask what is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

IN = re.compile(r"\b(?:for\s+[\w\s,()*]+?\s)?in\s+(?:\w+\s*\.\s*)*$")
"""What stands before the name of a set that is asked, or gone through."""


def only_asked(names: Iterable[str], texts: Iterable[str]) -> bool:
    """Tell whether texts name a set nowhere but as in `x in names`."""
    searched = list(texts)
    return all(name.isidentifier() and _is_asked(name, searched) for name in names)


def _is_asked(name: str, texts: list[str]) -> bool:
    found = False
    for text in texts:
        for place in re.finditer(rf"\b{name}\b", text):
            before = IN.search(text, 0, place.start())
            goes_on = text[place.end() : place.end() + 1] in (".", "(", "[")
            if before is None or before.group().startswith("for") or goes_on:
                return False
            found = True
    return found
