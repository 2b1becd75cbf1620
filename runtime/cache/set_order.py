"""Sets of strings, whose order differs between processes: whether a kernel may depend on the order.

In: sources of functions, and their names for a set. Out: whether they only test for membership.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

IN = re.compile(r"\b(?:for\s+[\w\s,()*]+?\s)?in\s+(?:\w+\s*\.\s*)*$")
"""The source before the name of a set in a membership test or a loop."""


def has_only_membership_tests(names: Iterable[str], texts: Iterable[str]) -> bool:
    """Return whether sources use a set only as in `x in names`."""
    searched = list(texts)
    return all(name.isidentifier() and _is_membership_test(name, searched) for name in names)


def _is_membership_test(name: str, texts: list[str]) -> bool:
    found = False
    for text in texts:
        for use in re.finditer(rf"\b{name}\b", text):
            before = IN.search(text, 0, use.start())
            is_accessed = text[use.end() : use.end() + 1] in (".", "(", "[")
            if before is None or before.group().startswith("for") or is_accessed:
                return False
            found = True
    return found
