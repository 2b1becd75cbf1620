"""Which compiler this is, found out without running it: paths, sizes and times of its files.

Out: texts that differ where a compiler may give another binary for the same input. What a driver like gcc calls (cc1,
as, ld) it must say itself; that is asked once and kept in the store.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache, lru_cache

from .store import Store

CALLED = ("-print-prog-name=cc1", "-print-prog-name=as", "-print-prog-name=ld", "-print-libgcc-file-name")
"""What gcc is asked for, and clang understands: the programs it calls and what it links into every object."""

C_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS")
"""Of the environment: what changes which files gcc and clang use."""

ASK_SECONDS = 10.0

PROCESSOR_LINES = ("vendor_id", "cpu family", "model", "stepping", "cache size", "flags", "Features", "CPU")
"""Begins of the lines of /proc/cpuinfo that tell what -march=native means."""


def file_identity(path: str) -> str:
    """Return which file this is, links followed. Raises: OSError."""
    real = os.path.realpath(path)
    status = os.stat(real)
    return f"{real} {status.st_size} {status.st_mtime_ns}"


def c_compiler_identity(command: Sequence[str], store: Store | None = None) -> str:
    """Return which C compiler a command is, and for which machine. store: remembers what it calls. Raises: OSError."""
    driver = file_identity(command[0])
    environment = "\0".join(f"{name}={os.environ.get(name, '')}" for name in C_VARIABLES)
    called = _called(tuple(command), driver, environment, store)
    return "\n".join((*command, driver, environment, *called, machine()))


@lru_cache(maxsize=8)
def _called(command: tuple[str, ...], driver: str, environment: str, store: Store | None) -> tuple[str, ...]:
    """Return the identities of the files that a compiler's driver uses."""
    material = "\n".join((*command, driver, environment, os.environ.get("PATH", ""))).encode()
    entry = store.look("tools", material)[0] if store is not None else None
    if entry is None:
        paths = [path for question in CALLED if (path := _ask((*command, question)))]
        if store is not None:
            store.put("tools", material, {"calls": paths}, {}, command[0])
    else:
        paths = [str(path) for path in entry.header.get("calls", ())]
    return tuple(_identity_if_there(path) for path in paths)


def _ask(command: Sequence[str]) -> str:
    """Return the path that a compiler prints; "" where it has nothing to say."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=ASK_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    path = done.stdout.decode(errors="replace").strip()
    return path if os.path.isabs(path) else shutil.which(path) or ""


def _identity_if_there(path: str) -> str:
    try:
        return file_identity(path)
    except OSError:
        return f"{path} is missing"


@cache
def machine() -> str:
    """Return what -march=native and the C library depend on."""
    libc = " ".join(platform.libc_ver()) if not hasattr(os, "confstr") else _confstr("CS_GNU_LIBC_VERSION")
    return "\n".join((os.name, platform.machine(), libc, *_processor()))


def _confstr(name: str) -> str:
    try:
        return os.confstr(name) or ""
    except (ValueError, OSError):
        return ""


def _processor() -> list[str]:
    """Return what distinguishes processors, of the first: the file of a large machine takes long to read as a whole."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            text = file.read(16 << 10).decode(errors="replace")
    except OSError:
        return [platform.processor()]
    first = text.lstrip().partition("\n\n")[0]
    return [line for line in first.splitlines() if line.startswith(PROCESSOR_LINES)]
