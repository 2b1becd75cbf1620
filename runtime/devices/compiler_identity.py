"""The identity of the compiler of a target, which is part of a kernel's key besides its source."""

from __future__ import annotations

from ...transpiler.errors import TaichiRuntimeError
from ..store.store import Store
from .target_tools import tools_of

MISSING = "missing"


def compiler_identity(target: str, store: Store | None = None) -> str:
    """Return a string that changes with the compiler of a target, and for C with the machine; "" for the interpreter.

    Runs no compiler, except to query which programs a C compiler calls; `store` remembers the answer.
    """
    try:
        return tools_of(target).compiler_identity(store)
    except (OSError, TaichiRuntimeError):
        return MISSING
