"""`shadesmith tune`: try the values of a source's tuning parameters, and store the fastest that compute the same."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..workbench.measure.timing import SECONDS
from ..workbench.measure.tune import LIMIT
from .programs import add_process_arguments, add_program_arguments, check_process_arguments, find_call
from .screen import CommandError, Screen

if TYPE_CHECKING:
    from ..workbench.measure.tuning_results import Tuning


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_program_arguments(parser)
    parser.add_argument("--variant", metavar="NAME", help="the variant to tune; without it the one that runs")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time for the last comparison (%(default)s)")
    parser.add_argument("--limit", type=int, default=LIMIT, help="the most settings to try (%(default)s)")
    parser.add_argument("--restart", action="store_true", help="forget the trials of earlier searches")
    parser.add_argument("--export", metavar="FILE", help="write all trials as a cache file of Kernel Tuner")
    add_process_arguments(parser)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the trials and the winner."""
    if options.seconds < 0 or options.limit < 1:
        raise CommandError("--seconds takes a number of 0 or more, --limit of 1 or more")
    check_process_arguments(options)
    call = find_call(options, launches=True)
    screen.note(f"arguments: {call.origin}")
    with screen.progress("tuning") as step:
        tuning: Tuning = call.kernel.tune(
            *call.arguments, variant=options.variant, seconds=options.seconds, limit=options.limit,
            restart=options.restart, in_process=options.in_process, time_limit=options.time_limit,
            progress=lambda label, number, total: step(f"{number + 1} of {total}, {label}"),
        )  # fmt: skip
    screen.show(tuning.title())
    heading, *rows = tuning.table()
    screen.show_table(heading, rows)
    screen.show(tuning.verdict())
    screen.show_data(tuning.to_json())
    if options.export:
        tuning.export(options.export)
        screen.note(f"written: {options.export}")
    return 0
