"""`ti._lib`: the namespace of `core` and `utils`."""

from __future__ import annotations

from . import core
from . import system as utils

__all__ = ["core", "utils"]
