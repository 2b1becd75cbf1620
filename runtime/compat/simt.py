"""`ti.simt`: threads, blocks and subgroups; the path exists, its features come later."""

from __future__ import annotations

from .later import missing


def __getattr__(name: str) -> object:
    raise missing("ti.simt", name)
