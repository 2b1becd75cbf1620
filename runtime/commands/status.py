"""`shadesmith status`: which edits there are, whether they still fit, and which of them the next launch runs."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from ..workbench.overview import CONFLICTS, EDITED, MEANINGS, REFUSED, UNDECIDED, UNREADABLE, EditState, checked
from .diff import from_here
from .screen import Screen
from .slots import add_slot_arguments, find_edits

COLUMNS = ("kernel", "arguments", "text", "variant", "lines", "state", "runs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    add_slot_arguments(parser)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """List the texts in the slots; return 1 if one of them cannot run as it is."""
    states = find_edits(options, screen)
    with screen.progress("compiling edits"):
        states = checked(states)
    screen.show_data({"edits": [_data(state) for state in states]})
    if not states:
        screen.note("shadesmith: there are no edits here. Hint: `shadesmith edit FILE:KERNEL` writes a text to edit")
        return 0
    columns = COLUMNS if any(state.now is not None for state in states) else COLUMNS[:-1]
    screen.show_table(columns, [_row(state)[: len(columns)] for state in states])
    counted = Counter(state.state for state in states)
    for name, meaning in MEANINGS.items():
        if counted[name] and name != EDITED:
            screen.show(f"{name}: {meaning}")
    for reason in dict.fromkeys(state.reason for state in states if state.reason):
        screen.note(f"shadesmith: {reason}")
    return 1 if any(counted[name] for name in (CONFLICTS, REFUSED, UNREADABLE)) else 0


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
