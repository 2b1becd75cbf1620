"""`shadesmith diff`: what was edited, and what has changed in the generated source since, with Python lines; or how two
AOT modules differ."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from ..aot.archive import open_archive
from ..aot.differences import differences
from ..workbench.edits.header import base_digest, header_of, without_header
from ..workbench.edits.merge import same_source
from ..workbench.edits.slots import read_text
from ..workbench.inspect.overview import UNREADABLE, UNTOUCHED, EditState, difference
from .screen import Screen
from .slots import add_slot_arguments, advices, find_edits, find_slots

SHOWN_CHARACTERS = 200
"""Of a value in a table."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_slot_arguments(parser)
    parser.add_argument("other", metavar="MODULE", nargs="?", help="compare two archives or folders of `ti.aot.Module`")
    parser.add_argument("--variant", metavar="NAME", help="only this variant; `edit` for the unnamed one")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show, for each edit, its difference from its base, and the difference of that from the present source."""
    if options.other is not None:
        return _compare_modules(Path(options.program), Path(options.other), screen)
    shown = []
    states = find_edits(options, find_slots(options, screen))
    advised = advices(states)
    for state in states:
        if options.variant is not None and (state.variant or "edit") != options.variant:
            continue
        if state.state == UNREADABLE:
            screen.note(f"shadesmith: {state.reason}")
        if state.state in (UNREADABLE, UNTOUCHED):
            continue
        edited, since = _differences(state)
        same = advised.get(state.path, "")
        data = {"path": str(state.path), "state": state.state, "edited": edited, "generated_since": since}
        shown.append({**data, "same_as": same})
        for part in filter(None, (edited, since)):
            screen.show_code(part, "diff")
            screen.show()
        if same:
            screen.show(same)
            screen.show()
    screen.show_data({"edits": shown})
    if not shown:
        screen.note("shadesmith: nothing was edited")
    return 0


def _compare_modules(first: Path, second: Path, screen: Screen) -> int:
    """Show how two modules differ. Returns 1 if they do."""
    found = differences(open_archive(first), open_archive(second))
    screen.show_data({"first": str(first), "second": str(second), **found.to_json()})
    if found.values:
        screen.show_table(
            ("", "first", "second"), [(path, _short(one), _short(other)) for path, one, other in found.values]
        )
    for name, what in found.kernels.items():
        screen.show(f"kernel {name}: {', '.join(what)}")
    for difference_of_file in found.texts.values():
        screen.show_code(difference_of_file, "diff")
    if found.are_none:
        screen.note("shadesmith: the modules are the same")
    return 0 if found.are_none else 1


def _short(value: object) -> str:
    text = "" if value is None else json.dumps(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


def _differences(state: EditState) -> tuple[str, str]:
    """Return what a person changed, and what the compiler changed since then."""
    path = from_here(state.path)
    text, base = read_text(state.path) or "", read_text(state.slot.base(state.name, state.variant))
    header, now = header_of(text), None if state.now is None else state.now.source
    if state.now is not None and state.now.bases is not None and header.base:
        now = state.now.bases.source(state.name, header.device) or now
    if base is not None and header.base and base_digest(base) != header.base:
        base = None  # it is of another edit
    base = now if base is None else base
    edited = difference(base or "", without_header(text), (f"generated/{state.name}", path))
    if base is None or now is None or same_source(base, now):
        return edited, ""
    return edited, difference(base, now, (f"generated then/{state.name}", f"generated now/{state.name}"))


def from_here(path: Path) -> str:
    """Return a path relative to the current folder if it is below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
