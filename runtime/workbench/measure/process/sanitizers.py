"""Address and undefined-behaviour sanitizers of the host's C compiler, in the process that runs edited sources.

In: the compiler of this machine. Out: the environment of the process, in which the run-time libraries are loaded first,
and the compiler's flags. Guard zones are marked as forbidden memory there, so a read in them is found as a write is.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from dataclasses import replace
from typing import Any

from .....transpiler.errors import TaichiRuntimeError
from ....devices.host import compiler as host_compiler
from ....devices.host.compiler import HostCompiler, find_compiler

FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize=alignment", "-fno-sanitize-recover=all", "-g", "-O1")
"""-O1: as sanitizers' manuals advise; it also keeps the lines of reports right."""
FUNCTIONS = ("__asan_poison_memory_region", "__asan_unpoison_memory_region")
LIBRARIES = ("libasan.so", "libubsan.so")


def sanitizing_environment() -> dict[str, str]:
    """Return the variables of a process that loads sanitized kernels. Raises: TaichiRuntimeError if gcc has none."""
    compiler = find_compiler()
    paths = [_library(compiler, name) for name in LIBRARIES]
    if not compiler.gcc or not all(paths):
        raise TaichiRuntimeError(
            f"the C compiler `{compiler.command[0]}` has no sanitizers that can be loaded", "install gcc with libasan"
        )
    return {
        "LD_PRELOAD": ":".join(paths),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=99:detect_odr_violation=0",
        "UBSAN_OPTIONS": "print_stacktrace=0:exitcode=99",
    }


def _library(compiler: HostCompiler, name: str) -> str:
    command = [*compiler.command, f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return os.path.realpath(found) if os.path.isabs(found) else ""


def with_sanitizers(device: Any, folder: str) -> None:
    """Let a device of the host compile with sanitizers from now on, without a cache of binaries.

    folder: where the libraries stay, which have the lines that reports name.
    """
    host_compiler.LIBRARY_FOLDER = folder
    device.compiler = replace(device.compiler, more_flags=FLAGS)
    device.store = None


class ForbiddenMemory:
    """Marks memory that no kernel may access; it does nothing without the sanitizer."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._functions = [getattr(library, name, _nothing) for name in FUNCTIONS]
        self._parts: list[tuple[int, int]] = []

    def forbid(self, address: int, size_bytes: int) -> None:
        """Forbid a part of memory until `allow_all`."""
        if size_bytes:
            self._functions[0](ctypes.c_void_p(address), ctypes.c_size_t(size_bytes))
            self._parts.append((address, size_bytes))

    def allow_all(self) -> None:
        """Allow all memory again."""
        for address, size_bytes in self._parts:
            self._functions[1](ctypes.c_void_p(address), ctypes.c_size_t(size_bytes))
        self._parts.clear()


def _nothing(address: object, size_bytes: object) -> None:
    """Replace a function of the sanitizer in a process without it."""
