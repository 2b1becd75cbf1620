"""Tables of shared values that a document refers to by number: sources, locations, structs; and types.

Input: values of the IR. Output: JSON entries, and the values again. Lines of locations are relative to the first line
of their function, so that a function that moved, or whose file did, changes `sources` only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from ...errors import NOWHERE, SourceLocation, SourceText
from ..types import SCALARS, Scalar, Struct, Tensor, Type

NOWHERE_ENTRY = -1
"""Represents the call site `NOWHERE`; null means that there is no call site."""
TENSOR = re.compile(r"(\w+)\[(\d+(?:x\d+)*)\]")


def fail(path: str, message: str) -> NoReturn:
    """Raise the error for a malformed document."""
    raise ValueError(f"{path}: {message}")


dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
"""Returns JSON on one line; created once, since `json.dumps` creates an encoder at each call."""


def list_at(data: Any, path: str) -> list[Any]:
    """Return `data`, a list. Raises: ValueError."""
    if type(data) is not list:
        fail(path, f"expected a list, found {data!r:.40}")
    items: list[Any] = data
    return items


def row_at(rows: list[Any], number: Any, path: str, what: str) -> Any:
    """Return an entry of a table. Raises: ValueError if the number is out of range."""
    if type(number) is int and 0 <= number < len(rows):
        return rows[number]
    fail(path, f"{number!r:.40} is not the number of a {what}")


class TableWriter:
    """Numbers shared values in order of first use. objects: numbers by identity, which the caller assigns."""

    def __init__(self) -> None:
        self.objects: dict[int, int] = {}
        self.sources: list[Any] = []
        self.locations: list[Any] = []
        self.structs: list[Any] = []
        self._by_identity: dict[int, tuple[Any, int]] = {}
        self._by_content: dict[Any, int] = {}

    def location(self, location: SourceLocation) -> int | None:
        """Return the number of a location in a user's file, None for `NOWHERE`."""
        if location is NOWHERE:
            return None
        known = self._by_identity.get(id(location))
        if known is not None:
            return known[1]
        site, first = location.call_site, location.source.first_line
        entry = [
            self.source(location.source), location.line - first, location.column, location.end_line - first,
            location.end_column, location.function,
            None if site is None else NOWHERE_ENTRY if site is NOWHERE else self.location(site),
            *([True] if location.is_derivative else []),
        ]  # fmt: skip
        return self._number(location, ("location", *entry), self.locations, entry)

    def source(self, source: SourceText) -> int:
        """Return the number of a function's source."""
        known = self._by_identity.get(id(source))
        if known is not None:
            return known[1]
        entry = {"file": source.file, "first_line": source.first_line, "lines": list(source.lines)}
        return self._number(source, ("source", source), self.sources, entry)

    def type(self, type: Type) -> Any:
        """Return a type: `"f32"`, `"f32[2x3]"`, `{"struct": 0}`."""
        if isinstance(type, (Scalar, Tensor)):
            return str(type)
        if not isinstance(type, Struct):
            raise TypeError(f"{type!r} is no type")
        known = self._by_identity.get(id(type))
        if known is not None:
            return {"struct": known[1]}
        members = [[name, self.type(member)] for name, member in type.members]
        entry = {"name": type.name, "members": members}
        return {"struct": self._number(type, ("struct", dump(entry)), self.structs, entry)}

    def _number(self, item: Any, content: Any, table: list[Any], entry: Any) -> int:
        """Return the number of an item in a table; it is added if no entry is equal."""
        number = self._by_content.get(content)
        if number is None:
            number = self._by_content[content] = len(table)
            table.append(entry)
        self._by_identity[id(item)] = item, number  # references the item, so that no other gets its identity
        return number


class TableReader:
    """The tables of a document as values.

    Args:
        tables: the document.
        objects: the objects by number, created before their members are read.
        given: the functions' present sources; their lines must be those of the table.

    Raises: ValueError, as all its methods do, with the path in the document.
    """

    def __init__(self, tables: dict[str, Any], given: Sequence[SourceText] | None) -> None:
        self.objects: list[Any] = []
        self._types: dict[str, Type] = dict(SCALARS)
        self.sources = read_sources(tables["sources"])
        if given is not None:
            if [source.lines for source in given] != [source.lines for source in self.sources]:
                fail("$.sources", "these are not the functions of the serialized kernel")
            self.sources = list(given)
        self.locations: list[SourceLocation] = []
        for number, entry in enumerate(list_at(tables["locations"], "$.locations")):
            self.locations.append(self._read_location(entry, f"$.locations[{number}]"))
        self.structs: list[Struct] = []
        for number, entry in enumerate(list_at(tables["structs"], "$.structs")):
            self.structs.append(self._read_struct(entry, f"$.structs[{number}]"))

    def location(self, data: Any, path: str) -> SourceLocation:
        """Return the location of a number; None is `NOWHERE`."""
        if data is None:
            return NOWHERE
        location: SourceLocation = row_at(self.locations, data, path, "location")
        return location

    def type(self, data: Any, path: str) -> Type:
        """Return a type."""
        if type(data) is str:
            return self._types.get(data) or self._read_tensor(data, path)
        if type(data) is not dict or data.keys() != {"struct"}:
            fail(path, f"{data!r:.40} is no type")
        struct: Struct = row_at(self.structs, data["struct"], path, "struct")
        return struct

    def _read_tensor(self, name: str, path: str) -> Tensor:
        matched = TENSOR.fullmatch(name)
        if matched is None or matched[1] not in SCALARS:
            fail(path, f"{name!r:.40} is no type")
        tensor = Tensor(tuple(map(int, matched[2].split("x"))), SCALARS[matched[1]])
        self._types[name] = tensor
        return tensor

    def _read_location(self, entry: Any, path: str) -> SourceLocation:
        if (
            type(entry) is not list
            or list(map(type, entry[:6])) != [int, int, int, int, int, str]
            or len(entry) not in (7, 8)
        ):
            fail(path, "expected source, line, column, end line, end column, function and call site")
        source: SourceText = row_at(self.sources, entry[0], path, "source")
        site = None if entry[6] is None else self.location(None if entry[6] == NOWHERE_ENTRY else entry[6], path)
        first = source.first_line
        return SourceLocation(
            source, entry[1] + first, entry[2], entry[3] + first, entry[4], entry[5], site, entry[7:] == [True]
        )

    def _read_struct(self, entry: Any, path: str) -> Struct:
        if type(entry) is not dict or entry.keys() != {"name", "members"} or type(entry["name"]) is not str:
            fail(path, "expected a name and members")
        members = []
        for pair in list_at(entry["members"], path):
            if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str:
                fail(path, "expected pairs of name and type")
            members.append((pair[0], self.type(pair[1], path)))
        return Struct(entry["name"], tuple(members))


def read_sources(rows: Any) -> list[SourceText]:
    """Return the functions' sources of a table. Raises: ValueError."""
    sources = []
    for number, entry in enumerate(list_at(rows, "$.sources")):
        path = f"$.sources[{number}]"
        if type(entry) is not dict or entry.keys() != {"file", "first_line", "lines"}:
            fail(path, "expected file, first_line and lines")
        lines = list_at(entry["lines"], path)
        if type(entry["file"]) is not str or type(entry["first_line"]) is not int or {*map(type, lines)} - {str}:
            fail(path, "expected strings and a number")
        sources.append(SourceText(entry["file"], entry["first_line"], tuple(lines)))
    return sources
