"""`ti._lib.utils`: the operating system."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_NAMES = {"linux": "linux", "darwin": "osx", "windows": "win"}

package_root = str(Path(__file__).resolve().parents[2])
"""The folder of this package."""


def is_ci() -> bool:
    """Return whether the program runs in a test service: TI_CI is 1."""
    return os.environ.get("TI_CI", "") == "1"


def in_docker() -> bool:
    """Return whether the program runs in a container: TI_IN_DOCKER is set, to anything but 0."""
    return os.environ.get("TI_IN_DOCKER", "0").lower() not in ("", "0", "false")


def get_os_name() -> str:
    """Return "linux", "osx", "win", or "unknown"."""
    return _NAMES.get(platform.system().lower(), "unknown")
