"""The identity of a compiler, found without running it: paths, sizes and times of its files.

Out: strings that differ if a compiler may give another binary for the same input. A driver like gcc is queried once for
the programs that it calls (cc1, as, ld); the store remembers the answer.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from functools import cache, lru_cache

from ..loading import loader
from .store import Store

_probe = loader(".compiler_probe", __package__)
CALLED = ("-print-prog-name=cc1", "-print-prog-name=as", "-print-prog-name=ld", "-print-libgcc-file-name")
"""Queries that gcc and clang understand: the programs they call and what they link into every object."""

C_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS")
"""Environment variables that change which files gcc and clang use."""

PROCESSOR_LINES = ("vendor_id", "cpu family", "model", "stepping", "cache size", "flags", "Features", "CPU")
"""Starts of the lines of /proc/cpuinfo that determine the meaning of -march=native."""


def find_program(name: str) -> str | None:
    """Return the path of a program, None if there is none: like `shutil.which`, whose module takes 3 ms to load."""
    folders = [""] if os.path.dirname(name) else os.get_exec_path()
    endings = ("", ".exe") if sys.platform == "win32" else ("",)
    paths = (os.path.join(folder, name + ending) for folder in folders for ending in endings)
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def file_identity(path: str) -> str:
    """Return the identity of a file, links followed. Raises: OSError."""
    status = os.stat(path)
    return f"{_real_path(path)} {status.st_size} {status.st_mtime_ns}"


@lru_cache(maxsize=64)
def _real_path(path: str) -> str:
    """Follow links once per process: it takes 20 us, and a changed link shows in another size and time."""
    return os.path.realpath(path)


def c_compiler_identity(command: Sequence[str], store: Store | None = None) -> str:
    """Return the identity of a C compiler and of its machine. store: remembers what it calls. Raises: OSError."""
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
        probe = _probe()  # imports subprocess
        answers = [probe.query((*command, question)) for question in CALLED]
        found = [answer if os.path.isabs(answer) else find_program(answer) for answer in answers if answer]
        paths = [path for path in found if path]
        if store is not None:
            store.put("tools", material, {"calls": paths}, {}, command[0])
    else:
        paths = [str(path) for path in entry.header.get("calls", ())]
    return tuple(_identity_if_there(path) for path in paths)


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
    """Return the features of the first processor: on a large machine it takes long to read the whole file."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            text = file.read(16 << 10).decode(errors="replace")
    except OSError:
        return [platform.processor()]
    first = text.lstrip().partition("\n\n")[0]
    return [line for line in first.splitlines() if line.startswith(PROCESSOR_LINES)]
