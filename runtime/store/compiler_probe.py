"""Asking a C compiler what it calls: a process that is started once for each compiler, and then remembered."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from .compiler_files import find_program

ASK_SECONDS = 10.0


def ask(command: Sequence[str]) -> str:
    """Return the path that a compiler prints; "" where it has nothing to say."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=ASK_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    path = done.stdout.decode(errors="replace").strip()
    return path if os.path.isabs(path) else find_program(path) or ""
