"""`shadesmith merge`: compare the merge of an edit with a generated source that has changed, and accept it."""

from __future__ import annotations

import argparse
from contextlib import closing

from ...transpiler.errors import TaichiRuntimeError
from ..workbench.edits.proposals import Proposal
from ..workbench.edits.selection import add_carried_over
from ..workbench.edits.variants import Variants
from ..workbench.inspect.overview import difference
from ..workbench.measure.compare import checked_module
from ..workbench.measure.process.runners import runner_for
from ..workbench.measure.swept import SweptComparer
from .compare import show_comparison
from .diff import from_here
from .programs import add_process_arguments, add_program_arguments, check_process_arguments, find_call
from .screen import Screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_program_arguments(parser)
    parser.add_argument("--variant", metavar="NAME", help="the edit; without it all edits of the kernel")
    parser.add_argument("--force", action="store_true", help="accept the merge even if it does not compute the same")
    parser.add_argument("--no-compare", action="store_true", help="accept the merge without running it")
    parser.add_argument("--dry-run", action="store_true", help="show and compare the merge, and accept nothing")
    add_process_arguments(parser)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show each merge, compare it, and accept it if it computes the same; 1 if one was not accepted."""
    check_process_arguments(options)
    call = find_call(options, launches=True)
    variants = call.kernel.variants(*call.arguments)
    add_carried_over(variants)
    found = {name: merges for name, merges in variants.proposals.items() if merges}
    if options.variant is not None:
        found = {name: merges for name, merges in found.items() if name == options.variant}
        variants.module(options.variant)
    for name, error in variants.errors.items():
        if options.variant in (None, name):
            raise error
    if not found:
        screen.show_data({"merges": []})
        screen.note("shadesmith: there is nothing to merge")
        return 0
    results = [_merged(variants, name, merges, options, screen) for name, merges in found.items()]
    screen.show_data({"arguments": call.origin, "merges": results})
    return 0 if all(result["accepted"] or options.dry_run for result in results) else 1


def _merged(
    variants: Variants, name: str, merges: list[Proposal], options: argparse.Namespace, screen: Screen
) -> dict[str, object]:
    """Show, compare and accept the merge of one edit."""
    for merge in merges:
        path = from_here(merge.path)
        screen.show_code(difference(merge.before, merge.text, (path, f"{path} merged")), "diff")
    result: dict[str, object] = {"variant": name, "paths": [str(merge.path) for merge in merges], "passed": None}
    if not options.no_compare:
        result["passed"] = _passes(variants, name, options, screen)
    is_accepted = not options.dry_run and (result["passed"] is not False or options.force)
    if is_accepted:
        how = "without" if result["passed"] is None else "after" if result["passed"] else "against"
        for merge in merges:
            merge.accept(f"a person, {how} a comparison")
    elif not options.dry_run:
        path = from_here(merges[0].path)
        screen.note(f"shadesmith: the merge of `{name}` is not accepted. Hint: edit {path}, or use `--force`")
    return {**result, "accepted": is_accepted}


def _passes(variants: Variants, name: str, options: argparse.Namespace, screen: Screen) -> bool:
    with closing(runner_for(variants.session, options.in_process, options.time_limit)) as runner:
        try:
            module = checked_module(variants, name, runner)
            comparison = SweptComparer(variants, [module], runner).against(name, module)
        except TaichiRuntimeError as error:
            screen.note(f"shadesmith: {error}")
            return False
    show_comparison(comparison, screen)
    return comparison.passed
