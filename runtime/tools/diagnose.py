"""`ti.tools.diagnose`: what a bug report needs, as `python -m shadesmith diagnose` prints it."""

from __future__ import annotations

import os
import sys

PACKAGE = __name__.split(".")[0]


def main() -> None:
    """Print what is installed and what is missing, from another process, which does not affect this session."""
    os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-m", PACKAGE, "diagnose"])
