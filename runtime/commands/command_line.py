"""The command `shadesmith`: finds the subcommand, runs it, turns every error into a clear line and an exit status.

0: success, or the answer yes. 1: the answer no (a comparison failed, an edit was refused). 2: no answer, because of a
mistake on the command line, a missing file, a kernel that does not compile, or a missing device.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ..loading import loader
from .screen import CommandError, Screen

COMMANDS = {
    "run": "run a program that imports taichi, unchanged, on shadesmith",
    "debug": "run a program with all checks, or in Python's debugger",
    "example": "list, print, copy or run the programs that come with shadesmith",
    "gallery": "list the programs of the gallery, or make their pictures",
    "inspect": "show a kernel in every form: Python, IR, source, SPIR-V or PTX and SASS, with Python lines",
    "edit": "write a kernel's source to the folder of its edits",
    "diff": "show what was edited, and what changed since; or how two AOT modules differ",
    "status": "list the edits and which of them run",
    "adopt": "write the directives that give the source of an edit into the Python file",
    "editors": "write files by which editors complete and check the names in edited sources",
    "compare": "run an edit against the generated kernel on copies of the inputs",
    "bisect": "name the first pass after which a result differs from the interpreter's",
    "merge": "accept the merge of an edit with a generated source that has changed",
    "bench": "time an edit against the generated kernel",
    "tune": "try the values of tuning parameters and store the fastest that compute the same",
    "profile": "time a program's tasks by the device's clock, ncu or nsys, with lines of Python",
    "repro": "write a kernel with its inputs as a program that runs without shadesmith",
    "replay": "launch again what ti.aot.start_recording recorded, without its program",
    "report": "write all forms, resources, timings and edits of kernels as one HTML page",
    "cache": "list, check and remove the kernels that are cached on disk",
    "build": "compile a file's kernels ahead of time for any target, into an archive or a folder",
    "cppgen": "write a C++ header with one typed function for each kernel of an archive",
    "diagnose": "list what is installed, what is missing and how to get it",
}
"""Every command with its purpose. The module of that name in `commands` implements it."""

PATHS = {"run": "taichi.run", "bisect": "passes.bisect", "adopt": "edits.adopt", "editors": "edits.editors",
         "cppgen": "archives.cppgen", "profile": "profilers.profile", "debug": "taichi.debug",
         "example": "examples.example", "gallery": "examples.gallery"}  # fmt: skip
"""The modules of commands in folders."""

YES, NO, FAILED = 0, 1, 2
INTERRUPTED = 130
"""The status of shells for Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit status.

    What follows `--` is passed to the program that the command runs; `run` passes on what follows its program.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:  # argparse would only say that a COMMAND is missing
        _parser("").print_help(sys.stderr)
        return FAILED
    own, rest = _split(given)
    options, unknown = _parser(own[0] if own else "").parse_known_args(own)
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


def _split(given: list[str]) -> tuple[list[str], list[str]]:
    if given[:1] in (["run"], ["debug"]):
        end = _end_of_program(given)
        return given[:end], given[end:]
    if "--" not in given:
        return given, []
    position = given.index("--")
    return given[:position], given[position + 1 :]


def _end_of_program(given: list[str]) -> int:
    """Return the position after the program of `run`: its first word that is no option, or what `-m` or `-c` names."""
    position = 1
    while position < len(given) and given[position].startswith("-"):
        word = given[position]
        position += 2 if word in ("-m", "-c", "--arch", "--frames") else 1
        if word.startswith(("-m", "-c")):
            return position
    return position + 1


def _parser(command: str) -> argparse.ArgumentParser:
    """Return the parser; only the module of `command` is loaded."""
    parser = argparse.ArgumentParser(
        prog="shadesmith",
        description="Inspect kernels, edit their generated source, check, compare, time and ship edits.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, purpose in COMMANDS.items():
        added = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        added.add_argument("--json", action="store_true", help="print one JSON value instead of tables and text")
        added.set_defaults(refuse=added.error)
        if name == command:
            _module(name).add_arguments(added)
    return parser


class _Command(Protocol):
    """A module of `commands`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace, screen: Screen) -> int: ...


def _module(command: str) -> _Command:
    path = PATHS.get(command, command)
    module: _Command = loader(f".{path}", __package__)()
    return module


def _fail(screen: Screen, error: Exception) -> int:
    kind = type(error).__name__
    message = str(error).strip()
    if isinstance(error, OSError) and error.strerror:
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    screen.show_data({"error": {"kind": kind, "text": message}})
    name = "" if isinstance(error, CommandError | OSError) else f"{kind}: "
    screen.note(f"shadesmith: {name}{message}")
    return FAILED


def _leave_pipe() -> int:
    """End without a message: the reader of the output has stopped."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise the flush at exit fails
    return YES
