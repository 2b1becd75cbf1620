"""Compare the structs that an edited source declares with the generated ones, without a compiler.

For sources that do not compile: a renamed member causes errors wherever it is used, but only its declaration is wrong.
Sources that compile are checked by compilers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ....transpiler.backend.module.divisors import DIVISOR
from .diagnostics import (
    DiagnosticList,
    element_type,
    extra_member,
    missing_member,
    missing_semicolon,
    missing_struct,
    moved_member,
    retyped_member,
)
from .parsed_source import Block, DeclaredMember, Location, ParsedSource

ALIASES = {
    "unsigned int": "unsigned", "uint32_t": "unsigned", "int32_t": "int", "long": "long long", "int64_t": "long long",
    "uint64_t": "unsigned long long", "unsigned long": "unsigned long long", "uint8_t": "unsigned char",
    "int8_t": "signed char", "_Bool": "bool",
}  # fmt: skip


_BUILT_IN = re.compile(
    r"void|bool|half|(?:signed |unsigned )?(?:char|short|int|long|long long)|unsigned|float|double|uint|u?int\d+_t|"
    r"float\d+_t|_Float16|[iudb]?vec\d|[iuf]\d+vec\d|d?mat\dx?\d?|(?:u?(?:char|short|int|long)|float|double)\d"
)


def instead_of(expected: Block, found: Block | None, name: str) -> DeclaredMember | None:
    """Return the member in the position of a missing one, if it is not one of the struct's own."""
    if found is None or found.members is None or expected.members is None or found.member(name) is not None:
        return None
    names = [member.name for member in expected.members]
    other = found.members[names.index(name)] if len(found.members) == len(names) else None
    return other if other is not None and other.name not in names else None


@dataclass(slots=True)
class Declarations:
    """Compares `Args` and the structs in it. cast: how the language reads memory as another type."""

    generated: ParsedSource
    edited: ParsedSource
    diagnostics: DiagnosticList
    cast: str
    _seen: set[tuple[str, str]] = field(default_factory=set)

    def compare(self) -> None:
        """Record what differs."""
        if "Args" in self.generated.blocks and "Args" not in self.edited.blocks:
            other = next((b for name, b in self.edited.blocks.items() if name not in self.generated.blocks), None)
            self.diagnostics.add(
                other.location if other is not None else self.edited.find_name("args"), *missing_struct("Args")
            )
        else:
            self._struct("Args", "Args")

    def _struct(self, name: str, shown: str) -> None:
        expected, found = self.generated.blocks.get(name), self.edited.blocks.get(shown)
        if expected is None or found is None or (name, shown) in self._seen:
            return
        self._seen.add((name, shown))
        if expected.members is None or found.members is None:
            return
        count = len(self.diagnostics.entries)
        renamed = set()
        for member in expected.members:
            here = found.member(member.name)
            if here is not None:
                self._member(shown, member, here)
                continue
            if member.type == DIVISOR:  # an edit may divide by itself
                continue
            unclosed = self._unclosed(found, member.name)
            if unclosed is not None:
                self.diagnostics.add(unclosed, *missing_semicolon(shown, member.name))
                continue
            other = instead_of(expected, found, member.name)
            renamed.add(other.name if other is not None else "")
            message = missing_member(shown, member.name, str(member), other.name if other is not None else None)
            self.diagnostics.add(other.location if other is not None else found.location, *message)
        for member in found.members:
            if expected.member(member.name) is None and member.name not in renamed:
                self.diagnostics.add(member.location, *extra_member(shown, member.name))
        if len(self.diagnostics.entries) == count:
            self._order(expected, found)

    def _unclosed(self, found: Block, name: str) -> Location | None:
        """Return the location of a member that was read as a part of the next one's type: its `;` is missing."""
        joined = next((member for member in found.members or () if name in member.type.split()), None)
        if joined is None:
            return None
        lines = range(joined.location.line, found.location.line - 1, -1)
        return next((place for line in lines if (place := self.edited.find_name(name, line)) is not None), None)

    def _order(self, expected: Block, found: Block) -> None:
        names = [member.name for member in expected.members or ()]
        for name, here in zip(names, found.members or ()):
            if here.name != name:
                message, hint = moved_member(found.name, here.name, 0, None, names)
                self.diagnostics.add(here.location, message.replace("expected byte 0", f"expected `{name}` here"), hint)
                return

    def _member(self, struct: str, expected: DeclaredMember, found: DeclaredMember) -> None:
        one, other = (ALIASES.get(member.type, member.type) for member in (expected, found))
        is_renamed = one == other or other not in self.generated.blocks
        if one in self.generated.blocks and other in self.edited.blocks and is_renamed:
            self._struct(one, other)
            return
        if not _BUILT_IN.fullmatch(other) and other not in self.edited.blocks:
            return  # a typedef of the user, which may be the same type
        shape = (expected.stars, expected.extents) == (found.stars, found.extents)
        if one == other and shape:
            return
        if expected.stars and found.stars:
            self.diagnostics.add(
                found.location, *element_type(struct, expected.name, expected.type, found.type, self.cast)
            )
        else:
            self.diagnostics.add(found.location, *retyped_member(struct, expected.name, str(expected), str(found)))
