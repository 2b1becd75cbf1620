"""What directives give the edits in a slot, for those who list edits."""

from __future__ import annotations

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiCompilationError
from ....transpiler.frontend.source.specialization import Specialization
from ..edits.header import without_header
from ..edits.slots import Slot, read_text
from .explain import FEW_TRIALS, Explanation, explain


def explanation_of(
    specialization: Specialization, generated: BackendModule, slot: Slot, variant: str
) -> Explanation | None:
    """Return the directives that give a variant in a slot, None if it cannot be read. variant: "": the unnamed one."""
    try:
        found = {file.name: read_text(slot.path(file.name, variant)) for file in generated.files}
    except TaichiCompilationError:
        return None
    sources = {name: without_header(text) for name, text in found.items() if text is not None}
    return explain(specialization, generated, sources, FEW_TRIALS)


def advice(explanation: Explanation | None, kernel: str, file: str) -> str:
    """Return what gives the edit and how to get it, "" if nothing does. kernel, file: as on the command line."""
    words = "" if explanation is None else explanation.in_words()
    if not words or explanation is None:
        return ""
    can_adopt = explanation.is_whole and not explanation.options
    return f"{words}: `shadesmith adopt {file}:{kernel}`" if can_adopt else words
