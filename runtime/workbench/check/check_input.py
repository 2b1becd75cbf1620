"""One edited file of a module, and the checks that all languages share: block sizes, and arrays that are only read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ....transpiler.backend.module.interface import BackendModule, TaskSource
from ....transpiler.options import Capabilities
from .compiler_diagnostics import CompilerDiagnostic, location_of
from .constants import ITEMS, constant, is_bracketed
from .diagnostics import (
    DiagnosticList,
    block_not_a_number,
    block_too_large,
    block_without_brackets,
    conditional_block,
    missing_block,
    store_to_read_only,
)
from .parsed_source import Location, ParsedSource, without_line_directives

_ABOUT_CONST = (
    r"read-only|modifiable lvalue|const-qualified|discards '?const|drops const",
    r'a value of type "const [^"]*\*" cannot be',
    r'of type "const [^"]*\*" is incompatible with parameter of type "(?!const)',
    r"\batomic\w*.*argument types are: \(const ",
)
"""What gcc, clang and NVRTC print where something is written through a pointer to const."""

MAX_DIAGNOSTICS = 5
"""Errors of a compiler in one message; later ones are mostly consequences."""


@dataclass(frozen=True, slots=True)
class EditedFile:
    """An edited file, and where its diagnostics go.

    Attributes:
        generated: The generated module.
        edited: The module with the edited sources.
        number: Index of the file in both modules.
        capabilities: What the device can do.
        diagnostics: Where the mistakes are recorded.
    """

    generated: BackendModule
    edited: BackendModule
    number: int
    capabilities: Capabilities
    diagnostics: DiagnosticList

    @property
    def source(self) -> ParsedSource:
        """The edited source."""
        return self.diagnostics.source

    @property
    def name(self) -> str:
        """The file's name in the module."""
        return self.edited.files[self.number].name

    @property
    def generated_source(self) -> str:
        """The source that was edited."""
        return self.generated.files[self.number].text

    @property
    def compiled_source(self) -> str:
        """The edited source without `#line` directives, so that compilers report its own line numbers.

        A source in which macros are active has own ones, by which they do.
        """
        text = self.edited.files[self.number].text
        has_active_macros = self.edited.interface.reports != self.generated.interface.reports
        return text if has_active_macros else without_line_directives(text)

    @property
    def tasks(self) -> list[tuple[TaskSource, TaskSource]]:
        """The tasks of the file: as generated, and as the edited source asks for them to be launched."""
        pairs = zip(self.generated.tasks, self.edited.tasks, strict=True)
        return [(old, new) for old, new in pairs if new.file == self.number]

    @property
    def device(self) -> str:
        """The name of the device."""
        return dict(self.capabilities.extra).get("device", "the device")

    def block_location(self, old: TaskSource) -> Location | None:
        """Return where the source defines how many threads a block of a task has."""
        return block_location(self.source, old)


def block_location(source: ParsedSource, old: TaskSource) -> Location | None:
    """Return where a source defines how many threads a block of a task has. old: the task as generated."""
    found = (source.find_macro(name) for name in old.block_names)
    return next((location for location in found if location is not None), None)


def check_blocks(edit: EditedFile) -> None:
    """Record block sizes that the launcher cannot read or the device does not support."""
    for name in (ITEMS, *dict.fromkeys(block_name(edit, old) for old, _ in edit.tasks)):
        location = edit.source.find_macro(name) if name else None
        if location is None:
            continue
        value = constant(edit.source.text, name)
        if value is None or value <= 0:
            edit.diagnostics.add(location, *block_not_a_number(name, value))
        elif not is_bracketed(name, edit.source.text):
            edit.diagnostics.add(location, *block_without_brackets(name, value))
        elif (conditional := edit.source.find_conditional(name)) is not None:
            edit.diagnostics.add(conditional, *conditional_block(name))
    for old, new in edit.tasks:
        if new.block_dim > edit.capabilities.max_block_dim:
            message = block_too_large(new.block_dim, edit.capabilities.max_block_dim, edit.device)
            edit.diagnostics.add(edit.block_location(old) or edit.source.find(r"\blocal_size_[xyz]\b"), *message)


def check_block_is_defined(edit: EditedFile) -> None:
    """Record a missing constant from which the launcher reads the size of a block."""
    for old, _ in edit.tasks:
        name = block_name(edit, old)
        reads_device = edit.source.find_name("blockDim") is not None
        if name and edit.source.find_macro(name) is None and edit.block_location(old) is None and not reads_device:
            location = edit.source.find_name(name) or edit.source.find_name(old.entry)
            edit.diagnostics.add(location, *missing_block(name, old.block_dim))


def block_name(edit: EditedFile, old: TaskSource) -> str:
    """Return the constant that the generated source has for a task's block, "" if it has none."""
    if old.kind == "serial":
        return ""
    return next((name for name in old.block_names if constant(edit.generated_source, name) is not None), "")


def note_errors(
    edit: EditedFile, errors: list[CompilerDiagnostic], read_only: dict[str, str], column_skips_indent: bool = False
) -> None:
    """Record what a compiler reports. read_only: arrays by the names that refer to them in the source."""
    for diagnostic in errors[:MAX_DIAGNOSTICS]:
        location = location_of(diagnostic, edit.source, column_skips_indent)
        if diagnostic.file not in ("", "<stdin>", "stdin", edit.name) and diagnostic.line:  # a file that it includes
            edit.diagnostics.add(None, f"{diagnostic.file}:{diagnostic.line}: error: {diagnostic.message}")
        elif (
            location is not None
            and is_about_const(diagnostic.message)
            and (name := named_in(edit.source, location, read_only))
        ):
            edit.diagnostics.add(name_location(edit.source, location, read_only) or location, *store_to_read_only(name))
        else:
            edit.diagnostics.add(location, f"error: {diagnostic.message}")


def is_about_const(message: str) -> bool:
    """Return whether a compiler reports that something cannot be written to, or loses its const."""
    return any(re.search(pattern, message) for pattern in _ABOUT_CONST)


def named_in(source: ParsedSource, location: Location, names: dict[str, str]) -> str | None:
    """Return the array whose name is at a location, or else is first in its line."""
    found = name_location(source, location, names)
    if found is None:
        return None
    return names[source.line(found.line)[found.column - 1 : found.column - 1 + found.width]]


def name_location(source: ParsedSource, location: Location, names: Iterable[str]) -> Location | None:
    """Return where the name is that a location is about: before an operator that stores, else after the location."""
    found = sorted(
        (at for name in names if (at := source.find_name(name, location.line)) is not None), key=lambda at: at.column
    )
    before = [at for at in found if at.column < location.column]
    after = [at for at in found if at.column >= location.column]
    stores = source.line(location.line)[location.column - 1 : location.column] in tuple("=+-*/%&|^<>")
    ordered = before[-1:] if stores and before else after or found
    return ordered[0] if ordered else None


def casts_away(source: ParsedSource, names: Iterable[str]) -> list[tuple[str, Location]]:
    """Return where a source casts what one of `names` refers to, to a pointer without const.

    The generated source does so too, to read a component of a vector by an index that only the device knows.
    """
    choice = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    if not choice:
        return []
    cast = r"(?:\(\s*(?!const\b)[\w ]+?\*+\s*(?:__restrict__\s*)?\)|\bconst_cast\s*<[^>]*>)"
    found = re.finditer(rf"{cast}\s*\(?\s*&?\s*(?:args\s*\.\s*)?\b({choice})\b", source.code)
    dropped = (match for match in found if not re.search(r"\bconst\b", match[0].partition(")")[0]))
    return [(match[1], source.locate(*match.span(1))) for match in dropped]


def unclosed_brace(source: ParsedSource) -> Location | None:
    """Return the last brace that is opened and never closed."""
    opened: list[int] = []
    for position, character in enumerate(source.code):
        if character == "{":
            opened.append(position)
        elif character == "}" and opened:
            opened.pop()
    return source.locate(opened[-1]) if opened else None
