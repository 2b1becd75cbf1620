"""`shadesmith adopt`: write the directives that give the source of an edit into the Python file.

The file is written only if the directives give the whole edit; then the program is read again, and if the source that
it generates now is not that of the edit, the file is restored. So the edit is stored until Python gives the same.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ....transpiler.frontend.source.specialization import Specialization
from ...session import session as sessions
from ...workbench.adopt.explain import Explanation, RemainingLine, explain
from ...workbench.adopt.python_file import PythonFile, read_python_file
from ...workbench.adopt.python_text import FunctionText
from ...workbench.adopt.same_code import same_code
from ...workbench.edits.header import without_header
from ...workbench.edits.slots import read_text
from ...workbench.inspect.overview import EDITED, UNTOUCHED, EditState, difference
from ..diff import from_here
from ..programs import parse_spec
from ..screen import CommandError, Screen
from ..slots import find_edits, find_slots, generated_now

ADOPTED = ".adopted"
"""Suffix, in `.base`, of an edit whose directives are in the Python file."""
MAX_SHOWN = 12
"""Lines that remain which are shown."""


class Edit(NamedTuple):
    """One variant of a kernel for one target. states: of its files, by name."""

    states: Mapping[str, EditState]

    @property
    def first(self) -> EditState:
        """One of its files."""
        return next(iter(self.states.values()))

    @property
    def specialization(self) -> Specialization:
        """What it is an edit of."""
        now = self.first.now
        assert now is not None and now.bases is not None
        return now.bases.specialization

    def sources(self) -> dict[str, str]:
        """Return its sources by name, without what they say about themselves."""
        return {name: without_header(read_text(state.path) or "") for name, state in self.states.items()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("program", metavar="FILE:KERNEL", help="a Python file and a kernel in it with an edited source")
    parser.add_argument("--arch", help="the edit for cpu, cuda or vulkan")
    parser.add_argument("--args", metavar="EXPR", help="arguments of the kernel, in the names of the file: '8, x'")
    parser.add_argument("--call", type=int, metavar="N", help="arguments of the kernel's launch number N")
    parser.add_argument("--variant", metavar="NAME", help="the edit; `edit` for the unnamed one")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the directives and the change of the Python file, write it, and set the edit aside; 1 if lines remain."""
    parse_spec(options.program)
    edit = _only_edit(options, screen)
    generated = edit.first.now.module  # type: ignore[union-attr]
    with screen.progress("compiling with directives"):
        found = explain(edit.specialization, generated, edit.sources())
    data = {
        "edit": [str(state.path) for state in edit.states.values()],
        "directives": [{"directive": d.title.strip("`"), "line": d.line or None} for d in found.directives],
        "remaining": [_line_data(line) for line in found.remaining],
    }
    for directive in found.directives:
        screen.show(directive.title + found.where(directive))
    if not found.is_whole or found.options:
        screen.show_data({**data, "written": None})
        _refuse(found, screen)
        return 1
    assert found.before is not None and found.text is not None
    file = read_python_file(Path(edit.specialization.definition.source.file))
    data["written"] = str(file.path) if not options.dry_run else None
    _show_change(file, found.before, found.text, screen)
    if not options.dry_run:
        _write(options, file, file.with_function(found.before, found.text), edit, screen)
    screen.show_data(data)
    return 0


def _line_data(line: RemainingLine) -> dict[str, object]:
    return {"file": line.file, "line": line.number, "text": line.text, "is_added": line.is_added}


def _only_edit(options: argparse.Namespace, screen: Screen) -> Edit:
    """Return the edit that the command line selects. Raises: CommandError if there is none, or several."""
    states = find_edits(options, find_slots(options, screen))
    wanted = [s for s in states if options.variant is None or (s.variant or "edit") == options.variant]
    grouped: dict[tuple[Path, str, str], dict[str, EditState]] = {}
    for state in wanted:
        if state.state != UNTOUCHED:
            grouped.setdefault((state.slot.folder, state.target, state.variant), {})[state.name] = state
    known = {key: edit for key, edit in grouped.items() if all(state.now is not None for state in edit.values())}
    grouped = known or grouped  # edits for other arguments are not meant
    if not grouped:
        raise CommandError("There is no edit to adopt", "`shadesmith status` lists the edits")
    if len(grouped) > 1:
        shown = [(next(iter(edit.values())).kernel, *key[1:]) for key, edit in grouped.items()]
        names = ", ".join(f"{kernel} {target} {variant or 'edit'}" for kernel, target, variant in shown)
        raise CommandError(f"There are several edits: {names}", "select one by `--arch` and `--variant`")
    edit = Edit(next(iter(grouped.values())))
    for state in edit.states.values():
        path = from_here(state.path)
        if state.now is None or state.now.bases is None:
            raise CommandError(f"What is generated now for {path} is unknown", "--args 'EXPR, EXPR' passes arguments")
        if state.state != EDITED:
            hint = "`shadesmith merge` accepts the merge first" if state.state == "merges" else "`shadesmith status`"
            raise CommandError(f"{path} is in the state `{state.state}`: {state.reason or 'it has to fit first'}", hint)
    return edit


def _refuse(found: Explanation, screen: Screen) -> None:
    for line in found.remaining[:MAX_SHOWN]:
        screen.show(f"{line.file}:{line.number}: {'+' if line.is_added else '-'} {line.text}")
    if len(found.remaining) > MAX_SHOWN:
        screen.show(f"... and {len(found.remaining) - MAX_SHOWN} lines more")
    if found.remaining:
        what = "the lines above" if found.directives else "this edit: no directive gives any of its lines"
        screen.note(f"shadesmith: nothing is written, since no directive gives {what}. The edit stays as it is")
        return
    if not found.directives:
        screen.note("shadesmith: the edit differs from the generated source in comments alone")
        return
    titles = " and ".join(option.title for option in found.options)
    screen.note(f"shadesmith: nothing is written: {titles} is an option of the session, for all kernels. Hint: write it"
                " into the program by hand")  # fmt: skip


def _show_change(file: PythonFile, before: FunctionText, after: FunctionText, screen: Screen) -> None:
    lines, first = file.lines, before.first_line - 1
    changed = [*lines[:first], *after.lines, *lines[first + len(before.lines) :]]
    path = from_here(file.path)
    screen.show_code(difference("\n".join(lines), "\n".join(changed), (path, path)), "diff")


def _write(options: argparse.Namespace, file: PythonFile, data: bytes, edit: Edit, screen: Screen) -> None:
    """Write the Python file, check what it generates, and set the edit aside. Raises: CommandError; OSError."""
    file.write(data)
    try:
        reason = _difference_after(options, edit, screen)
    except BaseException:
        _restore(file, data)
        raise
    if reason:
        _restore(file, data)
        raise CommandError(
            f"{file.path.name} is as it was: with the directives, {reason}", "write them by hand, and compare"
        )
    for state in edit.states.values():
        stored = state.slot.base(state.name, state.variant)
        stored = stored.with_name(stored.name + ADOPTED)
        stored.parent.mkdir(exist_ok=True)
        os.replace(state.path, stored)
        screen.note(f"shadesmith: the edit is stored as {from_here(stored)}; the generated source is the same now")


def _restore(file: PythonFile, written: bytes) -> None:
    if file.path.read_bytes() == written:
        mode = file.path.stat().st_mode
        file.path.write_bytes(file.data)
        os.chmod(file.path, mode & 0o7777)


def _difference_after(options: argparse.Namespace, edit: Edit, screen: Screen) -> str:
    """Read the program again; return how its source differs from the edit, "" if it does not."""
    sessions.reset()
    sources = edit.sources()
    name, target = edit.specialization.definition.qualname, edit.specialization.capabilities.target
    for states in generated_now(options, screen)[0].values():
        for now in states.values():
            same_kernel = now.bases is not None and now.bases.specialization.definition.qualname == name
            if same_kernel and now.module.target == target:
                here = {file.name: file.text for file in now.module.files}
                if all(file in here and same_code(here[file], source) for file, source in sources.items()):
                    return ""
                return "the program generates another source"
    return "the program generates no source for this kernel"
