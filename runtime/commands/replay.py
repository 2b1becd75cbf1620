"""`shadesmith replay`: repeat the launches of a recording, without the program that made them."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..recording.replaying import RecordingFile, Replay, Replayed, arch_of
from ..session.session import current, reset
from ..session.starting import init
from .screen import CommandError, Screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="the file that ti.aot.start_recording wrote: record.yml"
    )
    parser.add_argument("--list", action="store_true", help="show what was recorded, and launch nothing")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Replay all sessions; return 1 if a result differs, or if a launch cannot be replayed."""
    file = RecordingFile(options.file)
    if options.list:
        return _list(file, screen)
    if not file.sessions:
        screen.show("no launch was recorded")
    results = []
    for recorded in file.sessions:
        results.append(_replay(file, recorded))
        _show(results[-1], screen)
    screen.show_data([asdict(result) | {"passed": result.passed} for result in results])
    return 0 if all(result.passed for result in results) else 1


def _replay(file: RecordingFile, recorded: dict[str, Any]) -> Replayed:
    arch = arch_of(recorded.get("arch", ""))
    if arch is None:
        raise CommandError(f"{recorded.get('arch')} cannot be replayed", "record on ti.cpu, ti.cuda or ti.vulkan")
    init(arch, enable_fallback=False)
    try:
        return Replay(file, recorded, current()).run()
    finally:
        reset()


def _show(result: Replayed, screen: Screen) -> None:
    launches = f"{result.launches} launch{'es' * (result.launches != 1)}"
    screen.show(f"{launches} on {result.device}: {result.seconds * 1e3:.3f} ms")
    for reason in result.skipped:
        screen.show(f"left out: {reason}")
    for verdict in result.memory:
        more = f", {verdict.count} numbers" if verdict.count else ""
        largest = f", by {verdict.largest:.3g}{more}" if verdict.largest else ""
        screen.show(f"{verdict.name}: {verdict.verdict}{largest}")
    if result.first_different is not None:
        screen.show(f"other bits than recorded first after launch {result.first_different[0]}: "
                    f"`{result.first_different[1]}`")  # fmt: skip


def _list(file: RecordingFile, screen: Screen) -> int:
    screen.show_data(file.data)
    for recorded in file.sessions:
        screen.show(f"{recorded['arch']} ({recorded['device']})")
        for number, launch in enumerate(recorded["launches"], 1):
            values = ", ".join(f"{name}={value}" for name, value in launch["arguments"].items())
            note = f"    cannot be replayed: {launch['left_out']}" if "left_out" in launch else ""
            screen.show(f"  {number}: {launch['kernel']}({values}){note}")
    return 0
