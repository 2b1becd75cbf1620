"""`shadesmith compare`: compare an edit with the generated source on copies of one launch's arguments."""

from __future__ import annotations

import argparse

from ..workbench.edits.variants import EDIT, GENERATED
from ..workbench.measure.compare import ROUNDS, Comparer, Comparison, checked_module
from .programs import add_program_arguments, find_call
from .screen import CommandError, Screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_program_arguments(parser)
    parser.add_argument(
        "--variant", action="append", metavar="NAME", help="an edit; may be given several times; `all` for all edits"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"runs of each source ({ROUNDS})")
    parser.add_argument("--relative", type=float, metavar="X", help="largest relative difference that passes")
    parser.add_argument("--absolute", type=float, metavar="X", help="largest absolute difference that passes")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Compare and show a table for each edit; the answer is yes if all passed."""
    if options.rounds < 1:
        raise CommandError(f"`--rounds {options.rounds}`: each source has to run at least once")
    call = find_call(options, launches=True)
    variants = call.kernel.variants(*call.arguments)
    names = options.variant or [EDIT if variants.chosen.variant == GENERATED else variants.chosen.variant]
    if "all" in names:
        names = [*variants.edits, *variants.errors] or [EDIT]
    modules = {name: checked_module(variants, name) for name in names}
    found: list[Comparison] = []
    with screen.progress(f"compare {variants.generated.kernel}", total=len(modules) + 1) as step:
        comparer = Comparer(variants, options.rounds, options.relative, options.absolute)
        step(GENERATED)
        for name, module in modules.items():
            found.append(comparer.against(name, module))
            step(name)
    passed = all(found)
    screen.show_data({"arguments": call.origin, "passed": passed, "comparisons": [each.to_json() for each in found]})
    for comparison in found:
        _show(comparison, screen)
    return 0 if passed else 1


def _show(comparison: Comparison, screen: Screen) -> None:
    columns, *rows = comparison.rows()
    screen.show_table(columns, rows, comparison.title)
    for remark in comparison.remarks():
        screen.show(remark)
    screen.show("passed" if comparison.passed else "FAILED")
