"""The slots of edits that a command line selects, and what is generated for them now; for `diff` and `status`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...transpiler.lang.arch import ARCHES
from ..launch.inspection import Inspection
from ..session import session as sessions
from ..workbench.adopt.in_slot import advice, explanation_of
from ..workbench.edits.bases import Bases
from ..workbench.edits.selection import select
from ..workbench.edits.slots import Slot, folder_of, slot_of
from ..workbench.edits.variants import EDIT
from ..workbench.inspect.overview import (
    ARCH_OF_SUFFIX,
    EDITED,
    UNDECIDED,
    EditState,
    Now,
    edits_in,
    owner_of,
    slots_below,
)
from .programs import Call, arch_of, find_calls, parse_spec
from .screen import CommandError, Screen


def add_slot_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands on edits: a program, a folder, or nothing for the current folder."""
    parser.add_argument(
        "program",
        metavar="FILE[:KERNEL]|FOLDER",
        nargs="?",
        default=".",
        help="a program, whose kernels are compiled to see what has changed since; or a folder with edits, which are"
        " shown as they are stored (default: this one)",
    )
    parser.add_argument("--arch", help="only sources for cpu, cuda or vulkan")
    parser.add_argument("--args", metavar="EXPR", help="arguments of the kernel, in the names of the file: '8, x'")
    parser.add_argument("--call", type=int, metavar="N", help="arguments of the kernel's launch number N")


def find_slots(options: argparse.Namespace, screen: Screen) -> dict[Path, Mapping[str, Now]]:
    """Return the folders of the selected slots, in order, with what is generated for each now, as far as known.

    Raises: CommandError for a path that does not exist.
    """
    path = Path(options.program).expanduser()
    if path.is_dir():
        return {slot.folder: {} for slot in slots_below(path.resolve())}
    if path.is_file() and path.suffix in ARCH_OF_SUFFIX:
        return {path.resolve().parent: {}}
    spec = parse_spec(options.program)
    generated, folder = generated_now(options, screen)
    found: dict[Path, Mapping[str, Now]] = {}
    for slot in slots_below(folder):
        name, file, _ = owner_of(slot)
        if file == spec.path.name and spec.kernel in (None, name, name.rpartition(".")[2]):
            found[slot.folder] = generated.get(slot.folder, {})
    return found


def find_edits(options: argparse.Namespace, slots: Mapping[Path, Mapping[str, Now]]) -> list[EditState]:
    """Return the sources in slots: those for `--arch` if given, only one file if the command line names it."""
    wanted = arch_of(options)
    states = [state for folder, generated in slots.items() for state in edits_in(Slot(folder), generated)]
    named = Path(options.program).expanduser().resolve()
    if named.is_file() and named.suffix in ARCH_OF_SUFFIX:
        states = [state for state in states if state.path == named]
    return [state for state in states if wanted is None or ARCHES[state.target].target == wanted.target]


def advices(states: Sequence[EditState]) -> dict[Path, str]:
    """Return the directives that give an edit, by its first file, as far as what is generated now is known."""
    found: dict[Path, str] = {}
    seen: set[tuple[Path, str, str]] = set()
    for state in states:
        key = (state.slot.folder, state.target, state.variant)
        bases = None if state.now is None else state.now.bases
        if state.state == EDITED and bases is not None and key not in seen:
            seen.add(key)
            explanation = explanation_of(bases.specialization, bases.module, state.slot, state.variant)
            words = advice(explanation, state.kernel, state.python_file)
            found |= {state.path: words} if words else {}
    return found


def generated_now(options: argparse.Namespace, screen: Screen) -> tuple[dict[Path, dict[str, Now]], Path]:
    """Return the sources generated now, by slot and name, as far as the program compiles, and the folder of slots."""
    folder = parse_spec(options.program).path.parent / "edits"
    try:
        calls = find_calls(options)
    except (CommandError, TaichiCompilationError, TaichiRuntimeError) as error:
        screen.note(f"shadesmith: what is generated now is unknown: {str(error).strip()}")
        return {}, folder
    found: dict[Path, dict[str, Now]] = {}
    for call in calls:
        folder = folder_of(call.kernel.definition, sessions.current_config().edits_dir)
        for arch in dict.fromkeys(ARCH_OF_SUFFIX.values()):
            for slot, sources in _sources(call, arch, screen):
                found.setdefault(slot, {}).update(sources)
    return found, folder


def _sources(call: Call, arch: str, screen: Screen) -> Iterator[tuple[Path, dict[str, Now]]]:
    config = sessions.current_config()
    try:
        inspection = call.kernel.inspect(*call.arguments, arch=ARCHES[arch])
        slot, module = slot_of(inspection.specialization, config.edits_dir), inspection.module
        runs = _running(call, slot, inspection) if config.edits != "off" and slot.folder.is_dir() else None
    except (TaichiCompilationError, TaichiRuntimeError) as error:
        screen.note(f"shadesmith: kernel `{call.kernel.definition.name}` for {arch}: {str(error).strip()}")
        return
    able = inspection.specialization.capabilities
    bases = Bases(inspection.specialization, module)
    yield slot.folder, {file.name: Now(file.text, runs, module, able, bases) for file in module.files}


def _running(call: Call, slot: Slot, inspection: Inspection) -> str:
    """Return the variant that the next launch runs. Raises: EditError for an invalid rule."""
    found = select(inspection.specialization, slot, inspection.module, call.kernel.wanted)
    if found.dispatch is None:
        return found.name
    if not call.arguments:
        return UNDECIDED
    name = found.dispatch(call.kernel.arguments.flatten_packs(call.arguments))
    return "" if name == EDIT else name
