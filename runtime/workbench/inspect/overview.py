"""The contents of the slots of edits: which sources exist, what a person changed in each, and whether it still fits.

In: folders, and the modules generated now as far as known. Out: `EditState`s. Nothing is merged, written or built.
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
from ..edits.bases import Bases
from ..edits.edited_module import edited_module
from ..edits.header import base_digest, header_of, without_header
from ..edits.merge import has_markers, merge
from ..edits.proposals import CONFLICT, MERGED
from ..edits.slots import BASE, FACTS, Slot, read_text
from ..edits.stored_tunings import STORE
from ..edits.variants import EDIT
from ..macros.expand import check_macros, without_macros

ARCH_OF_SUFFIX = {tools.suffix: tools.arch for tools in source_tools()}
"""By suffix of a source, its architecture, as for `--arch`."""

UNTOUCHED = "untouched"
EDITED = "edited"
MERGES = "merges"
CONFLICTS = "conflict"
REFUSED = "refused"
UNREADABLE = "unreadable"
UNKNOWN = "unknown"
STALE = "stale"
UNDECIDED = "@when"
MEANINGS = {
    UNTOUCHED: "an unchanged copy of the generated source: no edit",
    EDITED: "differs from the generated source from which it was made",
    MERGES: f"the generated source has changed since; the merge of both, `*{MERGED}`, runs once it is accepted:"
    " `shadesmith merge`",
    CONFLICTS: "the generated source has changed where this one was edited; a launch refuses it and writes a copy"
    f" with markers, `*{CONFLICT}`, in which to resolve the conflicts",
    REFUSED: "does not compile, or its interface is not that of the generated source",
    UNREADABLE: "not UTF-8 text, or not a plain file",
    UNKNOWN: "does not say by `// @base` which generated source it is an edit of; a launch refuses it",
    STALE: "the generated source has changed since, and its base is not here to merge; a launch refuses it",
}

_LOCATION = re.compile(r"//.*?([\w.-]+\.\w+):(\d+)(?:  |, |$)|// ():(\d+)(?:, |$)")
"""The comment above the source of a Python line, or at its end: the file, if it is not the kernel's, and the line."""
_ORIGIN = re.compile(r"// shadesmith [^\s,]+, \w+ [0-9a-f]{8}, ([^:]+):\d+:")
"""The comment at the top of an emitted source: the kernel's file."""

_SLOT = re.compile(r"-[0-9a-f]{6}$")
_PART = re.compile(r"@@ -(\d+)")


@dataclass(frozen=True, slots=True)
class Now:
    """One file of a slot as it is generated now.

    runs: the variant that the next launch runs, None: none; `UNDECIDED`: rules need arguments. module: of the file.
    capabilities: of the device that it is for. bases: what is generated for others.
    """

    source: str
    runs: str | None
    module: BackendModule
    capabilities: Capabilities
    bases: Bases | None = None


@dataclass(frozen=True, slots=True)
class EditState:
    """One source in a slot. kernel, python_file, arguments: from the slot's facts. variant: "" for the unnamed one.

    added, removed: lines compared with the base. state: one of `MEANINGS`. now: what is generated now, None if unknown.
    reason: why it cannot be read or run.
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
        """Whether the next launch runs it; None if that is unknown, or if rules depend on the arguments."""
        if self.now is None or self.now.runs == UNDECIDED:
            return None
        return self.now.runs == self.variant and self.state == EDITED

    @property
    def path(self) -> Path:
        """The file that is edited."""
        return self.slot.path(self.name, self.variant)

    @property
    def target(self) -> str:
        """The architecture that the source is for."""
        return ARCH_OF_SUFFIX.get(self.path.suffix, "")


def slots_below(folder: Path) -> list[Slot]:
    """Return the slots in a folder and below it, in order.

    Folders whose names start with a dot are skipped, and virtual environments, which hold what others wrote.
    """
    found: list[Slot] = []
    for path, folders, files in os.walk(folder):
        if "pyvenv.cfg" in files and Path(path) != folder:
            folders.clear()
            continue
        if _is_slot(Path(path), files):
            found.append(Slot(Path(path)))
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
    return found


def _is_slot(folder: Path, files: Sequence[str]) -> bool:
    """Return whether a folder is a slot: by our files in it, else by its name and the sources in it."""
    if STORE in files or (folder / BASE / FACTS).is_file():
        return True
    return bool(_SLOT.search(folder.name)) and any(Path(name).suffix in ARCH_OF_SUFFIX for name in files)


def owner_of(slot: Slot) -> tuple[str, str, str]:
    """Return the kernel a slot belongs to, its Python file, and its arguments as a string; "" for what is unknown."""
    facts = slot.facts()
    shown = facts.get("arguments", {})
    arguments = ", ".join(f"{name}: {kind}" for name, kind in shown.items()) if isinstance(shown, dict) else ""
    stem, _, kernel = slot.folder.parent.name.partition(".")
    return str(facts.get("kernel") or kernel), str(facts.get("file") or f"{stem}.py"), arguments


def edits_in(slot: Slot, generated: Mapping[str, Now] | None = None) -> Iterator[EditState]:
    """Yield the sources in a slot. generated: what is generated now, by name of the file."""
    generated = generated or {}
    for path in sorted(slot.folder.iterdir(), key=_order) if slot.folder.is_dir() else []:
        if path.suffix not in ARCH_OF_SUFFIX or not path.is_file() or path.name.startswith("."):
            continue
        stem, at, variant = path.stem.rpartition("@")
        name = f"{stem}{path.suffix}" if at else path.name
        variant, now = variant if at else "", generated.get(name)
        try:
            state, added, removed = _state(slot, name, variant, now)
            reason = ""
        except EditError as error:
            state, added, removed, reason = UNREADABLE, 0, 0, str(error)
        yield EditState(*owner_of(slot), slot, name, variant, state, added, removed, now, reason)


def _order(path: Path) -> tuple[str, str, str]:
    stem, at, variant = path.stem.rpartition("@")
    return (path.suffix, stem if at else path.stem, variant if at else "")


def _state(slot: Slot, name: str, variant: str, now: Now | None) -> tuple[str, int, int]:
    """Return the state of a source, and the lines added and removed. Raises: EditError if it cannot be read."""
    path = slot.path(name, variant)
    text, stored = read_text(path) or "", read_text(slot.base(name, variant))
    bare, header = without_header(text), header_of(text)
    digest = header.base or ("" if stored is None else base_digest(stored))
    if not digest:
        if now is None:  # a person put it there
            return EDITED, bare.count("\n"), 0
        return (UNTOUCHED, 0, 0) if bare == now.source else (UNKNOWN, *counts(now.source, bare))
    if base_digest(bare) == digest or (now is not None and bare == now.source):
        return UNTOUCHED, 0, 0
    base = stored if stored is not None and base_digest(stored) == digest else None
    if now is not None and now.bases is not None:
        fresh = now.bases.base(name, header.device, digest)
    else:
        fresh = now.source if now is not None and base_digest(now.source) == digest else None
    changes = counts(base or fresh or "", bare) if base or fresh else (0, 0)
    if now is None or fresh is not None:
        return (CONFLICTS if _is_open(path.with_name(path.name + CONFLICT)) else EDITED, *changes)
    if base is None:
        return (STALE, *changes)
    new = now.bases.source(name, header.device) if now.bases is not None else None
    return (CONFLICTS if merge(base, bare, new or now.source).conflicts else MERGES, *changes)


def _is_open(path: Path) -> bool:
    """Return whether there is a copy with markers that nobody has resolved yet."""
    try:
        return has_markers(read_text(path) or "")
    except EditError:
        return True


def edited_as_stored(slot: Slot, module: BackendModule, variant: str) -> BackendModule:
    """Return the module with the sources of a variant as stored in the slot, without a merge.

    variant: "edit" for the unnamed one. Raises: EditError for an unreadable file; TaichiRuntimeError if there is none.
    """
    name = "" if variant == EDIT else variant
    found = {file.name: read_text(slot.path(file.name, name)) for file in module.files}
    sources = {name: source for name, source in found.items() if source is not None}
    if not sources:
        known = ", ".join(sorted({state.variant or EDIT for state in edits_in(slot)})) or "none"
        raise TaichiRuntimeError(
            f"kernel `{module.kernel}` has no variant `{variant}` for these arguments in {slot.folder}; "
            f"there is {known}",
            "`shadesmith edit FILE:KERNEL` writes the source to edit",
        )
    return without_macros(edited_module(module, sources))


def checked(states: Sequence[EditState]) -> list[EditState]:
    """Return the states, with `REFUSED` for those that a launch would refuse, as far as the generated source is known.

    Raises: TaichiRuntimeError if a compiler is missing.
    """
    reasons: dict[tuple[Path, str, str], str] = {}
    for state in states:
        key = (state.slot.folder, state.variant, state.target)
        if state.now is not None and state.state == EDITED and key not in reasons:
            generated = state.now.module
            edited = edited_as_stored(state.slot, generated, state.variant or EDIT)
            paths = {file.name: state.slot.path(file.name, state.variant) for file in generated.files}
            try:
                for path in paths.values():
                    check_macros(read_text(path) or "", path)
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
    """Return a unified diff, "" if nothing differs; the head of each part has the Python line of its first change:

    @@ -38,4 +38,6 @@ jacobi.py:8
    """
    old = before.splitlines()
    lines: list[str] = []
    head, number = -1, 0  # the head that has no change yet, and the next line of `before`
    for line in difflib.unified_diff(old, after.splitlines(), *names, lineterm=""):
        part = _PART.match(line)
        if part is not None:
            head, number = len(lines), int(part[1])
        elif head >= 0 and line[:1] in "+-":
            lines[head] = f"{lines[head]} {location_above(old, min(number, len(old)))}".rstrip()
            head = -1
        else:
            number += 1
        lines.append(line)
    return "\n".join(lines)


def location_above(lines: Sequence[str], number: int) -> str:
    """Return `jacobi.py:8` for a line (from 1) of an emitted source by the comments in it, "" outside of bodies."""
    for k in range(number - 1, -1, -1):
        match = _LOCATION.search(lines[k])
        if match is not None:
            if match[1]:
                return f"{match[1]}:{match[2]}"
            origin = next(filter(None, map(_ORIGIN.match, lines)), None)
            return f"{'' if origin is None else origin[1]}:{match[4]}"
        if lines[k].startswith("}") and k != number - 1:
            return ""
    return ""
