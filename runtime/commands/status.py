"""`shadesmith status`: list the edits, whether they still fit, and which of them the next launch runs."""

from __future__ import annotations

import argparse
from typing import Any

from ..workbench.edits.slots import Slot
from ..workbench.edits.stored_tunings import StoredTuning, read_entries
from ..workbench.inspect.overview import (
    CONFLICTS,
    EDITED,
    MEANINGS,
    REFUSED,
    STALE,
    UNDECIDED,
    UNKNOWN,
    UNREADABLE,
    EditState,
    checked,
    owner_of,
)
from .diff import from_here
from .screen import Screen
from .slots import add_slot_arguments, advices, find_edits, find_slots

COLUMNS = ("kernel", "arguments", "source", "variant", "lines", "state", "runs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_slot_arguments(parser)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """List the sources in the slots; return 1 if one of them cannot run."""
    slots = find_slots(options, screen)
    with screen.progress("compiling edits"):
        states = checked(find_edits(options, slots))
        advised = advices(states)
    tuned = [_tuned(Slot(folder), entry) for folder in slots for entry in read_entries(Slot(folder))]
    edits = [{**_data(state), "same_as": advised.get(state.path, "")} for state in states]
    screen.show_data({"edits": edits, "tuned": tuned})
    if not states and not tuned:
        screen.note("shadesmith: there are no edits here. Hint: `shadesmith edit FILE:KERNEL` writes a source to edit")
        return 0
    if states:
        _show(states, screen)
    for path, same in advised.items():
        screen.show(f"{path.name}: {same}")
    if tuned:
        screen.show_table(tuple(tuned[0]), [tuple(row.values()) for row in tuned], title="tuned values")
    for reason in dict.fromkeys(state.reason for state in states if state.reason):
        screen.note(f"shadesmith: {reason}")
    return 1 if any(state.state in (CONFLICTS, REFUSED, STALE, UNKNOWN, UNREADABLE) for state in states) else 0


def _show(states: list[EditState], screen: Screen) -> None:
    columns = COLUMNS if any(state.now is not None for state in states) else COLUMNS[:-1]
    screen.show_table(columns, [_row(state)[: len(columns)] for state in states])
    there = {state.state for state in states}
    for name, meaning in MEANINGS.items():
        if name in there and name != EDITED:
            screen.show(f"{name}: {meaning}")


def _tuned(slot: Slot, entry: StoredTuning) -> dict[str, Any]:
    """Return the results of a search as a row. time: divided by that of the values in the source."""
    best = {name: value for values in (entry.best or {}).values() for name, value in values.items()}
    kernel, _, arguments = owner_of(slot)
    values = ", ".join(f"{name} = {value}" for name, value in best.items()) or "those in the source"
    return {
        "kernel": kernel,
        "arguments": arguments,
        "device": entry.device,
        "shapes": entry.shapes,
        "variant": entry.variant,
        "values": values,
        "time": f"{entry.ratio:.2f}",
    }


def _row(state: EditState) -> tuple[Any, ...]:
    lines = f"+{state.added} -{state.removed}" if state.added or state.removed else ""
    undecided = UNDECIDED if state.now is not None else ""
    runs = undecided if state.runs is None else "yes" if state.runs else "no"
    path = from_here(state.path)
    return state.kernel, state.arguments, path, state.variant or "edit", lines, state.state, runs


def _data(state: EditState) -> dict[str, Any]:
    return {
        "kernel": state.kernel,
        "file": state.python_file,
        "arguments": state.arguments,
        "target": state.target,
        "path": str(state.path),
        "variant": state.variant or "edit",
        "added": state.added,
        "removed": state.removed,
        "state": state.state,
        "runs": state.runs,
        "reason": state.reason,
    }
