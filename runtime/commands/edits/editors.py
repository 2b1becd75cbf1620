"""`shadesmith editors`: files by which editors complete and check the names in edited sources."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...config import EDITS_FOLDER
from ...workbench.edits.editor_files import write_compile_commands, write_vscode
from ...workbench.inspect.overview import slots_below
from ..screen import CommandError, Screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="a project (default: this folder)")
    parser.add_argument("--vscode", action="store_true", help="also write tasks and settings for VS Code")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Write the files and print their paths."""
    folder = options.folder.resolve()
    if not folder.is_dir():
        raise CommandError(f"{options.folder} is no folder")
    slots = slots_below(folder)
    if not slots:
        raise CommandError(f"There are no edits below {folder}", "`shadesmith edit FILE:KERNEL` writes a source")
    found: dict[Path, list[Path]] = {}
    for slot in slots:
        found.setdefault(slot.folder.parent.parent, []).extend(slot.sources())
    written = []
    for edits, sources in found.items():
        path, count = write_compile_commands(edits, sources)
        written.append(path)
        screen.show(f"{path}: {count} sources")
    if options.vscode:
        first = next((edits for edits in found if edits.name == EDITS_FOLDER), next(iter(found)))
        try:
            further = write_vscode(folder, first)
        except ValueError as error:
            raise CommandError(str(error), "remove its comments, or write the lines by hand") from None
        for path in further:
            screen.show(str(path))
        written += further
    screen.show_data({"files": [str(path) for path in written]})
    return 0
