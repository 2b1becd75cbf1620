"""`ti.lang.enums`: the enumerations of derivatives."""

from __future__ import annotations

from ..ad.clearing import AutodiffMode, SNodeGradType

__all__ = ["AutodiffMode", "SNodeGradType"]
