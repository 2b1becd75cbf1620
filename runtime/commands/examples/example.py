"""`shadesmith example`: lists the programs that come with shadesmith, prints, copies or runs one."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from ..programs import arch_of
from ..screen import CommandError, Screen
from .catalogue import FOLDER, find, programs, purpose, run_module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="runs it; what follows `--` is its own. Without: a list"
    )
    parser.add_argument("--arch", help="where kernels run, whatever the program asks for")
    parser.add_argument("-p", "--print", dest="shown", action="store_true", help="print its source")
    parser.add_argument("-s", "--save", action="store_true", help="copy it to this folder")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """List the programs, or print, copy or run one."""
    known = programs(FOLDER)
    if options.name is None:
        rows = [(name, purpose(path)) for name, path in known.items()]
        screen.show_data({"examples": [{"name": name, "purpose": text} for name, text in rows]})
        screen.show_table(("name", "shows"), rows)
        return 0
    path = find(options.name, known)
    if options.shown:
        screen.show_data({"name": path.stem, "source": path.read_text(encoding="utf-8")})
        screen.show_code(path.read_text(encoding="utf-8"), "python")
    if options.save:
        target = Path(path.name)
        if target.exists():
            raise CommandError(f"{target} exists already", "remove it, or call the command in another folder")
        shutil.copyfile(path, target)
        screen.show(str(target))
    if options.shown or options.save:
        return 0
    arch = arch_of(options)
    return run_module(f"examples.{path.stem}", options.program_arguments, None if arch is None else arch.name)
