"""`shadesmith run`: run a program that imports taichi, unchanged, on shadesmith."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from ...taichi_name import environment
from ..screen import CommandError, Screen

ARCHES = ("cpu", "vulkan", "cuda", "gpu", "python")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command; what follows the program is its own."""
    parser.usage = "shadesmith run [--arch ARCH] [--frames N] (SCRIPT | -m MODULE | -c CODE) [ARGUMENT ...]"
    parser.add_argument("--arch", choices=ARCHES, help="where kernels run, whatever the program asks for")
    parser.add_argument(
        "--frames", metavar="N", type=int, help="without a window: save N frames as files, then end the program"
    )
    parser.add_argument("-m", metavar="MODULE", dest="module", help="run a module, as `python -m` does")
    parser.add_argument("-c", metavar="CODE", dest="code", help="run a line of Python, as `python -c` does")
    parser.add_argument("script", nargs="?", metavar="SCRIPT", help="a file of Python")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Run the program in this process's place; its exit status is that of the command."""
    return start(options, [])


def start(options: argparse.Namespace, below: list[str]) -> int:
    """Run the program in this process's place. below: arguments of Python before it, such as those of a debugger.

    Raises: CommandError if Python ignores its environment, or there is no such program.
    """
    if sys.flags.ignore_environment:
        raise CommandError("python -E and -I ignore PYTHONPATH, by which `import taichi` is found", "leave them out")
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    command = [sys.executable, *flags, *below, *_program(options), *options.program_arguments]
    variables = {**os.environ, **environment(os.environ)}
    if options.arch is not None:
        variables["SHADESMITH_ARCH"] = options.arch
    if options.frames is not None:
        variables.update(
            SHADESMITH_GUI_FRAMES=str(options.frames), SHADESMITH_GUI_END="1", DISPLAY="", WAYLAND_DISPLAY=""
        )
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(sys.executable, command, variables)
    return subprocess.run(command, env=variables, check=False).returncode  # elsewhere exec leaves the console


def _program(options: argparse.Namespace) -> list[str]:
    if options.module is not None:
        return ["-m", options.module]
    if options.code is not None:
        return ["-c", options.code]
    if options.script is None:
        options.refuse("a SCRIPT, -m MODULE or -c CODE is needed")
    path = Path(options.script)
    if not path.exists():
        raise CommandError(f"there is no file {path}", "a module is run by `shadesmith run -m MODULE`")
    return [options.script]
