"""`shadesmith gallery`: lists the programs of the gallery, or makes the picture of one."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..programs import arch_of
from ..screen import Screen
from .catalogue import GALLERY, find, programs, purpose, run_module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="makes its picture, NAME.png; without: a list")
    parser.add_argument("--arch", default="cpu", help="where kernels run (default: cpu)")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(), metavar="FOLDER", help="of pictures (default: here)"
    )


def run(options: argparse.Namespace, screen: Screen) -> int:
    """List the programs, or make pictures."""
    known = programs(GALLERY)
    if not options.names:
        rows = [(name, purpose(path)) for name, path in known.items()]
        screen.show_data({"gallery": [{"name": name, "purpose": text} for name, text in rows]})
        screen.show_table(("name", "shows"), rows)
        return 0
    names = [find(name, known).stem for name in options.names]
    arch = arch_of(options)
    given = [*names, "--arch", "cpu" if arch is None else arch.name, "--output", str(options.output)]
    status = run_module("examples.gallery", given, None)
    screen.show_data({"pictures": [str(options.output / f"{name}.png") for name in names]})
    return status
