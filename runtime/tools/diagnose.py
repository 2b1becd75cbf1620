"""`ti.tools.diagnose`: what a bug report needs, as `python -m shadesmith diagnose` prints it."""

from __future__ import annotations

import subprocess
import sys

PACKAGE = __name__.split(".")[0]


def main() -> None:
    """Print what is there and what is missing; by a process of its own, which leaves this session as it is."""
    subprocess.run([sys.executable, "-m", PACKAGE, "diagnose"], check=False)
