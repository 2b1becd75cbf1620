"""An edit that a launch does not run, since it is for other arguments, options or values: one line says so.

In: a specialization that runs its generated source. Out: the message, which names the edit and what differs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.frontend.source.specialization import Specialization
from ....transpiler.options import CompileOptions
from ..check.edit_error import EditError
from .header import header_of, inert, is_untouched
from .identity import OPTION, option_text, recorded_values, shown, without_checks
from .other_sizes import carried_over
from .slots import BASE, Slot, kernel_folder, python_file, read_text, slot_of

MAX_SHOWN = 3
"""Differences in the message."""


def unused_edit(specialization: Specialization, module: BackendModule, edits_dir: str) -> str:
    """Return what to tell the user of an edit of this kernel that is for something else, "" if there is none.

    A source that is an edit of this specialization, or an untouched copy for it, needs no message.
    """
    kernel = kernel_folder(specialization, edits_dir)
    if not kernel.is_dir() or specialization.options != without_checks(specialization.options):
        return ""
    own = slot_of(specialization, edits_dir)
    if any(own.path(file.name).is_file() for file in module.files):
        return ""
    for folder in sorted(os.listdir(kernel)):
        slot = Slot(kernel / folder)
        for file in module.files:
            path = slot.path(file.name)
            try:
                text = read_text(path)
                if text is None or is_untouched(text, read_text(slot.base(file.name))):
                    continue
            except EditError:
                continue
            why, hint = _why(specialization, slot, text), "`kernel.edit(...)` with these arguments starts another edit"
            if carried_over(specialization, module, edits_dir):
                hint = "`shadesmith merge FILE:KERNEL` makes one of it for these sizes and values"
            return (
                f"kernel `{module.kernel}` runs its generated source: the edit {path} is for {why}. "
                f"Hint: {hint}; ti.init(edits='off') runs none"
            )
    return ""


def misnamed_edit(specialization: Specialization, module: BackendModule, edits_dir: str) -> str:
    """Return what to tell the user of an edit in the slot of a source that the kernel does not have, "" if none is.

    Vulkan has a file for each loop: where the Python has fewer of them than before, an edit may be of none.
    """
    slot = slot_of(specialization, edits_dir)
    names = [file.name for file in module.files]
    suffixes = {Path(name).suffix for name in names}
    for path in slot.sources():
        stem = path.stem.partition("@")[0]
        if path.suffix not in suffixes or f"{stem}{path.suffix}" in names:
            continue
        try:
            text, base = read_text(path) or "", read_text(slot.folder / BASE / path.name)
        except EditError:
            continue
        if header_of(text).base and not is_untouched(text, base):
            return (
                f"the edit {path} is not used: kernel `{module.kernel}` has no such source now, but "
                f"{', '.join(names)}. Hint: move its changes to where that code is now, and delete it"
            )
    return ""


def _why(specialization: Specialization, slot: Slot, text: str) -> str:
    """Return what an edit is for and what is otherwise here."""
    if python_file(specialization.definition) is None:
        return "a kernel of a shell, where only edits with a name run, by `kernel.use(name)`"
    found = [*_changed_arguments(specialization, slot), *_changed_values(specialization, text)]
    if not found:
        return f"other arguments ({slot.folder.name})"
    return "; ".join(found[:MAX_SHOWN]) + ("; ..." if len(found) > MAX_SHOWN else "")


def _changed_arguments(specialization: Specialization, slot: Slot) -> Iterator[str]:
    recorded = slot.facts().get("arguments")
    pairs = zip(specialization.definition.flat_parameters, specialization.arguments)
    for name, now in ((parameter.name, shown(argument)) for parameter, argument in pairs):
        then = recorded.get(name, now) if isinstance(recorded, dict) else now
        if then != now:
            yield f"{name}: {inert(str(then))}, here {inert(now)}"


def _changed_values(specialization: Specialization, text: str) -> Iterator[str]:
    then, now = dict(header_of(text).values), dict(recorded_values(specialization))
    plain = CompileOptions()
    for name in sorted({*then, *now}):
        option = name.removeprefix(OPTION)
        default = option_text(getattr(plain, option)) if name != option and hasattr(plain, option) else None
        before, after = then.get(name, default), now.get(name, default)
        if None not in (before, after) and before != after:
            yield f"{option} = {before}, here {after}"
