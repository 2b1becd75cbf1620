"""`shadesmith edit`: write the source of a kernel to the folder where the next launch looks for an edit."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from pathlib import Path

from ..session import session as sessions
from ..workbench.edits.editor_files import COMMANDS, write_compile_commands
from ..workbench.edits.slots import Slot
from ..workbench.inspect.overview import edits_in, slots_below
from .programs import add_program_arguments, arch_of, find_call
from .screen import CommandError, Screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_program_arguments(parser)
    parser.add_argument("--variant", default="", metavar="NAME", help="write a further variant with this name")
    parser.add_argument("--form", choices=("source", "ir"), default="source", help="ir: the final IR, for all targets")
    parser.add_argument(
        "--parameters", action="store_true", help="offer the compiler's tuning parameters in comments of the source"
    )
    parser.add_argument("--open", action="store_true", help="open it in $VISUAL or $EDITOR")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Write the source, unless it exists, and print the paths of the files to edit."""
    call = find_call(options, launches=False)
    arch = arch_of(options)
    target = arch.name if arch is not None else sessions.current().arch.name if sessions.is_initialized() else "cpu"
    path = call.kernel.edit(
        *call.arguments, arch=arch, variant=options.variant, form=options.form, parameters=options.parameters
    )
    slot = Slot(path if path.is_dir() else path.parent)
    files = [path] if path.is_file() else _files(slot, call.kernel.inspect(*call.arguments, arch=arch), options.variant)
    states = {state.path: state.state for state in edits_in(slot)}
    screen.show_data(
        {
            "kernel": call.kernel.definition.qualname,
            "target": target,
            "variant": options.variant or "edit",
            "slot": str(slot.folder),
            "files": [{"path": str(file), "state": states.get(file, "")} for file in files],
        }
    )
    for file in files:
        screen.show(str(file))
    _tell_editors(slot)
    if arch is None:
        screen.note(f"shadesmith: this is the source for arch=ti.{target}; `--arch` selects another")
    if any(states.get(file) == "edited" for file in files):
        screen.note("shadesmith: it was edited before and is left unchanged")
    return _open(files) if options.open else 0


def _tell_editors(slot: Slot) -> None:
    """Add the source to the files for editors, if the project has them."""
    edits = slot.folder.parent.parent
    if (edits / COMMANDS).is_file():
        write_compile_commands(edits, [path for other in slots_below(edits) for path in other.sources()])


def _files(slot: Slot, inspection: object, variant: str) -> list[Path]:
    names = [file.name for file in inspection.module.files]  # type: ignore[attr-defined]
    return [slot.path(name, variant) for name in names]


def _open(files: list[Path]) -> int:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise CommandError("`--open` needs $VISUAL or $EDITOR", f"open {files[0]} by hand")
    try:
        return subprocess.run([*shlex.split(editor), *map(str, files)], check=False).returncode
    except (OSError, ValueError) as error:
        raise CommandError(f"The editor `{editor}` could not be started: {error}") from None
