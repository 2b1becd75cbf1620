"""One edited file of a module, with what all languages have to look at: block sizes, and arrays that are only read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...transpiler.backend.module.interface import BackendModule, TaskSource
from ...transpiler.options import Capabilities
from .complaints import Complaint, place_of
from .edited import ITEMS, constant
from .mistakes import Sheet, block_not_a_number, block_too_large, missing_block, store_to_read_only
from .places import Place, Text, without_line_directives

_ABOUT_CONST = (
    r"read-only|modifiable lvalue|const-qualified|discards '?const|drops const",
    r'a value of type "const [^"]*\*" cannot be',
    r'of type "const [^"]*\*" is incompatible with parameter of type "(?!const)',
    r"\batomic\w*.*argument types are: \(const ",
)
"""What gcc, clang and NVRTC say where something is written through a pointer to const."""

MAX_COMPLAINTS = 5
"""Errors of a compiler in one message; later ones are mostly consequences."""


@dataclass(frozen=True, slots=True)
class Edit:
    """number: of the file in both modules. capabilities: of the device. sheet: takes the mistakes."""

    generated: BackendModule
    edited: BackendModule
    number: int
    capabilities: Capabilities
    sheet: Sheet

    @property
    def text(self) -> Text:
        """The edited text."""
        return self.sheet.text

    @property
    def name(self) -> str:
        """The file's name in the module."""
        return self.edited.files[self.number].name

    @property
    def generated_text(self) -> str:
        """The text that was edited."""
        return self.generated.files[self.number].text

    @property
    def counted_text(self) -> str:
        """The edited text, whose lines compilers count as they are."""
        return without_line_directives(self.text.text)

    @property
    def tasks(self) -> list[tuple[TaskSource, TaskSource]]:
        """The tasks of the file, as generated and as the edited text asks for them."""
        pairs = zip(self.generated.tasks, self.edited.tasks, strict=True)
        return [(old, new) for old, new in pairs if new.file == self.number]

    @property
    def device(self) -> str:
        """What the device is called."""
        return dict(self.capabilities.extra).get("device", "the device")

    def block_place(self, old: TaskSource) -> Place | None:
        """Return where the text says how many threads a block of a task has."""
        names = (f"BLOCK_{old.block_dim}", "BLOCK")
        found = (self.text.macro(name) for name in names)
        return next((place for place in found if place is not None), None)


def check_blocks(edit: Edit) -> None:
    """Note block sizes that the launcher cannot read or the device cannot take."""
    for name in (ITEMS, *dict.fromkeys(_block_name(edit, old) for old, _ in edit.tasks)):
        place = edit.text.macro(name) if name else None
        if name == ITEMS and place is None:
            continue
        if name and place is not None and (constant(edit.text.text, name) or 0) <= 0:
            edit.sheet.add(place, *block_not_a_number(name))
    for old, new in edit.tasks:
        if new.block_dim > edit.capabilities.max_block_dim:
            text = block_too_large(new.block_dim, edit.capabilities.max_block_dim, edit.device)
            edit.sheet.add(edit.block_place(old) or edit.text.find(r"\blocal_size_[xyz]\b"), *text)


def check_block_is_said(edit: Edit) -> None:
    """Note a constant that is gone from which the launcher reads the size of a block."""
    for old, _ in edit.tasks:
        name = _block_name(edit, old)
        asks_device = edit.text.word("blockDim") is not None
        if name and edit.text.macro(name) is None and edit.block_place(old) is None and not asks_device:
            place = edit.text.word(name) or edit.text.word(old.entry)
            edit.sheet.add(place, *missing_block(name, old.block_dim))


def _block_name(edit: Edit, old: TaskSource) -> str:
    """Return the constant that the generated text has for a task's block, "" where it has none."""
    names = (f"BLOCK_{old.block_dim}", "BLOCK")
    if old.kind == "serial":
        return ""
    return next((name for name in names if constant(edit.generated_text, name) is not None), "")


def note_errors(
    edit: Edit, errors: list[Complaint], read_only: dict[str, str], column_counts_from_text: bool = False
) -> None:
    """Note what a compiler says of the user's text. read_only: arrays by the names that reach them in the text."""
    for complaint in errors[:MAX_COMPLAINTS]:
        place = place_of(complaint, edit.text, column_counts_from_text)
        if complaint.file not in ("", "<stdin>", "stdin", edit.name) and complaint.line:  # a file that it includes
            edit.sheet.add(None, f"{complaint.file}:{complaint.line}: error: {complaint.text}")
        elif place is not None and is_about_const(complaint.text) and (name := named_in(edit.text, place, read_only)):
            edit.sheet.add(name_place(edit.text, place, read_only) or place, *store_to_read_only(name))
        else:
            edit.sheet.add(place, f"error: {complaint.text}")


def is_about_const(message: str) -> bool:
    """Tell whether a compiler complains that something cannot be written to, or loses its const."""
    return any(re.search(pattern, message) for pattern in _ABOUT_CONST)


def named_in(text: Text, place: Place, names: dict[str, str]) -> str | None:
    """Return the array whose name stands at a place, or else first in its line."""
    found = name_place(text, place, names)
    if found is None:
        return None
    return names[text.line(found.line)[found.column - 1 : found.column - 1 + found.width]]


def name_place(text: Text, place: Place, names: Iterable[str]) -> Place | None:
    """Return where the name stands that a place is about: before a sign that stores, else behind."""
    found = sorted((at for name in names if (at := text.word(name, place.line)) is not None), key=lambda at: at.column)
    before = [at for at in found if at.column < place.column]
    after = [at for at in found if at.column >= place.column]
    stores = text.line(place.line)[place.column - 1 : place.column] in tuple("=+-*/%&|^<>")
    ordered = before[-1:] if stores and before else after or found
    return ordered[0] if ordered else None


def casts_away(text: Text, names: Iterable[str]) -> list[tuple[str, Place]]:
    """Return where a text casts to a pointer without const what one of `names` reaches.

    The generated text does so too, to read a component of a vector by an index that only the device knows.
    """
    choice = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    if not choice:
        return []
    cast = r"(?:\(\s*(?!const\b)[\w ]+?\*+\s*(?:__restrict__\s*)?\)|\bconst_cast\s*<[^>]*>)"
    found = re.finditer(rf"{cast}\s*\(?\s*&?\s*(?:args\s*\.\s*)?\b({choice})\b", text.code)
    kept = (match for match in found if not re.search(r"\bconst\b", match[0].partition(")")[0]))
    return [(match[1], text.place(*match.span(1))) for match in kept]


def unclosed_brace(text: Text) -> Place | None:
    """Return the last brace that is opened and never closed."""
    opened: list[int] = []
    for position, character in enumerate(text.code):
        if character == "{":
            opened.append(position)
        elif character == "}" and opened:
            opened.pop()
    return text.place(opened[-1]) if opened else None
