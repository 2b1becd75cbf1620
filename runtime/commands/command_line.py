"""The command `shadesmith`: finds the subcommand, runs it, turns every mistake into a clear line and an exit status.

0: done, and the answer is yes where one was asked for. 1: the answer is no (a comparison failed, an edit was refused).
2: the question could not be answered: a mistake on the command line, a file that is missing, a kernel that does not
compile, a device that is not there.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from .screen import CommandError, Screen

COMMANDS = {
    "inspect": "show a kernel in every form: Python, IR, source, SPIR-V or PTX and SASS, with Python lines",
    "edit": "write a kernel's source to where an edited one is looked for",
    "diff": "show what was edited, and what changed since; or what two AOT modules differ in",
    "status": "say which edits there are and which of them run",
    "compare": "run an edit against the generated kernel on copies of the inputs",
    "bench": "time an edit against the generated kernel",
    "tune": "try the values of knobs and keep the fastest that is right",
    "repro": "write a kernel with its inputs as a program that runs without shadesmith",
    "replay": "launch again what ti.aot.start_recording recorded, without its program",
    "report": "write all forms, resources, timings and edits of kernels as one HTML page",
    "cache": "list, check and remove the kernels that are kept on disk",
    "build": "compile a file's kernels ahead of time for any target, into an archive or a folder",
    "diagnose": "say what is there, what is missing and how to get it",
}
"""Every command, and what it does. It is the module of that name in `commands`."""

YES, NO, FAILED = 0, 1, 2
INTERRUPTED = 130
"""What shells give for Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit status.

    What stands behind `--` goes to the program that the command runs.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    words, rest = _split(words)
    options, unknown = _parser(words[0] if words else "").parse_known_args(words)
    if unknown:
        options.refuse(f"unrecognized arguments: {' '.join(unknown)}")  # with the usage of the command
    options.program_arguments = rest
    screen = Screen(options.json)
    try:
        return int(_module(options.command).run(options, screen))
    except (CommandError, TaichiCompilationError, TaichiRuntimeError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            return _leave_pipe()
        return _fail(screen, error)
    except KeyboardInterrupt:
        screen.note("shadesmith: interrupted")
        return INTERRUPTED


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def _parser(command: str) -> argparse.ArgumentParser:
    """Return the parser; only the command that is asked for is loaded."""
    parser = argparse.ArgumentParser(
        prog="shadesmith",
        description="Look at kernels, edit the text they became, check, compare, time and ship edits.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, purpose in COMMANDS.items():
        added = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        added.add_argument("--json", action="store_true", help="print one JSON value instead of text")
        added.set_defaults(refuse=added.error)
        if name == command:
            _module(name).add_arguments(added)
    return parser


def _module(command: str) -> Any:
    return importlib.import_module(f".{command}", __package__)


def _fail(screen: Screen, error: Exception) -> int:
    kind = type(error).__name__
    text = str(error).strip()
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    screen.show_data({"error": {"kind": kind, "text": text}})
    name = "" if isinstance(error, CommandError | OSError) else f"{kind}: "
    screen.note(f"shadesmith: {name}{text}")
    return FAILED


def _leave_pipe() -> int:
    """End without a word: who read the output has read enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the flush at exit would complain
    return YES
