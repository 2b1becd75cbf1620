"""Which slots of edits a command line means, and what is generated for them now; for `diff` and `status`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...transpiler.lang.arch import ARCHES
from .. import session as sessions
from ..workbench.edits import select
from ..workbench.overview import TARGETS, EditState, Now, edits_in, slots_below
from ..workbench.slots import Slot, folder_of, slot_of
from .programs import Call, arch_of, find_calls, parse_spec
from .screen import CommandError, Screen


def add_slot_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what a command about edits takes: a program, or a folder, or nothing for the folder it is started in."""
    parser.add_argument(
        "program",
        metavar="FILE[:KERNEL]|FOLDER",
        nargs="?",
        default=".",
        help="a program, whose kernels are compiled to see what has changed since; or a folder with edits, which are"
        " looked at as they lie (default: this one)",
    )
    parser.add_argument("--arch", help="only texts for cpu, cuda or vulkan")
    parser.add_argument("--args", metavar="EXPR", help="arguments of the kernel, in the names of the file: '8, x'")
    parser.add_argument("--call", type=int, metavar="N", help="arguments of the kernel's launch number N")


def find_edits(options: argparse.Namespace, screen: Screen) -> list[EditState]:
    """Return the edits that are meant, in the order of their folders. Raises: CommandError for a path that is none."""
    wanted = arch_of(options)
    states = list(_states(options, screen))
    return [state for state in states if wanted is None or ARCHES[state.target].target == wanted.target]


def _states(options: argparse.Namespace, screen: Screen) -> Iterator[EditState]:
    path = Path(options.program).expanduser()
    if path.is_dir():
        for slot in slots_below(path.resolve()):
            yield from edits_in(slot)
        return
    if path.is_file() and path.suffix in TARGETS:
        yield from (state for state in edits_in(Slot(path.resolve().parent)) if state.path == path.resolve())
        return
    spec = parse_spec(options.program)
    generated, folder = _generated(options, screen)
    for slot in slots_below(folder):
        facts = slot.facts()
        name = str(facts.get("kernel"))
        if facts.get("file") == spec.path.name and spec.kernel in (None, name, name.rpartition(".")[2]):
            yield from edits_in(slot, generated.get(slot.folder))


def _generated(options: argparse.Namespace, screen: Screen) -> tuple[dict[Path, dict[str, Now]], Path]:
    """Return the texts generated now, by slot and name, as far as the program can be compiled, and where slots lie."""
    folder = parse_spec(options.program).path.parent / "edits"
    try:
        calls = find_calls(options)
    except (CommandError, TaichiCompilationError, TaichiRuntimeError) as error:
        screen.note(f"shadesmith: what is generated now is not known: {str(error).strip()}")
        return {}, folder
    found: dict[Path, dict[str, Now]] = {}
    for call in calls:
        folder = folder_of(call.kernel.definition, sessions.current_config().edits_dir)
        for arch in dict.fromkeys(TARGETS.values()):
            for slot, texts in _texts(call, arch, screen):
                found.setdefault(slot, {}).update(texts)
    return found, folder


def _texts(call: Call, arch: str, screen: Screen) -> Iterator[tuple[Path, dict[str, Now]]]:
    try:
        inspection = call.kernel.inspect(*call.arguments, arch=ARCHES[arch])
    except (TaichiCompilationError, TaichiRuntimeError) as error:
        screen.note(f"shadesmith: kernel `{call.kernel.definition.name}` for {arch}: {str(error).strip()}")
        return
    config = sessions.current_config()
    slot, module = slot_of(inspection.specialization, config.edits_dir), inspection.module
    runs = select(inspection.specialization, slot, module).name if config.edits != "off" else None
    yield slot.folder, {file.name: Now(file.text, runs) for file in module.files}
