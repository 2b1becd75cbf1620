"""Which compiler makes the binaries of a target here: a part of what a kernel is, beside its text."""

from __future__ import annotations

from ...transpiler.errors import TaichiRuntimeError
from ..store.store import Store
from .target_tools import tools_of

MISSING = "missing"


def compiler_identity(target: str, store: Store | None = None) -> str:
    """Return a text that changes with the compiler of a target, and for C with the machine; "" for the interpreter.

    No compiler is run, but for the question what a C compiler calls, whose answer `store` remembers.
    """
    try:
        return tools_of(target).compiler_identity(store)
    except (OSError, TaichiRuntimeError):
        return MISSING
