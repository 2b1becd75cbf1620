"""Accesses outside memory by shaders on lavapipe: errors instead of the end of the process.

lavapipe runs shaders in threads of this process. Its faults are handled like those of compiled C
(`devices/host/kernel_signals.c`): the instruction is left out, the shader runs to its end, and the next wait raises an
error. The length of the instruction is known to LLVM, which the driver has loaded. This needs a C compiler, or what one
compiled before; without it such an access ends the process.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Sequence
from functools import cache

from .....transpiler.errors import TaichiRuntimeError
from ....store.store import Store
from ...host.compiler import find_compiler
from ...host.kernel_signals import Starting, add_driver, attention, raise_errors


class ShaderFaults:
    """The faults of one device. number: of the driver among the libraries of kernels, -1 if faults are not handled."""

    def __init__(self, store: Store | None) -> None:
        self.number = -1
        try:
            self._starting: Starting | None = Starting(find_compiler(), store)
        except TaichiRuntimeError:  # there is no C compiler
            self._starting = None

    def prepare(self) -> None:
        """Install the handlers, before a shader is loaded."""
        if self._starting is not None:
            self._starting.finish()
            self._starting = None
            found = _disassembler()
            if found is not None:
                self.number = add_driver(*found)

    def check(self, recent: Sequence[str]) -> None:
        """Raise TaichiRuntimeError if a launch that has ended accessed memory outside all. recent: kernels."""
        if attention and self.number >= 0:
            raise_errors("` or `".join(dict.fromkeys(recent)) or "?", [self], _unknown_owner)


@cache
def _disassembler() -> tuple[int, int] | None:
    """Return a context of LLVM's disassembler and its function, None if the driver's LLVM is not found."""
    if platform.machine() != "x86_64":
        return None
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
            path = next((line.split()[-1] for line in lines if "/libLLVM" in line), None)
        if path is None:
            return None
        library = ctypes.CDLL(path)
        for part in ("TargetInfo", "TargetMC", "Disassembler"):
            getattr(library, f"LLVMInitializeX86{part}")()
        library.LLVMCreateDisasm.restype = ctypes.c_void_p
        context = library.LLVMCreateDisasm(b"x86_64-pc-linux-gnu", None, 0, None, None)
        function = ctypes.cast(library.LLVMDisasmInstruction, ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None
    return (context, function) if context and function else None


def _unknown_owner(address: int) -> None:
    """Return that nobody knows."""
