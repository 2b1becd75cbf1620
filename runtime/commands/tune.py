"""`shadesmith tune`: try the values of a source's tuning parameters, and store the fastest that compute the same."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..workbench.inspect.charts import Bar, bars
from ..workbench.measure.timing import SECONDS, in_words
from ..workbench.measure.tune import LIMIT
from .programs import add_process_arguments, add_program_arguments, check_process_arguments, find_call
from .screen import CommandError, Screen, add_plot_argument, write_plot

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
    add_plot_argument(parser, "the time of each setting")
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
    if options.plot:
        write_plot(options.plot, _chart(tuning), screen)
    screen.show_data(tuning.to_json())
    if options.export:
        tuning.export(options.export)
        screen.note(f"written: {options.export}")
    return 0


def _chart(tuning: Tuning) -> str:
    """Return the times of the settings, the fastest first, with the ratio to the source as written."""
    timed = sorted((trial for trial in tuning.trials if trial.status == "timed"), key=lambda trial: trial.seconds)
    best = ", ".join(f"{name}={value}" for name, value in tuning.values.items())
    rows = [
        Bar(trial.label, trial.seconds, mark=f"({trial.ratio:.2f})", group=int(trial.label == best)) for trial in timed
    ]
    return bars(tuning.title(), rows, in_words)
