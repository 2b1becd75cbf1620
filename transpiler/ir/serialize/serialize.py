"""Serialization of kernels without loss: `parse(serialize(kernel))` equals `kernel`, before and after the passes.

Input: a `Kernel` at any stage. Output: JSON, the same bytes for equal kernels in every process. An object that is
compared by identity (statement, block, array, node, task, ...) is a line of `objects` and is referred to by its number;
number 0 is the kernel itself. Other values are written where they are used, or in a table:

    {"format": "shadesmith-ir", "version": 1,
    "sources": [...],      the functions' sources as the user sees them: file, first_line, lines
    "locations": [...],    [source, line (0: the source's first), column, end line, end column, function, call site]
    "structs": [...],      {"name": "Ray", "members": [["origin", "f32[3]"], ...]}
    "objects": [
    {"Kernel": {"name": "paint", "arrays": [1], "returns": [], "body": 2, "location": 0}},
    ...
    {"GlobalLoad": {"location": 2, "type": "f32", "pointer": 7}},

Members with their default value are omitted. The members and their types are read from the dataclasses (`members.py`),
so that a new statement needs no code here. The form of `ir/text.py` is for people, and is not complete.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ...errors import SourceText
from ..snodes import Node
from ..tasks import Kernel
from .members import classes, members_of, references_of
from .tables import TableReader, TableWriter, dump, fail, list_at, read_sources, row_at

FORMAT = "shadesmith-ir"
VERSION = 1
"""Incremented with every change after which an old document would be read wrongly."""
TABLES = ("sources", "locations", "structs")


def serialize(kernel: Kernel) -> str:
    """Return the JSON document of a kernel.

    Raises: TypeError for a value that contradicts the declaration of its member, which is a fault of shadesmith.
    """
    writer = TableWriter()
    objects = _numbered(kernel, writer)
    entries = {"objects": [dump({type(item).__name__: _members(item, writer)}) for item in objects]}
    entries = {table: [dump(entry) for entry in getattr(writer, table)] for table in TABLES} | entries
    head = f'"format": {dump(FORMAT)}, "version": {VERSION}'
    return "{" + ",\n".join([head, *(f'"{table}": {_lines(lines)}' for table, lines in entries.items())]) + "}\n"


def parse(text: str, sources: Sequence[SourceText] | None = None, tops: Mapping[int, Node] | None = None) -> Kernel:
    """Return the kernel of a document.

    Args:
        text: the JSON document.
        sources: the functions' present sources, in the order of `sources_of(text)`; their lines must be the same.
        tops: existing trees, by position in `Kernel.trees`: their nodes replace those in the document.

    Raises: ValueError with the path of the first fault, such as `$.objects[3].GlobalLoad.pointer`.
    """
    data = _document(text)
    reader = TableReader(data, sources)
    known = classes()
    contents: list[tuple[str, Any, dict[str, Any]]] = []
    for number, entry in enumerate(list_at(data["objects"], "$.objects")):
        path = f"$.objects[{number}]"
        if type(entry) is not dict or len(entry) != 1:
            fail(path, "expected one class with its members")
        ((name, members),) = entry.items()
        if name not in known or type(members) is not dict:
            fail(path, f"`{name}` is not a class of the IR with members")
        reader.objects.append(object.__new__(known[name]))
        contents.append((name, reader.objects[-1], members))
    if not reader.objects or not isinstance(reader.objects[0], Kernel):
        fail("$.objects", "expected the kernel first")
    taken = _take_nodes(contents, reader, tops or {})
    for number, (name, item, members) in enumerate(contents):
        if number not in taken:
            try:
                _fill(item, members, reader)
            except ValueError as error:
                raise ValueError(f"$.objects[{number}].{name}{error}") from None
    return reader.objects[0]


def _take_nodes(
    contents: list[tuple[str, Any, dict[str, Any]]], reader: TableReader, tops: Mapping[int, Node]
) -> set[int]:
    """Replace the serialized nodes by the nodes of trees; return the numbers of these."""
    taken: set[int] = set()
    pending = []
    for position, top in tops.items():
        pairs = list_at(contents[0][2].get("trees", []), "$.objects[0].Kernel.trees")
        pending.append((list_at(row_at(pairs, position, "$.objects[0].Kernel.trees", "tree"), "$")[0], top))
    while pending:
        number, node = pending.pop()
        _, item, members = row_at(contents, number, "$.objects", "node")
        children = members.get("children", [])
        if not isinstance(item, Node) or members.get("kind") != node.kind or len(children) != len(node.children):
            fail(f"$.objects[{number}]", "this is another tree")
        reader.objects[number] = node
        taken.add(number)
        pending += zip(children, node.children, strict=True)
    return taken


def sources_of(text: str) -> list[SourceText]:
    """Return the functions' sources with which a document was made. Raises: ValueError."""
    return read_sources(_document(text)["sources"])


def _numbered(kernel: Kernel, writer: TableWriter) -> list[Any]:
    """Number all objects and return them in order: the statements of a block after it, each before its own blocks.

    An explicit stack is used, since operands and blocks nest deeper than Python's limit.
    """
    order: list[Any] = []
    pending: list[Any] = [kernel]
    while pending:
        item = pending.pop()
        if id(item) in writer.objects:
            continue
        writer.objects[id(item)] = len(order)
        order.append(item)
        objects: list[Any] = []
        for member in references_of(item):
            assert member.codec.objects is not None
            member.codec.objects(getattr(item, member.name), objects)
        pending.extend(reversed(objects))
    return order


def _members(item: Any, writer: TableWriter) -> dict[str, Any]:
    written = {}
    for member in members_of(item):
        value = getattr(item, member.name)
        if not member.is_default(value):
            try:
                written[member.name] = member.codec.write(value, writer)
            except TypeError as error:
                raise TypeError(f"{type(item).__name__}.{member.name}: {error}") from None
    return written


def _lines(rows: list[str]) -> str:
    return "[\n" + ",\n".join(rows) + "]" if rows else "[]"


def _document(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("$: nested too deep") from None
    if type(data) is not dict or data.get("format") != FORMAT:
        fail("$.format", f"expected {FORMAT!r}")
    if type(data.get("version")) is not int or data["version"] != VERSION:
        fail("$.version", f"found {data.get('version')!r:.40}; this shadesmith reads version {VERSION}")
    expected = {"format", "version", *TABLES, "objects"}
    if data.keys() != expected:
        fail("$", f"{sorted(data.keys() ^ expected)} are missing or unknown")
    return data


def _refuse(name: str) -> NoReturn:
    fail("$", f"`{name}` is no JSON")


def _fill(item: Any, members: dict[str, Any], reader: TableReader) -> None:
    """Set the members of an object. Raises: ValueError with the path in the object: `.pointer: ...`."""
    used = 0
    for member in members_of(item):
        name = member.name
        if name in members:
            used += 1
            setattr(item, name, member.codec.read(members[name], reader, member.path))
        elif member.has_default:
            setattr(item, name, member.default() if member.is_factory else member.default)
        else:
            fail("", f"`{name}` is missing")
    if used != len(members):
        known = {member.name for member in members_of(item)}
        fail("", f"unknown members {sorted(members.keys() - known)}")
