"""`ti._lib.utils`: the operating system."""

from __future__ import annotations

import platform

_NAMES = {"linux": "linux", "darwin": "osx", "windows": "win"}


def get_os_name() -> str:
    """Return "linux", "osx", "win", or "unknown"."""
    return _NAMES.get(platform.system().lower(), "unknown")
