"""Which compiler makes the binaries of a target here: a part of what a kernel is, beside its text."""

from __future__ import annotations

from ...transpiler.errors import TaichiRuntimeError
from ..store.compiler_files import c_compiler_identity, file_identity
from ..store.store import Store
from .glslang import require_tool
from .host_compiler import find_compiler
from .nvrtc import nvrtc_identity

MISSING = "missing"


def compiler_identity(target: str, store: Store | None = None) -> str:
    """Return a text that changes with the compiler of a target, and for C with the machine; "" for the interpreter.

    No compiler is run, but for the question what a C compiler calls, whose answer `store` remembers.
    """
    try:
        if target == "c":
            return c_compiler_identity(find_compiler().command, store)
        if target == "vulkan":
            return file_identity(require_tool())
        return nvrtc_identity() if target == "cuda" else ""
    except (OSError, TaichiRuntimeError):
        return MISSING
