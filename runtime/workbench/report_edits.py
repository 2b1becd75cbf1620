"""The hand edits of a kernel as the report page shows them: what a person changed. Nothing is written or merged."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from ...transpiler.backend.module.interface import SourceFile
from ...transpiler.errors import TaichiCompilationError
from ..launch.inspection import Inspection
from .ir_changes import GONE, KEPT, NEW, changes
from .merge import same_text
from .report import Text
from .slots import Slot, read_text, slot_of

RowsOf = Callable[[SourceFile], list[int]]
"""Returns the line of the Python pane that each line of an emitted text came from."""


def describe_edits(inspection: Inspection, edits_dir: str, rows_of: RowsOf) -> Iterator[Text]:
    """Yield what was changed in each file of each variant, then what the compiler changed since, where it did."""
    slot = slot_of(inspection.specialization, edits_dir)
    if not slot.folder.is_dir():
        return
    names = tuple(file.name for file in inspection.module.files)
    for variant in ("", *slot.variants(names)):
        for file in inspection.module.files:
            try:
                yield from _edit(slot, file, variant, rows_of)
            except TaichiCompilationError as error:  # it is no text
                yield Text(slot.path(file.name, variant).name, "plain", str(error), subtitle="cannot be read")


def _edit(slot: Slot, file: SourceFile, variant: str, rows_of: RowsOf) -> Iterator[Text]:
    path = slot.path(file.name, variant)
    text = read_text(path)
    if text is None:
        return
    base = read_text(slot.base(file.name, variant))
    if base is None:
        base = file.text
    if text != base:
        yield _difference(path.name, f"in {_shown(slot)}", base, text, file.name, rows_of)
    if text != base and not same_text(base, file.text):
        yield _difference(path.name, "in what is generated since it was made", base, file.text, file.name, rows_of)


def _difference(title: str, subtitle: str, before: str, after: str, name: str, rows_of: RowsOf) -> Text:
    change = changes(before.rstrip("\n"), after.rstrip("\n"))
    rows = {GONE: rows_of(SourceFile(name, before)), KEPT: rows_of(SourceFile(name, after))}
    counts = Counter(line.sign for line in change.lines)
    return Text(
        title,
        "c",
        "\n".join(line.sign + line.text for line in change.lines),
        tuple(rows[GONE if line.sign == GONE else KEPT][line.line - 1] for line in change.lines),
        subtitle=f"+{counts[NEW]} −{counts[GONE]}, {subtitle}",
        is_changes=True,
    )


def _shown(slot: Slot) -> str:
    """Return the slot's folder below that of all edits: no other folder of this machine."""
    return os.path.join(*Path(slot.folder).parts[-3:]).replace(os.sep, "/")
