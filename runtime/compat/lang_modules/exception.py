"""`ti.lang.exception`: the error classes that programs catch."""

from __future__ import annotations

from ....transpiler.errors import (
    TaichiAssertionError,
    TaichiCompilationError,
    TaichiIndexError,
    TaichiNameError,
    TaichiRuntimeError,
    TaichiRuntimeTypeError,
    TaichiSyntaxError,
    TaichiTypeError,
)

__all__ = [
    "TaichiAssertionError", "TaichiCompilationError", "TaichiIndexError", "TaichiNameError", "TaichiRuntimeError",
    "TaichiRuntimeTypeError", "TaichiSyntaxError", "TaichiTypeError",
]  # fmt: skip
