"""`ti.tools.diagnose`: what a bug report needs, as `python -m shadesmith diagnose` prints it."""

from __future__ import annotations

import os
import sys

PACKAGE = __name__.split(".")[0]


def main() -> None:
    """Print what is there and what is missing; by a process of its own, which leaves this session as it is."""
    os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-m", PACKAGE, "diagnose"])
