"""`ti.lang`: the namespace of Taichi's internal modules of the language."""

from __future__ import annotations

from ...transpiler.lang import simt
from . import inner
from .lang_modules import enums, exception, impl, kernel_impl, matrix, misc, ops, struct
from .lang_modules import host as util

__all__ = ["enums", "exception", "impl", "kernel_impl", "matrix", "misc", "ops", "simt", "struct", "util"]


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return inner.member("lang", name)
