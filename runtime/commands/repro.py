"""`shadesmith repro`: one launch of a kernel as a folder that runs without shadesmith."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..workbench.repro import export_repro
from .programs import add_program_arguments, find_call
from .screen import Screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_program_arguments(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER", help="new folder; without it `repro-KERNEL` here")
    parser.add_argument(
        "--variant", metavar="NAME", help="the variant to export; without it the one that a launch runs"
    )


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Write the folder and print how to run it."""
    call = find_call(options, launches=True)
    variants = call.kernel.variants(*call.arguments)
    folder = export_repro(variants, Path(options.output or f"repro-{variants.generated.kernel}"), options.variant)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    screen.show_data({"folder": str(folder), "files": files, "arguments": call.origin})
    screen.show(f"{folder}: {', '.join(files)}")
    screen.note(f"python {folder / 'run.py'} runs it and compares")
    return 0
