"""A merge is a proposal: a clean textual merge may be stale arithmetic, so it does not run before somebody accepts it.

In: an edit, the generated source from which it was made, and the one generated now. Out: `Proposal`, and after its
acceptance the merged edit in place of the old one, with a record of who accepted it. Under `edits="strict"` a person
accepts, by `shadesmith merge`; under `fallback` and `watch` a comparison on the arguments of the launch does too.

    jacobi.cu                    the edit, unchanged until then
    jacobi.cu.merged             the proposal, to look at
    .base/jacobi.cu.before       the edit before the last merge
    .base/jacobi.cu.merge.json   the record of the last merge
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import warn_user
from ...store.atomic_files import write_text
from ..check.edit_error import EditError
from .header import base_digest
from .slots import Slot, read_text

CONFLICT = ".conflict"
"""Suffix of the copy with the markers of a merge, next to the edit."""
MERGED = ".merged"
"""Suffix of the proposal, next to the edit."""
BEFORE = ".before"
"""Suffix, in `.base`, of the edit before it was merged."""
RECORD = ".merge.json"
"""Suffix, in `.base`, of the record of the last merge."""
NEW = ".new"
"""Suffix, in `.base`, of the generated source that an edit conflicts with."""
WROTE = ".wrote"
"""Suffix, in `.base`, of a conflict as it was written, to see whether somebody has changed it since."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A merge of one file.

    before: the edit; text: the merged one; generated: its base; user_lines: see `Merged`. origin: the edit for other
    sizes or values that is carried over; None: this one was merged. facts: about the slot, if that may be new.
    """

    slot: Slot
    name: str
    variant: str
    kernel: str
    before: str
    text: str
    generated: str
    user_lines: int
    origin: Path | None = None
    facts: Mapping[str, object] | None = None

    @property
    def path(self) -> Path:
        """The file of the edit."""
        return self.slot.path(self.name, self.variant)

    def show(self) -> None:
        """Write the proposal next to the edit."""
        path = self.path.with_name(self.path.name + MERGED)
        if read_text(path) != self.text:
            write_text(path, self.text)

    def accept(self, by: str) -> None:
        """Replace the edit by the merged one and record who accepted that. Raises: OSError."""
        before = auxiliary_path(self.slot, self.name, self.variant, BEFORE)
        if self.origin is None:
            write_text(before, self.before)
        write_text(self.path, self.text)
        if self.facts is not None:
            self.slot.write_facts(dict(self.facts))
        write_text(self.slot.base(self.name, self.variant), self.generated)
        record = {"base": base_digest(self.generated), "accepted_by": by, "lines_kept": self.user_lines}
        record_path = auxiliary_path(self.slot, self.name, self.variant, RECORD)
        write_text(record_path, json.dumps(record, indent=1) + "\n")
        for ending in (NEW, WROTE):
            auxiliary_path(self.slot, self.name, self.variant, ending).unlink(missing_ok=True)
        for suffix in (CONFLICT, MERGED):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        if self.origin is not None:
            warn_user(
                f"{self.path}:1: an edit of kernel `{self.kernel}` for these sizes and values, merged from "
                f"{self.origin} and accepted by {by}; it has {_lines(self.user_lines)} of yours"
            )
            return
        warn_user(
            f"{self.path}:1: the generated source of kernel `{self.kernel}` has changed; this edit was merged with it, "
            f"accepted by {by}, and keeps {_lines(self.user_lines)} of yours. The edit as it was before: {before}. "
            "Hint: `shadesmith diff` shows your changes"
        )


def refused(proposals: Sequence[Proposal], why: str = "") -> EditError:
    """Write merges that nobody has accepted next to the edits, and return the error. why: what else is known."""
    first = proposals[0]
    with suppress(OSError):
        for proposal in proposals:
            proposal.show()
    return EditError(
        f"{first.path}:1: the generated source of kernel `{first.kernel}` has changed since this edit was made. It can "
        f"be merged without a conflict, but nobody has accepted the merge{why}. The edit is unchanged; the merge is in "
        f"{first.path.name}{MERGED}",
        "`shadesmith merge FILE:KERNEL` compares it with the generated source and accepts it",
    )


def accepted_by(slot: Slot, module: BackendModule, variant: str) -> str:
    """Return who accepted the last merge of an edit with the source generated now, "" if there was none."""
    for file in module.files:
        text = read_text(auxiliary_path(slot, file.name, variant, RECORD))
        try:
            record = json.loads(text) if text is not None and len(text) < 1 << 16 else {}
        except (ValueError, RecursionError):
            record = {}
        if isinstance(record, dict) and record.get("base") == base_digest(file.text):
            return str(record.get("accepted_by", ""))
    return ""


def auxiliary_path(slot: Slot, name: str, variant: str, ending: str) -> Path:
    """Return the path of a file in `.base` that belongs to an edit."""
    base = slot.base(name, variant)
    return base.with_name(base.name + ending)


def _lines(count: int) -> str:
    return f"{count} {'line' if count == 1 else 'lines'}"
