"""`shadesmith bisect`: name the first pass after which a result differs from the interpreter's."""

from __future__ import annotations

import argparse
from contextlib import closing

from ...workbench.bisect.bisection import AGREES, PASS, bisect
from ...workbench.inspect.blame import pass_diff
from ...workbench.measure.process.runners import runner_for
from ..programs import add_process_arguments, add_program_arguments, check_process_arguments, find_call
from ..screen import Screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_program_arguments(parser)
    add_process_arguments(parser)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the pass and what it changed; the answer is yes if the results agree."""
    check_process_arguments(options)
    call = find_call(options, launches=True)
    variants = call.kernel.variants(*call.arguments)
    screen.note(f"arguments: {call.origin}")
    with (
        closing(runner_for(variants.session, options.in_process, options.time_limit)) as runner,
        screen.progress(f"bisect {variants.generated.kernel}") as step,
    ):
        found = bisect(variants, runner, step)
    screen.show_data({"arguments": call.origin, **found.to_json()})
    screen.show(str(found))
    if found.verdict == PASS:
        screen.show_code(pass_diff(found.pass_name, found.before, found.after), "diff")
    return 0 if found.verdict == AGREES else 1
