"""Compilations as entries of the stage "text", and back.

In: what the compiler gave, and the fingerprint under which it is kept. Out: a header (JSON) and the files of text. No
object of Python is kept: captured arrays are the numbers that the walk gave them, so that an entry means those that
have these numbers in the process that finds it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...transpiler.backend.module.compilation import Compilation
from ...transpiler.backend.module.interface import BackendModule
from ...transpiler.backend.module.read_module import read_module
from ...transpiler.errors import NOWHERE
from ...transpiler.ir.captured_constant import CapturedConstant
from ...transpiler.ir.snodes import top_of
from ..fields.sparse_tree import AuxiliaryArray
from ..store.entries import Entry
from .describe_own import node_at, path_from_top
from .fingerprint import Fingerprint
from .positions import Moved, Places, Unplaced, join_warning, place, put_in_place, release, split_warning, spots_of


class Uncacheable(Exception):
    """A compilation cannot be an entry; the words say why."""


def places_of(fingerprint: Fingerprint) -> Places:
    """Return where the functions stand that a kernel is made of."""
    texts = (text for _, text in fingerprint.functions)
    return Places(tuple((text.file, text.first_line, len(text.lines)) for text in texts))


# --- to entries


def to_entry(compilation: Compilation, fingerprint: Fingerprint) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return header and parts. Raises: Unkept."""
    places = places_of(fingerprint)
    data = compilation.module.to_json()
    files = [(file["name"], file.pop("text")) for file in data["files"]]
    try:
        release(data, compilation.loops, places)
        warnings = [split_warning(text, places) for text in compilation.warnings]
    except Unplaced as error:
        raise Uncacheable(str(error)) from None
    header = {
        "module": data,
        "places": [list(found) for found in places.functions],
        "spots": {name: spots_of(text, places) for name, text in files},
        "fields": [_slot(compilation, fingerprint, slot) for slot in range(len(compilation.fields))],
        "captured": {path: value_of(found.value, fingerprint, path) for path, found in compilation.captured.items()},
        "warnings": warnings,
    }
    return header, {name: text.encode() for name, text in files}


def _slot(compilation: Compilation, fingerprint: Fingerprint, slot: int) -> Any:
    owner = compilation.fields[slot]
    if owner is None:
        return None
    if isinstance(owner, AuxiliaryArray):
        node, role = compilation.beside[slot]
        for tree, (top, _) in enumerate(fingerprint.trees):
            if top is top_of(node):
                return [tree, list(path_from_top(node)), role]
        raise Uncacheable("it reads a tree that was not looked at")
    number = fingerprint.numbers.get(id(owner))
    if number is None:
        raise Uncacheable(f"the array `{compilation.module.interface.arrays[slot].name}` was not met by the walk")
    return number


def value_of(value: Any, fingerprint: Fingerprint, path: str) -> Any:
    """Return a captured number; of vectors and structs the object's."""
    if type(value) in (bool, int, str):
        return ["json", value]
    if type(value) is float:
        return ["float", value.hex()]
    if isinstance(value, np.generic):
        return ["numpy", value.dtype.str, value.tobytes().hex()]
    number = fingerprint.numbers.get(id(value))
    if number is None:
        raise Uncacheable(f"the value of `{path}` was not met by the walk")
    return ["object", number]


# --- from entries


def from_entry(entry: Entry, fingerprint: Fingerprint) -> Compilation:
    """Return the compilation that an entry is, where its functions stand now.

    Raises: Moved; ValueError, KeyError, IndexError, TypeError for what `to_entry` did not write.
    """
    header = entry.header
    places = places_of(fingerprint)
    module = _module(entry, places)
    fields = tuple(_owner(found, fingerprint) for found in header["fields"])
    captured = {path: captured_from(found, fingerprint) for path, found in header["captured"].items()}
    warnings = tuple(join_warning(pieces, places) for pieces in header["warnings"])
    return Compilation(module, fields, captured, warnings, {})


def _module(entry: Entry, places: Places) -> BackendModule:
    data = entry.header["module"]
    place(data, places)
    old = Places(tuple((file, first, count) for file, first, count in entry.header["places"]))
    same = old.functions == places.functions
    if not same and (old.order() != places.order() or old.files() != places.files()):
        raise Moved("functions stand in another order")
    texts = []
    for file in data["files"]:
        text, spots = entry.parts[file["name"]].decode(), entry.header["spots"][file["name"]]
        if not same:
            if spots is None:
                raise Moved("functions stand elsewhere, and it is not known which of them a line in the text means")
            text = put_in_place(text, spots, places)
        texts.append(text)
        file["text"] = ""
    module = read_module(data)
    files = (replace(file, text=text) for file, text in zip(module.files, texts, strict=True))
    return replace(module, files=tuple(files))


def _owner(found: Any, fingerprint: Fingerprint) -> Any:
    if found is None:
        return None
    if isinstance(found, int):
        return fingerprint.objects[found]
    number, path, role = found
    top, memory = fingerprint.trees[number]
    return memory.sparse_memory(node_at(top, tuple(path)), role)


def captured_from(found: Any, fingerprint: Fingerprint) -> CapturedConstant:
    """Return what `value_of` described. Raises: ValueError, KeyError, IndexError, TypeError."""
    kind, *data = found
    value: Any
    match kind:
        case "json":
            value = data[0]
        case "float":
            value = float.fromhex(data[0])
        case "numpy":
            value = np.frombuffer(bytes.fromhex(data[1]), np.dtype(data[0]))[0]
        case "object":
            value = fingerprint.objects[data[0]]
        case _:
            raise ValueError(f"a captured value of kind {kind!r}")
    return CapturedConstant(value, lambda: value, NOWHERE)
