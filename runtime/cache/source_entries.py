"""Convert compilations to entries of the stage "text", and back.

In: a compilation, and the fingerprint that gives its key. Out: a header (JSON) and the source files. An entry has no
Python objects: captured arrays are stored by their numbers in the dependency walk, and stand for the arrays with these
numbers in the process that finds the entry.
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
from ..fields.auxiliary_array import AuxiliaryArray
from ..store.entries import Entry
from .describe_own import node_at, path_from_top
from .fingerprint import Fingerprint
from .positions import (
    FunctionLocations,
    Moved,
    UnknownLocation,
    join_warning,
    line_references,
    make_absolute,
    make_relative,
    relocate,
    split_warning,
)


class Uncacheable(Exception):
    """A compilation cannot be stored; the message gives the reason."""


def function_locations(fingerprint: Fingerprint) -> FunctionLocations:
    """Return the locations of the functions that a kernel is made of."""
    sources = (source for _, source in fingerprint.functions)
    return FunctionLocations(tuple((source.file, source.first_line, len(source.lines)) for source in sources))


# --- to entries


def to_entry(compilation: Compilation, fingerprint: Fingerprint) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return header and parts. Raises: Uncacheable."""
    places = function_locations(fingerprint)
    data = compilation.module.to_json()
    files = [(file["name"], file.pop("text")) for file in data["files"]]
    try:
        make_relative(data, compilation.loops, places)
        warnings = [split_warning(text, places) for text in compilation.warnings]
    except UnknownLocation as error:
        raise Uncacheable(str(error)) from None
    header = {
        "module": data,
        "places": [list(found) for found in places.functions],
        "spots": {name: line_references(text, places) for name, text in files},
        "fields": [_stored_owner(compilation, fingerprint, index) for index in range(len(compilation.fields))],
        "captured": {path: value_of(found.value, fingerprint, path) for path, found in compilation.captured.items()},
        "warnings": warnings,
    }
    return header, {name: text.encode() for name, text in files}


def _stored_owner(compilation: Compilation, fingerprint: Fingerprint, index: int) -> Any:
    owner = compilation.fields[index]
    if owner is None:
        return None
    if isinstance(owner, AuxiliaryArray):
        node, role = compilation.auxiliary[index]
        for tree, (top, _) in enumerate(fingerprint.trees):
            if top is top_of(node):
                return [tree, list(path_from_top(node)), role]
        raise Uncacheable("it reads a tree that the dependency walk did not reach")
    number = fingerprint.numbers.get(id(owner))
    if number is None:
        raise Uncacheable(
            f"the array `{compilation.module.interface.arrays[index].name}` was not reached by the dependency walk"
        )
    return number


def value_of(value: Any, fingerprint: Fingerprint, path: str) -> Any:
    """Return a captured value for JSON; vectors and structs are stored by their number."""
    if type(value) in (bool, int, str):
        return ["json", value]
    if type(value) is float:
        return ["float", value.hex()]
    if isinstance(value, np.generic):
        return ["numpy", value.dtype.str, value.tobytes().hex()]
    number = fingerprint.numbers.get(id(value))
    if number is None:
        raise Uncacheable(f"the value of `{path}` was not reached by the dependency walk")
    return ["object", number]


# --- from entries


def from_entry(entry: Entry, fingerprint: Fingerprint) -> Compilation:
    """Return the compilation of an entry, with the present lines of its functions.

    Raises: Moved; ValueError, KeyError, IndexError, TypeError for what `to_entry` did not write.
    """
    header = entry.header
    places = function_locations(fingerprint)
    module = _module(entry, places)
    fields = tuple(_owner(found, fingerprint) for found in header["fields"])
    captured = {path: captured_from(found, fingerprint) for path, found in header["captured"].items()}
    warnings = tuple(join_warning(pieces, places) for pieces in header["warnings"])
    return Compilation(module, fields, captured, warnings, {})


def _module(entry: Entry, places: FunctionLocations) -> BackendModule:
    data = entry.header["module"]
    make_absolute(data, places)
    old = FunctionLocations(tuple((file, first, count) for file, first, count in entry.header["places"]))
    same = old.functions == places.functions
    if not same and (old.order() != places.order() or old.files() != places.files()):
        raise Moved("its functions are in another order now")
    texts = []
    for file in data["files"]:
        text, references = entry.parts[file["name"]].decode(), entry.header["spots"][file["name"]]
        if not same:
            if references is None:
                raise Moved("its functions have moved, and a line number in the source fits several of them")
            text = relocate(text, references, places)
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
