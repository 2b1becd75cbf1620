"""`shadesmith bench`: time the generated source of a kernel and its edits alternately, on copies of the inputs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..workbench.inspect.charts import sparkline, strips
from ..workbench.measure.ratios import FASTER, MARGIN, SLOWER
from ..workbench.measure.timing import SECONDS, in_words
from .programs import add_process_arguments, add_program_arguments, check_process_arguments, find_call
from .screen import CommandError, Screen, add_plot_argument, write_plot

if TYPE_CHECKING:
    from ..workbench.measure.bench import Timing

CONDITIONS = {"faster": "is certainly faster than the first", "not-slower": "is not certainly slower than the first"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_program_arguments(parser)
    parser.add_argument(
        "--variant", action="append", metavar="NAME",
        help="time only this variant (generated, edit, or a name); may be given again, the first is the base",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time spent on rounds (%(default)s)")
    parser.add_argument(
        "--margin", type=float, default=100 * MARGIN, help="smaller differences count as none [%%] (%(default)s)"
    )
    parser.add_argument(
        "--require", choices=sorted(CONDITIONS), help="status 1 unless this is true of every variant after the first"
    )
    add_plot_argument(parser, "all times of each variant")
    add_process_arguments(parser)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the times; the status is 1 if a variant does not meet `--require`."""
    if options.seconds < 0 or options.margin < 0:
        raise CommandError("--seconds and --margin take numbers of 0 or more")
    check_process_arguments(options)
    call = find_call(options, launches=True)
    screen.note(f"arguments: {call.origin}")
    with screen.progress("timing"):
        timing: Timing = call.kernel.bench(
            *call.arguments, variants=options.variant, seconds=options.seconds, margin=options.margin / 100,
            in_process=options.in_process, time_limit=options.time_limit,
        )  # fmt: skip
    screen.show(timing.title())
    heading, *rows = timing.table()
    if screen.is_rich:
        heading = (*heading, "distribution")
        rows = [(*row, sparkline(found.times)) for row, found in zip(rows, timing.rows, strict=True)]
    screen.show_table(heading, rows)
    if options.plot:
        times = [(row.name, row.times) for row in timing.rows]
        write_plot(options.plot, strips(timing.title(), times, in_words), screen)
    if timing.remark():
        screen.note(f"shadesmith: {timing.remark()}")
    screen.show_data(timing.to_json())
    if options.require and len(timing.rows) == 1:
        raise CommandError(f"`--require {options.require}`: there is one variant only, and nothing to compare it with")
    failed = [row.name for row in timing.rows[1:] if not _is_met(options.require, row.verdict)]
    for name in failed:
        screen.note(f"shadesmith: `{name}` does not meet --require {options.require}: {timing[name].summary}")
    return 1 if failed else 0


def _is_met(condition: str | None, verdict: str) -> bool:
    return verdict == FASTER if condition == "faster" else condition is None or verdict != SLOWER
