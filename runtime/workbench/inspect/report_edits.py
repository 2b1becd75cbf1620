"""The edits of a kernel for the report page: what a person changed. Nothing is written or merged."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from ....transpiler.backend.module.interface import SourceFile
from ....transpiler.errors import TaichiCompilationError
from ...launch.inspection import Inspection
from ..adopt.in_slot import advice, explanation_of
from ..edits.header import without_header
from ..edits.merge import same_source
from ..edits.slots import Slot, read_text, slot_of
from .ir_changes import GONE, NEW, UNCHANGED, changes
from .report import Text

RowsOf = Callable[[SourceFile], list[int]]
"""Returns the line of the Python pane for each line of an emitted source."""


def describe_edits(inspection: Inspection, edits_dir: str, rows_of: RowsOf) -> Iterator[Text]:
    """Yield the changes of a person in each file of each variant, then the compiler's since then."""
    slot = slot_of(inspection.specialization, edits_dir)
    if not slot.folder.is_dir():
        return
    names = tuple(file.name for file in inspection.module.files)
    definition = inspection.specialization.definition
    for variant in ("", *slot.variants(names)):
        explanation = explanation_of(inspection.specialization, inspection.module, slot, variant)
        same = advice(explanation, definition.qualname, os.path.basename(definition.source.file))
        for file in inspection.module.files:
            try:
                yield from _edit(slot, file, variant, rows_of, same)
            except TaichiCompilationError as error:  # it cannot be read
                yield Text(slot.path(file.name, variant).name, "plain", str(error), subtitle="cannot be read")


def _edit(slot: Slot, file: SourceFile, variant: str, rows_of: RowsOf, same: str) -> Iterator[Text]:
    """Yield what differs in one file. same: what gives the edit from Python, "" if nothing does."""
    path = slot.path(file.name, variant)
    text = read_text(path)
    if text is None:
        return
    text = without_header(text)
    base = read_text(slot.base(file.name, variant))
    if base is None:
        base = file.text
    if text != base:
        yield _difference(path.name, f"in {_shown(slot)}{same and f'; {same}'}", base, text, file.name, rows_of)
    if text != base and not same_source(base, file.text):
        yield _difference(path.name, "generated source since then", base, file.text, file.name, rows_of)


def _difference(title: str, subtitle: str, before: str, after: str, name: str, rows_of: RowsOf) -> Text:
    change = changes(before.rstrip("\n"), after.rstrip("\n"))
    rows = {GONE: rows_of(SourceFile(name, before)), UNCHANGED: rows_of(SourceFile(name, after))}
    counts = Counter(line.sign for line in change.lines)
    return Text(
        title,
        "c",
        "\n".join(line.sign + line.text for line in change.lines),
        tuple(rows[GONE if line.sign == GONE else UNCHANGED][line.line - 1] for line in change.lines),
        subtitle=f"+{counts[NEW]} −{counts[GONE]}, {subtitle}",
        is_changes=True,
    )


def _shown(slot: Slot) -> str:
    """Return the slot's folder below that of all edits, without other folders of this machine."""
    return os.path.join(*Path(slot.folder).parts[-3:]).replace(os.sep, "/")
