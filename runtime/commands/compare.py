"""`shadesmith compare`: compare an edit with the generated source on copies of one launch's arguments."""

from __future__ import annotations

import argparse
from contextlib import closing

from ...transpiler.errors import TaichiRuntimeError
from ..workbench.edits.variants import EDIT, GENERATED, Variants, with_templates
from ..workbench.measure.compare import ROUNDS, Comparison, checked_module
from ..workbench.measure.process.runners import Runner, runner_for
from ..workbench.measure.swept import SweptComparer
from .programs import add_process_arguments, add_program_arguments, check_process_arguments, find_call
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
    parser.add_argument("--no-sweep", action="store_true", help="only with the sizes of the call")
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help="compile with the sanitizers of the C compiler (ti.cpu), which name lines",
    )
    add_process_arguments(parser)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Compare and show a table for each edit; the answer is yes if all passed."""
    if options.rounds < 1:
        raise CommandError(f"`--rounds {options.rounds}`: each source has to run at least once")
    check_process_arguments(options)
    if options.sanitize and options.in_process:
        raise CommandError("`--sanitize` needs a process of its own", "leave out `--in-process`")
    call = find_call(options, launches=True)
    variants = with_templates(call.kernel.variants(*call.arguments), options.variant)
    names = options.variant or [EDIT if variants.chosen.variant == GENERATED else variants.chosen.variant]
    if "all" in names:
        names = [*variants.edits, *variants.errors] or [EDIT]
    for name in names:
        variants.module(name)  # before a process is started
    with closing(runner_for(variants.session, options.in_process, options.time_limit, options.sanitize)) as runner:
        found, failures = _compared(variants, names, options, runner, screen)
    if failures and len(names) == 1:
        raise failures[names[0]]
    passed = all(found) and not failures
    errors = {name: str(error) for name, error in failures.items()}
    data = {"arguments": call.origin, "passed": passed, "comparisons": [each.to_json() for each in found]}
    screen.show_data({**data, "errors": errors} if errors else data)
    for comparison in found:
        show_comparison(comparison, screen)
    for name, text in errors.items():
        screen.show(f"{name}: {text}\nFAILED")
    return 0 if passed else 1


def _compared(
    variants: Variants, names: list[str], options: argparse.Namespace, runner: Runner, screen: Screen
) -> tuple[list[Comparison], dict[str, TaichiRuntimeError]]:
    """Return the comparisons, and the errors of edits that crash, hang or lose the device."""
    found: list[Comparison] = []
    failures: dict[str, TaichiRuntimeError] = {}
    modules = {name: checked_module(variants, name, runner) for name in names}
    with screen.progress(f"compare {variants.generated.kernel}", total=len(modules) + 1) as step:
        comparer = SweptComparer(
            variants, list(modules.values()), runner, options.rounds, options.relative, options.absolute,
            not options.no_sweep,
        )  # fmt: skip
        step(GENERATED)
        for name, module in modules.items():
            try:
                found.append(comparer.against(name, module))
            except TaichiRuntimeError as error:
                failures[name] = error
            step(name)
    return found, failures


def show_comparison(comparison: Comparison, screen: Screen) -> None:
    """Show one comparison as a table with remarks."""
    columns, *rows = comparison.rows()
    screen.show_table(columns, rows, comparison.title)
    for remark in comparison.remarks():
        screen.show(remark)
    screen.show("passed" if comparison.passed else "FAILED")
