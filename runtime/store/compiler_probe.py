"""Asking a C compiler what it calls: a process that is started once for each compiler, and then remembered."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

ASK_SECONDS = 10.0


def ask(command: Sequence[str]) -> str:
    """Return the path or the program's name that a compiler prints; "" where it prints nothing."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=ASK_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip()
