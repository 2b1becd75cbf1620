"""`ti.types.quant`: integers and floats of any number of bits. They come with a later version."""

from __future__ import annotations

from ..missing_names import missing


def __getattr__(name: str) -> object:
    raise missing("ti.types.quant", name)
