"""`shadesmith debug`: run a program under `debug=True`, or in Python's debugger with kernels in the interpreter.

Indices, asserts, overflow and NaNs are checked, so the first wrong operation is an error with its line.
"""

from __future__ import annotations

import argparse
import os
import sys

from ..screen import Screen
from . import run as runner

CHECKS = ("SHADESMITH_DEBUG", "SHADESMITH_CHECK_OVERFLOW", "SHADESMITH_TRAP_NAN")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command; what follows the program is its own."""
    runner.add_arguments(parser)
    parser.usage = "shadesmith debug [--arch ARCH] [--pdb] (SCRIPT | -m MODULE) [ARGUMENT ...]"
    parser.add_argument("--pdb", action="store_true", help="run it in pdb, which stops where an error is raised")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Run the program in this process's place; its exit status is that of the command."""
    os.environ.update(dict.fromkeys(CHECKS, "1"))
    if options.pdb:
        options.arch = options.arch or "python"
        return runner.start(options, ["-m", "pdb", "-c", "continue"])
    sys.stdout.flush()
    return runner.run(options, screen)
