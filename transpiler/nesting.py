"""How deeply a kernel may nest: Python's recursion limit while a kernel is parsed, compiled and interpreted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

RECURSION_LIMIT = 20_000
"""Python itself accepts some 2,900 branches of one `elif` chain; a pass has up to six calls for each."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise the recursion limit within the context. It is one number of the process: compilations hold a lock."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
