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

import itertools
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import warn_user
from ...store.atomic_files import write_text
from ..check.edit_error import EditError
from .header import base_digest, header_of, with_header, without_header
from .merge import Merged, has_markers, merge, same_source
from .slots import Slot, is_writable, read_text

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


def merged_edit(
    slot: Slot,
    name: str,
    variant: str,
    text: str,
    base: str,
    generated: str,
    kernel: str,
    proposals: list[Proposal] | None,
) -> str:
    """Merge an edit with the source generated now.

    proposals: takes the merge, which is to be accepted; None: it is refused.
    Raises: EditError for a conflict, if the file is read-only, and for a merge that is refused.
    """
    path = slot.path(name, variant)
    resolved = _resolved(slot, name, variant, generated)
    header = replace(header_of(text), base=base_digest(generated))
    merged = merge(base, without_header(text), generated, (path.name, "generated before", "generated now"))
    merged = replace(merged, text=with_header(merged.text, header))
    if resolved is not None:
        merged = Merged(with_header(resolved, header), 0, merged.user_lines)
    if not is_writable(path):
        raise EditError(
            f"{path}:1: this edit was made for another generated source of kernel `{kernel}` than the present one, and "
            "it cannot be merged here, since the file is read-only",
            "merge it where it is developed, or run with ti.init(edits='fallback')",
        )
    if merged.conflicts:
        raise _conflict(slot, name, variant, merged, generated, kernel)
    proposal = Proposal(slot, name, variant, kernel, text, merged.text, generated, merged.user_lines)
    if resolved is not None:
        proposal.accept("a person, who resolved the conflict")
    elif proposals is None:
        raise refused([proposal])
    else:
        proposals.append(proposal)
    return merged.text


def _resolved(slot: Slot, name: str, variant: str, generated: str) -> str | None:
    """Return the source of a conflict that somebody has resolved, None if that has not happened."""
    path = slot.path(name, variant)
    text = read_text(path.with_name(path.name + CONFLICT))
    if text is None or has_markers(text) or text == read_text(auxiliary_path(slot, name, variant, WROTE)):
        return None
    new = read_text(auxiliary_path(slot, name, variant, NEW))
    if new is None or same_source(new, generated):
        return text
    again = merge(new, without_header(text), generated)  # the generated source has changed again
    return None if again.conflicts else again.text


def _conflict(slot: Slot, name: str, variant: str, merged: Merged, generated: str, kernel: str) -> EditError:
    """Write the copy with markers, unless somebody is editing one, and return the error that names it."""
    path = slot.path(name, variant)
    copy, wrote, new = (
        path.with_name(path.name + CONFLICT),
        *(auxiliary_path(slot, name, variant, e) for e in (WROTE, NEW)),
    )
    found = read_text(copy)
    if found is not None and found != read_text(wrote):  # somebody is editing it
        if not same_source(read_text(new) or "", generated):
            numbers = (copy.with_name(f"{copy.name}-{number}") for number in itertools.count(2))
            os.replace(copy, next(path for path in numbers if not path.exists()))
            found = None
    if found is None or found == read_text(wrote):
        write_text(copy, merged.text)
        write_text(wrote, merged.text)
        write_text(new, generated)
    shown = read_text(copy) or merged.text
    line = next((k for k, text in enumerate(shown.splitlines(), 1) if has_markers(text)), 1)
    return EditError(
        f"{copy}:{line}: the generated source of kernel `{kernel}` has changed where {path.name} was edited: "
        f"{merged.conflicts} "
        f"{'conflict' if merged.conflicts == 1 else 'conflicts'}. The edit is unchanged",
        "resolve the conflicts in this copy; without markers it replaces the edit",
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
