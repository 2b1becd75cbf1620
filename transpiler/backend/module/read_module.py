"""Reads the JSON of `BackendModule.to_json`. The data may be untrusted input, so everything in it is validated.

In: JSON values. Out: a `BackendModule` whose numbers are in range, whose references are valid and whose members fit
into the argument block; or ValueError with the path, `$.tasks[0].block_dim: ...`. A missing or unknown field is an
error: each class has one table here, and a test compares the tables with the classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ...ir.ops import HOST_OPS
from ...ir.textures import FORMATS
from ...ir.types import SCALARS
from .interface import (
    ArrayBinding,
    BackendModule,
    Expression,
    Interface,
    LoopIndices,
    Member,
    ResultField,
    SourceFile,
    TaskSource,
    TextureBinding,
    TreeAddress,
    members_of,
)
from .records import message_parts, text_writer

Reader = Callable[[Any, str], Any]
"""Takes a JSON value and its path; returns the decoded value. Raises: ValueError."""

MAX_BYTES = 2**40
MAX_NUMBER = 2**63 - 1
MAX_EXTENT = 2**31 - 1
MAX_AXES = 64
MAX_ARGS_BYTES = 1 << 16
"""Of an argument block, far above all targets' limits. CUDA takes 4,096 bytes, others a pointer."""
MAX_BLOCK_DIM = MAX_ITEMS = 65536
MAX_TEXT = 1 << 26
MAX_LABEL = 4096
LONG_NUMBER = re.compile(r"\d{4}")
MAX_DEPTH = 48
"""Of an expression; deeper ones are never stored (`aot.manifest`)."""

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
MEMBER_TYPES = frozenset({*SCALARS, "pointer"})
TARGETS = ("vulkan", "cuda", "c", "python")
KINDS = ("serial", "range_for")


def read_module(data: Any) -> BackendModule:
    """Return the module whose `BackendModule.to_json` is `data`. Raises: ValueError naming the path."""
    module: BackendModule = read_object(data, "$", MODULE, BackendModule)
    check_module(module)
    return module


# --- plain values


def invalid(path: str, message: str) -> ValueError:
    """Return the error for the value at `path`."""
    return ValueError(f"{path}: {message}")


def read_object(data: Any, path: str, table: Mapping[str, Reader], create: Callable[..., Any] = dict) -> Any:
    """Return an object with exactly the fields of `table`, each read by its function."""
    if type(data) is not dict:
        raise invalid(path, f"an object is expected, found {json_type(data)}")
    for name in data:
        if name not in table:
            raise invalid(path, f"the field {str(name)[:80]!r} is unknown")
    for name in table:
        if name not in data:
            raise invalid(path, f"the field {name!r} is missing")
    return create(**{name: read(data[name], f"{path}.{name}") for name, read in table.items()})


def json_type(data: Any) -> str:
    """Return the JSON type of a value."""
    names = {dict: "an object", list: "a list", tuple: "a list", str: "a string", bool: "true or false"}
    return names.get(type(data), "null" if data is None else f"the number {str(data)[:40]}")


def number(low: int = 0, high: int = MAX_NUMBER) -> Reader:
    """Return a reader of an integer in a range."""

    def read(data: Any, path: str) -> int:
        if type(data) is not int:
            raise invalid(path, f"an integer is expected, found {json_type(data)}")
        if not low <= data <= high:
            raise invalid(path, f"{data if abs(data) < 1 << 70 else 'a huge number'} is not between {low} and {high}")
        return data

    return read


def boolean(data: Any, path: str) -> bool:
    """Read true or false."""
    if type(data) is not bool:
        raise invalid(path, f"true or false is expected, found {json_type(data)}")
    return data


def string(limit: int = MAX_LABEL, pattern: re.Pattern[str] | None = None) -> Reader:
    """Return a reader of a string of at most `limit` characters without NUL that matches `pattern`."""

    def read(data: Any, path: str) -> str:
        if type(data) is not str:
            raise invalid(path, f"a string is expected, found {json_type(data)}")
        if len(data) > limit:
            raise invalid(path, f"the string has {len(data)} characters; at most {limit} are allowed")
        if "\0" in data or not (data.isascii() or all(not "\ud800" <= character <= "\udfff" for character in data)):
            raise invalid(path, "the string contains an invalid character")
        if pattern is not None and pattern.fullmatch(data) is None:
            raise invalid(path, f"{data[:80]!r} is not a valid name here")
        return data

    return read


def one_of(*values: str) -> Reader:
    """Return a reader of one of `values`."""

    def read(data: Any, path: str) -> str:
        if type(data) is not str or data not in values:
            found = repr(data[:80]) if type(data) is str else json_type(data)
            raise invalid(path, f"{' or '.join(values)} is expected, found {found}")
        return data

    return read


def optional(read: Reader) -> Reader:
    """Return a reader that also accepts null."""
    return lambda data, path: None if data is None else read(data, path)


def list_of(read: Reader, limit: int = 1 << 16, least: int = 0) -> Reader:
    """Return a reader of a list, as a tuple."""

    def read_all(data: Any, path: str) -> tuple[Any, ...]:
        items = items_of(data, path)
        if not least <= len(items) <= limit:
            raise invalid(path, f"{len(items)} entries; {least} to {limit} are allowed")
        return tuple(read(item, f"{path}[{index}]") for index, item in enumerate(items))

    return read_all


def items_of(data: Any, path: str) -> Any:
    """Return the entries of a list."""
    if type(data) is not list and type(data) is not tuple:
        raise invalid(path, f"a list is expected, found {json_type(data)}")
    return data


def fixed_list(*reads: Reader) -> Reader:
    """Return a reader of a list of exactly these entries, as a tuple."""

    def read_entries(data: Any, path: str) -> tuple[Any, ...]:
        items = items_of(data, path)
        if len(items) != len(reads):
            raise invalid(path, f"{len(items)} entries; {len(reads)} are expected")
        return tuple(read(item, f"{path}[{index}]") for index, (item, read) in enumerate(zip(items, reads)))

    return read_entries


def json_list(read: Reader) -> Reader:
    """Return a reader of a list, as a list: reports keep the types of JSON."""
    return lambda data, path: [*list_of(read)(data, path)]


# --- parts of a module


def _expression(data: Any, path: str, depth: int = 0) -> Expression:
    items = items_of(data, path)
    if not items or type(items[0]) is not str:
        raise invalid(path, "an expression starts with the name of its operation")
    if depth > MAX_DEPTH:
        raise invalid(path, f"the expression is deeper than {MAX_DEPTH}")
    name, *operands = items
    if name == "const" and len(operands) == 1:
        return name, number(-MAX_NUMBER, MAX_NUMBER)(operands[0], f"{path}[1]")
    if name == "member" and len(operands) == 1:
        return name, number(0, MAX_EXTENT)(operands[0], f"{path}[1]")
    if HOST_OPS.get(name) != len(operands):
        raise invalid(path, f"there is no operation {name[:40]!r} with {len(operands)} operands")
    return (name, *(_expression(item, f"{path}[{index + 1}]", depth + 1) for index, item in enumerate(operands)))


SOURCES: dict[str, int] = {
    "argument": 2, "pointer": 1, "gradient": 1, "shape": 2, "capacity": 1, "stride": 2, "begin": 1, "temporaries": 0,
    "result": 0, "seed": 0, "report": 0, "texture": 1, "texels": 1, "texture_channels": 1,
    "texture_shape": 2, "divisor": 1,
}  # fmt: skip
"""Source of a member -> number of integers after its name: see `interface.Member`."""


def _source(data: Any, path: str) -> tuple[Any, ...]:
    items = items_of(data, path)
    if not items or type(items[0]) is not str or SOURCES.get(items[0]) != len(items) - 1:
        raise invalid(path, "this is no source of a member")
    read = number(0, MAX_EXTENT)
    return (items[0], *(read(item, f"{path}[{index}]") for index, item in enumerate(items[1:], 1)))


def _result(data: Any, path: str, depth: int = 0) -> ResultField:
    if depth > 16:
        raise invalid(path, "the structs are nested too deeply")

    def members(data: Any, path: str) -> Any:
        return list_of(fixed_list(string(), lambda item, path: _result(item, path, depth + 1)))(data, path)

    table = {"type": string(), "shape": list_of(size, 4), "offset_bytes": number(0, MAX_BYTES), "members": members}
    result: ResultField = read_object(data, path, table, ResultField)
    if result.type not in SCALARS and not result.type.startswith("struct "):
        raise invalid(f"{path}.type", f"{result.type[:80]!r} is no type")
    return result


def _site(data: Any, path: str) -> dict[str, Any]:
    """Read the site of a print or a check; its fields depend on its kind."""
    kind = data.get("kind") if type(data) is dict else None
    message: dict[str, Reader] = {"message": string(MAX_TEXT)}
    table = {**SITE, **SITE_KINDS.get(kind if type(kind) is str else "", message)}
    if kind == "print" and "message" in data:
        table |= message
    result: dict[str, Any] = read_object(data, path, table)
    return result


size = number(0, MAX_EXTENT)
identifier = string(256, IDENTIFIER)
expression: Reader = _expression
shape = list_of(size, MAX_AXES)
slots = list_of(number(-1, MAX_EXTENT))

FRAME: dict[str, Reader] = {
    "file": string(),
    "function": string(),
    "span": json_list(number(0, MAX_EXTENT)),
    "text": string(MAX_TEXT),
}
SITE: dict[str, Reader] = {
    "kind": string(64, IDENTIFIER),
    "frames": json_list(lambda data, path: read_object(data, path, FRAME)),
    "task": number(0, 4095),
    "values": json_list(
        lambda data, path: read_object(
            data,
            path,
            {
                "type": one_of("i32", "u32", "f32", "i64", "u64", "f64"),
                "python_type": one_of(*SCALARS),
                "shape": lambda data, path: [*list_of(number(1, 4096), 2)(data, path)],
            },
        )
    ),
}


def _part(data: Any, path: str) -> str | list[Any]:
    """Read a part of a print: a string, or the number of a value with its format specification."""
    if type(data) is str:
        part: str = string(MAX_TEXT)(data, path)
        return part
    return [*fixed_list(number(0, 4096), string(64))(data, path)]


SITE_KINDS: dict[str, dict[str, Reader]] = {
    "print": {"parts": json_list(_part)},
    "call": {},
    "bounds": {"message": string(MAX_TEXT), "array": string(), "axes": number(1, MAX_AXES)},
}
"""Fields of the sites of a kind; all others are checks with a message."""

TREE_ADDRESS: dict[str, Reader] = {
    "slot": size,
    "begin_bytes": number(0, MAX_BYTES),
    "digits": list_of(
        fixed_list(number(0, MAX_AXES), number(1, MAX_EXTENT), number(1, MAX_EXTENT), number(0, MAX_BYTES))
    ),
    "cells": list_of(number(0, MAX_BYTES), 2),
}
ARRAY: dict[str, Reader] = {
    "name": string(),
    "element": string(1 << 16),
    "element_shape": list_of(number(1, MAX_EXTENT), 4),
    "ndim": number(0, MAX_AXES),
    "shape": optional(shape),
    "parameter": optional(size),
    "read": boolean,
    "written": boolean,
    "offset": list_of(number(-MAX_EXTENT, MAX_EXTENT), MAX_AXES),
    "place": optional(lambda data, path: read_object(data, path, TREE_ADDRESS, TreeAddress)),
}
MEMBER: dict[str, Reader] = {
    "name": string(256),
    "type": one_of(*sorted(MEMBER_TYPES)),
    "offset_bytes": number(0, MAX_ARGS_BYTES),
    "size_bytes": number(1, 8),
    "source": _source,
}
TEXTURE: dict[str, Reader] = {
    "name": string(),
    "parameter": size,
    "binding": size,
    "ndim": number(1, 3),
    "element": one_of("f32", "i32", "u32"),
    "format": optional(one_of(*FORMATS)),
    "storage": boolean,
    "lod": size,
    "read": boolean,
    "written": boolean,
}
LOOP: dict[str, Reader] = {
    "line": size,
    "names": list_of(string(), MAX_AXES),
    "begins": list_of(optional(expression), MAX_AXES),
    "steps": list_of(number(-MAX_NUMBER, MAX_NUMBER), MAX_AXES),
    "order": list_of(fixed_list(number(0, MAX_AXES), number(1, MAX_EXTENT), number(1, MAX_EXTENT))),
}
TASK: dict[str, Reader] = {
    "name": string(),
    "kind": one_of(*KINDS),
    "entry": identifier,
    "file": size,
    "block_dim": number(1, MAX_BLOCK_DIM),
    "extents": optional(list_of(expression, MAX_AXES)),
    "reads": slots,
    "writes": slots,
    "strided": boolean,
    "serial_turns": optional(expression),
    "loop": optional(lambda data, path: read_object(data, path, LOOP, LoopIndices)),
    "folded": boolean,
    "few_block": number(1, MAX_BLOCK_DIM),
    "items": number(1, MAX_ITEMS),
}
FILE: dict[str, Reader] = {
    "name": string(256, FILE_NAME),
    "text": string(MAX_TEXT),
    "lines": list_of(fixed_list(size, string(), size), 1 << 20),
}
INTERFACE: dict[str, Reader] = {
    "members": list_of(lambda data, path: read_object(data, path, MEMBER, Member)),
    "args_size_bytes": number(0, MAX_ARGS_BYTES),
    "arrays": list_of(lambda data, path: read_object(data, path, ARRAY, ArrayBinding)),
    "results": list_of(_result, 4096),
    "result_size_bytes": number(0, MAX_BYTES),
    "temporaries_size_bytes": number(0, MAX_BYTES),
    "reports": list_of(_site),
    "textures": list_of(lambda data, path: read_object(data, path, TEXTURE, TextureBinding)),
    "divisors": list_of(expression, 256),
}
OPTIONS: dict[str, Reader] = {"fast_math": boolean, "debug": boolean, "recursive": boolean}


def _options(data: Any, path: str) -> dict[str, Any]:
    """Read the compiler options; `recursive` is absent if it is false."""
    is_recursive = type(data) is dict and "recursive" in data
    table = OPTIONS if is_recursive else {name: OPTIONS[name] for name in ("fast_math", "debug")}
    result: dict[str, Any] = read_object(data, path, table)
    return result


def _without(table: dict[str, Reader], data: Any, name: str) -> dict[str, Reader]:
    """Return a table without a field that data may lack, if these do."""
    has_field = type(data) is dict and name in data
    return table if has_field else {other: read for other, read in table.items() if other != name}


def _interface(data: Any, path: str) -> Interface:
    """Read an interface, which may lack divisors."""
    result: Interface = read_object(data, path, _without(INTERFACE, data, "divisors"), Interface)
    return result


def _task(data: Any, path: str) -> TaskSource:
    """Read a task, of which the threads of blocks for few iterations may be missing."""
    table = _without(TASK, data, "few_block")
    result: TaskSource = read_object(data, path, table, TaskSource)
    return result


MODULE: dict[str, Reader] = {
    "kernel": string(),
    "target": one_of(*TARGETS),
    "files": list_of(lambda data, path: read_object(data, path, FILE, SourceFile), 4096),
    "tasks": list_of(_task, 4096),
    "interface": _interface,
    "options": _options,
}


# --- consistency of the parts


def check_module(module: BackendModule) -> None:
    """Check that references are valid and that memory does not overlap. Raises: ValueError naming the path."""
    interface = module.interface
    for number_, task in enumerate(module.tasks):
        path = f"$.tasks[{number_}]"
        if task.file >= len(module.files):
            raise invalid(f"{path}.file", f"there are {len(module.files)} files")
        for name in ("reads", "writes"):
            if any(slot >= len(interface.arrays) for slot in getattr(task, name)):
                raise invalid(f"{path}.{name}", f"there are {len(interface.arrays)} arrays")
        expressions = [*(task.extents or ()), task.serial_turns, *(task.loop.begins if task.loop else ())]
        for each in expressions:
            if each is not None:
                _check_members(each, path, len(interface.members))
        if task.loop is not None:
            _check_loop(task.loop, task, f"{path}.loop")
    for each in interface.divisors:
        _check_members(each, "$.interface.divisors", len(interface.members))
        if any(interface.members[k].source[0] == "divisor" for k in members_of(each)):
            raise invalid("$.interface.divisors", "one is a number that is packed for another")
    _check_memory(interface)
    _check_arrays(interface)
    for index, texture in enumerate(interface.textures):
        if texture.binding != index or texture.storage != (texture.format is not None):
            raise invalid(f"$.interface.textures[{index}]", "its binding or its format is wrong")
    for index, site in enumerate(interface.reports):
        _check_site(site, len(module.tasks), f"$.interface.reports[{index}]")


def _check_site(site: dict[str, Any], tasks: int, path: str) -> None:
    """Check that a record can be shown: its values and format specifications exist, and no number is megabytes long."""
    if site["task"] >= tasks or not site["frames"]:
        raise invalid(path, "it has no task or no location")
    if any(len(frame["span"]) != 4 for frame in site["frames"]):
        raise invalid(path, "a span is two lines and two columns")
    if site["kind"] == "call":
        return
    try:
        parts = site["parts"] if site["kind"] == "print" else message_parts(site["message"])
        if any(LONG_NUMBER.search(part[1]) for part in parts if not isinstance(part, str)):
            raise invalid(path, "a number is formatted wider than 999")
        text_writer(site)
    except (ValueError, IndexError, KeyError) as error:
        raise invalid(path, f"its message cannot be formatted: {error}") from None
    if site["kind"] == "bounds" and len(site["values"]) < site["axes"]:
        raise invalid(path, "it has fewer values than axes")


def _check_members(each: Expression, path: str, count: int) -> None:
    """Check that the members in an expression exist."""
    if each[0] == "member" and each[1] >= count:
        raise invalid(path, f"an expression reads member {each[1]} of {count}")
    for operand in each[1:]:
        if type(operand) is tuple:
            _check_members(operand, path, count)


def _check_loop(loop: LoopIndices, task: TaskSource, path: str) -> None:
    axes = len(loop.names)
    if not len(loop.begins) == len(loop.steps) == axes:
        raise invalid(path, "names, begins and steps have different lengths")
    if any(axis >= axes for axis, _, _ in loop.order):
        raise invalid(f"{path}.order", f"there are {axes} axes")
    if task.extents is not None and not loop.order and len(task.extents) != axes:
        raise invalid(path, f"there are {axes} indices and {len(task.extents)} extents")


def _check_memory(interface: Interface) -> None:
    """Check that members of `Args` are disjoint, aligned and in order, and that results fit into their buffer."""
    end = 0
    for index, member in enumerate(interface.members):
        path = f"$.interface.members[{index}]"
        size_bytes = 8 if member.type == "pointer" else SCALARS[member.type].size_bytes
        if member.size_bytes != size_bytes:
            raise invalid(f"{path}.size_bytes", f"{member.type} takes {size_bytes} bytes")
        alignment = size_bytes if member.source[0] != "divisor" else 4
        if member.offset_bytes < end or member.offset_bytes % alignment:
            raise invalid(f"{path}.offset_bytes", "it overlaps with the member before, or is not aligned")
        end = member.offset_bytes + size_bytes
        if end > interface.args_size_bytes:
            raise invalid(path, f"it ends after the block of {interface.args_size_bytes} bytes")
        _check_source(member, interface, path)
    for index, field in enumerate(interface.results):
        _check_result(field, interface.result_size_bytes, f"$.interface.results[{index}]")


def _check_source(member: Member, interface: Interface, path: str) -> None:
    kind = member.source[0]
    is_address = kind in ("pointer", "gradient", "temporaries", "result", "report", "texture", "texels")
    if is_address and member.size_bytes != 8:
        raise invalid(path, "an address takes 8 bytes")
    if (kind == "temporaries" and not interface.temporaries_size_bytes) or (
        kind == "result" and not interface.result_size_bytes
    ):
        raise invalid(path, "it is the address of an empty buffer")
    if kind in ("pointer", "gradient", "shape", "capacity", "stride", "begin"):
        slot = member.source[1]
        if slot >= len(interface.arrays):
            raise invalid(f"{path}.source", f"there are {len(interface.arrays)} arrays")
        if len(member.source) == 3 and member.source[2] >= interface.arrays[slot].ndim:
            raise invalid(f"{path}.source", f"array {slot} has {interface.arrays[slot].ndim} axes")
    if kind == "divisor" and (member.type != "u64" or member.source[1] >= len(interface.divisors)):
        raise invalid(path, f"there are {len(interface.divisors)} divisors, each of type u64")
    if kind in ("texture", "texels", "texture_channels", "texture_shape"):
        slot = member.source[1]
        if slot >= len(interface.textures):
            raise invalid(f"{path}.source", f"there are {len(interface.textures)} textures")
        if len(member.source) == 3 and member.source[2] >= interface.textures[slot].ndim:
            raise invalid(f"{path}.source", f"texture {slot} has {interface.textures[slot].ndim} axes")


def _check_result(field: ResultField, size_bytes: int, path: str) -> None:
    for name, member in field.members:
        _check_result(member, size_bytes, f"{path}.{name[:80]}")
    if field.type in SCALARS:
        count = 1
        for extent in field.shape:
            count *= extent
        alignment = SCALARS[field.type].size_bytes
        if field.offset_bytes % alignment or field.offset_bytes + count * alignment > size_bytes:
            raise invalid(path, f"it is not within the result of {size_bytes} bytes")


def _check_arrays(interface: Interface) -> None:
    for index, array in enumerate(interface.arrays):
        path = f"$.interface.arrays[{index}]"
        if array.shape is not None and len(array.shape) != array.ndim:
            raise invalid(f"{path}.shape", f"it has {len(array.shape)} axes, but ndim is {array.ndim}")
        if array.offset and len(array.offset) != array.ndim:
            raise invalid(f"{path}.offset", f"it has {len(array.offset)} axes, but ndim is {array.ndim}")
        if array.place is not None:
            if array.place.slot >= len(interface.arrays):
                raise invalid(f"{path}.place.slot", f"there are {len(interface.arrays)} arrays")
            if any(component[0] >= max(1, array.ndim) for component in array.place.digits):
                raise invalid(f"{path}.place.digits", f"there are {array.ndim} axes")
