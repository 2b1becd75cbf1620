"""`ti.lang.enums`: what programs choose from."""

from __future__ import annotations

from ....transpiler.lang.hooks import Layout
from ....transpiler.lang.textures import Format
from ...ad.clearing import AutodiffMode, SNodeGradType

__all__ = ["AutodiffMode", "Format", "Layout", "SNodeGradType"]
