"""`ti.lang`: the namespace of Taichi's inner modules of the language."""

from __future__ import annotations

from . import exception, impl, kernel_impl, matrix, misc, ops, simt, struct
from . import host as util

__all__ = ["exception", "impl", "kernel_impl", "matrix", "misc", "ops", "simt", "struct", "util"]
