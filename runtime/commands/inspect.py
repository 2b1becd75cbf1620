"""`shadesmith inspect`: a kernel in every form, for any target, with no GPU and nothing launched."""

from __future__ import annotations

import argparse

from ..inspection import Inspection
from .programs import add_program_arguments, arch_of, find_call
from .screen import CommandError, Screen

LANGUAGES = {"vulkan": "glsl", "cuda": "cuda", "c": "c", "python": "ir"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    add_program_arguments(parser)
    parser.add_argument(
        "--stage", action="append", metavar="NAME", help="a form to show, several times if wanted; `all` for every one"
    )


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the forms asked for, the emitted source without a wish."""
    call = find_call(options, launches=False)
    inspection = call.kernel.inspect(*call.arguments, arch=arch_of(options))
    names = _stages(inspection, options.stage or ["source"])
    forms = {name: inspection.ir(name) for name in names}
    data = {"kernel": inspection.module.kernel, "target": inspection.module.target, "forms": forms}
    screen.show_data(data)
    for name, text in forms.items():
        if len(forms) > 1:
            screen.show_title(name)
        language = {"python": "python", "source": LANGUAGES[inspection.module.target]}.get(name, "ir")
        screen.show_code(text, language)
    return 0


def _stages(inspection: Inspection, wanted: list[str]) -> list[str]:
    there = ["python", *inspection.forms, "source"]
    if "all" in wanted:
        return there
    for name in wanted:
        if name not in there:
            raise CommandError(f"There is no form `{name}`", f"there are {', '.join(there)}")
    return wanted
