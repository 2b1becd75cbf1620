"""What lies in the slots of edits: which texts there are, what a person changed in each, and whether it still fits.

In: folders, and the modules generated now where they are known. Out: `EditState`s. Nothing is merged, written or built.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ....transpiler.options import Capabilities
from ...devices.target_tools import source_tools
from ..check.check_edit import check_edit
from ..check.edit_error import EditError
from ..edits.edited_module import edited_module
from ..edits.merge import has_markers, merge, same_text
from ..edits.selection import CONFLICT
from ..edits.slots import BASE, FACTS, Slot, read_text
from ..edits.stored_tunings import STORE
from ..edits.variants import EDIT

ARCH_OF_SUFFIX = {tools.suffix: tools.arch for tools in source_tools()}
"""By suffix of a text, the architecture it is for, as `--arch` takes it."""

UNTOUCHED = "untouched"
EDITED = "edited"
MERGES = "merges"
CONFLICTS = "conflict"
REFUSED = "refused"
UNREADABLE = "unreadable"
UNDECIDED = "@when"
MEANINGS = {
    UNTOUCHED: "a copy of the generated text: no edit",
    EDITED: "differs from the generated text it came from",
    MERGES: "the generated text has changed since; the next launch merges both",
    CONFLICTS: "the generated text has changed where this one was edited; a launch refuses it and writes a copy"
    f" with markers beside it, `*{CONFLICT}`, to decide in",
    REFUSED: "does not compile, or its interface is not that of the generated text",
    UNREADABLE: "no text in UTF-8",
}

_PLACE = re.compile(r"//.*?([\w.-]+\.\w+):(\d+)  ")
"""The comment above what a Python line became."""

_SLOT = re.compile(r"-[0-9a-f]{6}$")
_PART = re.compile(r"@@ -(\d+)")


@dataclass(frozen=True, slots=True)
class Now:
    """What the program makes of one file of a slot today.

    runs: the variant the next launch runs, None: none; `UNDECIDED`: rules ask for arguments. module, capabilities: what
    the file is of, and made for.
    """

    text: str
    runs: str | None
    module: BackendModule
    capabilities: Capabilities


@dataclass(frozen=True, slots=True)
class EditState:
    """One text in a slot. kernel, python_file, arguments: as the slot's facts say. variant: "" for the unnamed one.

    added, removed: lines against the base. state: one of `MEANINGS`. now: what is generated now, None where that is not
    known. reason: why it is no text.
    """

    kernel: str
    python_file: str
    arguments: str
    slot: Slot
    name: str
    variant: str
    state: str
    added: int = 0
    removed: int = 0
    now: Now | None = None
    reason: str = ""

    @property
    def runs(self) -> bool | None:
        """Whether the next launch runs it; None where that is not known, or rules decide by its arguments."""
        if self.now is None or self.now.runs == UNDECIDED:
            return None
        return self.now.runs == self.variant and self.state in (EDITED, MERGES)

    @property
    def path(self) -> Path:
        """The file that is edited."""
        return self.slot.path(self.name, self.variant)

    @property
    def target(self) -> str:
        """The architecture the text is for."""
        return ARCH_OF_SUFFIX.get(self.path.suffix, "")


def slots_below(folder: Path) -> list[Slot]:
    """Return the slots in a folder and below it, in order; folders that begin with a dot are not looked into."""
    found: list[Slot] = []
    for place, folders, files in os.walk(folder):
        if _is_slot(Path(place), files):
            found.append(Slot(Path(place)))
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
    return found


def _is_slot(folder: Path, files: Sequence[str]) -> bool:
    """Tell slots from other folders: by what we write into them, else by their names and texts put there by hand."""
    if STORE in files or (folder / BASE / FACTS).is_file():
        return True
    return bool(_SLOT.search(folder.name)) and any(Path(name).suffix in ARCH_OF_SUFFIX for name in files)


def whose(slot: Slot) -> tuple[str, str, str]:
    """Return the kernel a slot belongs to, its Python file, and its arguments as text; "" for what is not known."""
    facts = slot.facts()
    shown = facts.get("arguments", {})
    arguments = ", ".join(f"{name}: {kind}" for name, kind in shown.items()) if isinstance(shown, dict) else ""
    stem, _, kernel = slot.folder.parent.name.partition(".")
    return str(facts.get("kernel") or kernel), str(facts.get("file") or f"{stem}.py"), arguments


def edits_in(slot: Slot, generated: Mapping[str, Now] | None = None) -> Iterator[EditState]:
    """Yield the texts of a slot. generated: what is made of it now, by name of the file."""
    generated = generated or {}
    for path in sorted(slot.folder.iterdir(), key=_order) if slot.folder.is_dir() else []:
        if path.suffix not in ARCH_OF_SUFFIX or not path.is_file() or path.name.startswith("."):
            continue
        stem, at, variant = path.stem.rpartition("@")
        name = f"{stem}{path.suffix}" if at else path.name
        variant, now = variant if at else "", generated.get(name)
        try:
            state, added, removed = _state(slot, name, variant, None if now is None else now.text)
            reason = ""
        except EditError as error:
            state, added, removed, reason = UNREADABLE, 0, 0, str(error)
        yield EditState(*whose(slot), slot, name, variant, state, added, removed, now, reason)


def _order(path: Path) -> tuple[str, str, str]:
    stem, at, variant = path.stem.rpartition("@")
    return (path.suffix, stem if at else path.stem, variant if at else "")


def _state(slot: Slot, name: str, variant: str, generated: str | None) -> tuple[str, int, int]:
    """Return the state of a text, and the lines added and removed. Raises: EditError for what is no text."""
    path = slot.path(name, variant)
    text, base = read_text(path) or "", read_text(slot.base(name, variant))
    base = generated if base is None else base
    if base is None:  # it was put there by hand
        return EDITED, text.count("\n"), 0
    if text in (base, generated):
        return UNTOUCHED, 0, 0
    if generated is not None and not same_text(base, generated):
        state = CONFLICTS if merge(base, text, generated).conflicts else MERGES
    else:
        state = CONFLICTS if _is_open(path.with_name(path.name + CONFLICT)) else EDITED
    return (state, *counts(base, text))


def _is_open(path: Path) -> bool:
    """Tell whether there is a copy with markers that somebody has yet to decide on."""
    try:
        return has_markers(read_text(path) or "")
    except EditError:
        return True


def edited_as_it_lies(slot: Slot, module: BackendModule, variant: str) -> BackendModule:
    """Return the module with the texts of a variant as they lie in the slot, merged with nothing.

    variant: "edit" for the unnamed one. Raises: EditError for what is no text; TaichiRuntimeError where there is none.
    """
    name = "" if variant == EDIT else variant
    found = {file.name: read_text(slot.path(file.name, name)) for file in module.files}
    texts = {name: text for name, text in found.items() if text is not None}
    if not texts:
        known = ", ".join(sorted({state.variant or EDIT for state in edits_in(slot)})) or "none"
        raise TaichiRuntimeError(
            f"kernel `{module.kernel}` has no variant `{variant}` for these arguments in {slot.folder}; "
            f"there is {known}",
            "`shadesmith edit FILE:KERNEL` writes the text to edit",
        )
    return edited_module(module, texts)


def checked(states: Sequence[EditState]) -> list[EditState]:
    """Return the states with those that a launch would refuse told as such, as far as what is generated is known.

    Raises: TaichiRuntimeError where a compiler is missing.
    """
    reasons: dict[tuple[Path, str, str], str] = {}
    for state in states:
        key = (state.slot.folder, state.variant, state.target)
        if state.now is not None and state.state == EDITED and key not in reasons:
            generated = state.now.module
            edited = edited_as_it_lies(state.slot, generated, state.variant or EDIT)
            paths = {file.name: state.slot.path(file.name, state.variant) for file in generated.files}
            try:
                check_edit(generated, edited, state.now.capabilities, paths)
            except TaichiCompilationError as error:
                reasons[key] = str(error).strip()
            else:
                reasons[key] = ""
    found = []
    for state in states:
        reason = reasons.get((state.slot.folder, state.variant, state.target), "")
        is_refused = state.state == EDITED and str(state.path) in reason
        found.append(replace(state, state=REFUSED, reason=reason) if is_refused else state)
    return found


def counts(before: str, after: str) -> tuple[int, int]:
    """Return how many lines were added and removed."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def difference(before: str, after: str, names: tuple[str, str]) -> str:
    """Return a unified diff, "" where nothing differs; each part says which Python line its first change is about:

    @@ -38,4 +38,6 @@ jacobi.py:8
    """
    old = before.splitlines()
    lines: list[str] = []
    head, number = -1, 0  # where a head waits for its first change, and the line of `before` that comes next
    for line in difflib.unified_diff(old, after.splitlines(), *names, lineterm=""):
        part = _PART.match(line)
        if part is not None:
            head, number = len(lines), int(part[1])
        elif head >= 0 and line[:1] in "+-":
            lines[head] = f"{lines[head]} {place_above(old, min(number, len(old)))}".rstrip()
            head = -1
        else:
            number += 1
        lines.append(line)
    return "\n".join(lines)


def place_above(lines: Sequence[str], number: int) -> str:
    """Return `jacobi.py:8` for a line (from 1) of an emitted text by the comments in it, "" outside of bodies."""
    for k in range(number - 1, -1, -1):
        match = _PLACE.search(lines[k])
        if match is not None:
            return f"{match[1]}:{match[2]}"
        if lines[k].startswith("}") and k != number - 1:
            return ""
    return ""
