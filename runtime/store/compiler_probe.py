"""Query a C compiler for the programs that it calls: one process for each compiler; the store remembers the answer."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

QUERY_SECONDS = 10.0


def query(command: Sequence[str]) -> str:
    """Return the path or the program's name that a compiler prints; "" if it prints nothing."""
    try:
        process = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=QUERY_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return process.stdout.decode(errors="replace").strip()
