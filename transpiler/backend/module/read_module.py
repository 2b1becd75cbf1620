"""Reads back what `BackendModule.to_json` wrote. The data may come from anybody, so nothing in it is believed.

In: JSON values. Out: a `BackendModule` whose numbers lie in range, whose references lead somewhere and whose members
fit into the argument block; or ValueError with the place, `$.tasks[0].block_dim: ...`. A field that is missing or
unknown is a mistake: each class has one table here, and a test compares the tables with the classes.
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
)
from .records import message_parts, text_writer

Read = Callable[[Any, str], Any]
"""Takes a JSON value and where it stands; returns what it means. Raises: ValueError."""

MAX_BYTES = 2**40
MAX_NUMBER = 2**63 - 1
MAX_EXTENT = 2**31 - 1
MAX_AXES = 64
MAX_ARGS_BYTES = 1 << 16
"""Of an argument block: what fits nowhere is no argument block. CUDA takes 4,096 bytes, others a pointer."""
MAX_BLOCK_DIM = 65536
MAX_TEXT = 1 << 26
MAX_LABEL = 4096
LONG_NUMBER = re.compile(r"\d{4}")
MAX_DEPTH = 48
"""Of an expression; deeper ones are not written (`aot.manifest`)."""

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
MEMBER_TYPES = frozenset({*SCALARS, "pointer"})
TARGETS = ("vulkan", "cuda", "c", "python")
KINDS = ("serial", "range_for")


def read_module(data: Any) -> BackendModule:
    """Return the module that `BackendModule.to_json` gave as `data`. Raises: ValueError naming the place."""
    module: BackendModule = read_object(data, "$", MODULE, BackendModule)
    check_module(module)
    return module


# --- plain values


def fail(path: str, text: str) -> ValueError:
    """Return the error for what stands at `path`."""
    return ValueError(f"{path}: {text}")


def read_object(data: Any, path: str, table: Mapping[str, Read], make: Callable[..., Any] = dict) -> Any:
    """Return an object with exactly the fields of `table`, each read by its function."""
    if type(data) is not dict:
        raise fail(path, f"an object is expected, found {kind_of(data)}")
    for name in data:
        if name not in table:
            raise fail(path, f"the field {str(name)[:80]!r} is unknown")
    for name in table:
        if name not in data:
            raise fail(path, f"the field {name!r} is missing")
    return make(**{name: read(data[name], f"{path}.{name}") for name, read in table.items()})


def kind_of(data: Any) -> str:
    """Return what JSON calls a value."""
    names = {dict: "an object", list: "a list", tuple: "a list", str: "a text", bool: "true or false"}
    return names.get(type(data), "null" if data is None else f"the number {str(data)[:40]}")


def number(low: int = 0, high: int = MAX_NUMBER) -> Read:
    """Return what reads a whole number of a range."""

    def read(data: Any, path: str) -> int:
        if type(data) is not int:
            raise fail(path, f"a whole number is expected, found {kind_of(data)}")
        if not low <= data <= high:
            raise fail(path, f"{data if abs(data) < 1 << 70 else 'a huge number'} is not between {low} and {high}")
        return data

    return read


def truth(data: Any, path: str) -> bool:
    """Read true or false."""
    if type(data) is not bool:
        raise fail(path, f"true or false is expected, found {kind_of(data)}")
    return data


def text(limit: int = MAX_LABEL, pattern: re.Pattern[str] | None = None) -> Read:
    """Return what reads a text of at most `limit` characters without NUL, all of which matches `pattern`."""

    def read(data: Any, path: str) -> str:
        if type(data) is not str:
            raise fail(path, f"a text is expected, found {kind_of(data)}")
        if len(data) > limit:
            raise fail(path, f"the text has {len(data)} characters; at most {limit} are taken")
        if "\0" in data or not (data.isascii() or all(not "\ud800" <= character <= "\udfff" for character in data)):
            raise fail(path, "the text holds a character that is none")
        if pattern is not None and pattern.fullmatch(data) is None:
            raise fail(path, f"{data[:80]!r} is no name of this kind")
        return data

    return read


def one_of(*values: str) -> Read:
    """Return what reads one of some texts."""

    def read(data: Any, path: str) -> str:
        if type(data) is not str or data not in values:
            found = repr(data[:80]) if type(data) is str else kind_of(data)
            raise fail(path, f"{' or '.join(values)} is expected, found {found}")
        return data

    return read


def optional(read: Read) -> Read:
    """Return what reads null too."""
    return lambda data, path: None if data is None else read(data, path)


def many(read: Read, limit: int = 1 << 16, least: int = 0) -> Read:
    """Return what reads a list as a tuple."""

    def read_all(data: Any, path: str) -> tuple[Any, ...]:
        items = items_of(data, path)
        if not least <= len(items) <= limit:
            raise fail(path, f"{len(items)} entries, and {least} to {limit} are taken")
        return tuple(read(item, f"{path}[{place}]") for place, item in enumerate(items))

    return read_all


def items_of(data: Any, path: str) -> Any:
    """Return the entries of a list."""
    if type(data) is not list and type(data) is not tuple:
        raise fail(path, f"a list is expected, found {kind_of(data)}")
    return data


def row(*reads: Read) -> Read:
    """Return what reads a list of exactly these entries as a tuple."""

    def read_row(data: Any, path: str) -> tuple[Any, ...]:
        items = items_of(data, path)
        if len(items) != len(reads):
            raise fail(path, f"{len(items)} entries, and {len(reads)} are expected")
        return tuple(read(item, f"{path}[{place}]") for place, (item, read) in enumerate(zip(items, reads)))

    return read_row


def plain(read: Read) -> Read:
    """Return what reads a list as a list: reports are kept as JSON gives them."""
    return lambda data, path: [*many(read)(data, path)]


# --- what a module is made of


def _expression(data: Any, path: str, depth: int = 0) -> Expression:
    items = items_of(data, path)
    if not items or type(items[0]) is not str:
        raise fail(path, "an expression starts with the name of its operation")
    if depth > MAX_DEPTH:
        raise fail(path, f"the expression is deeper than {MAX_DEPTH}")
    name, *operands = items
    if name == "const" and len(operands) == 1:
        return name, number(-MAX_NUMBER, MAX_NUMBER)(operands[0], f"{path}[1]")
    if name == "member" and len(operands) == 1:
        return name, number(0, MAX_EXTENT)(operands[0], f"{path}[1]")
    if HOST_OPS.get(name) != len(operands):
        raise fail(path, f"no operation {name[:40]!r} of {len(operands)} operands is known")
    return (name, *(_expression(item, f"{path}[{place + 1}]", depth + 1) for place, item in enumerate(operands)))


SOURCES: dict[str, int] = {
    "argument": 2, "pointer": 1, "gradient": 1, "shape": 2, "capacity": 1, "stride": 2, "begin": 1, "temporaries": 0,
    "result": 0, "seed": 0, "report": 0, "texture": 1, "texels": 1, "texture_channels": 1,
    "texture_shape": 2,
}  # fmt: skip
"""Where a member comes from, and how many numbers say more: see `interface.Member`."""


def _source(data: Any, path: str) -> tuple[Any, ...]:
    items = items_of(data, path)
    if not items or type(items[0]) is not str or SOURCES.get(items[0]) != len(items) - 1:
        raise fail(path, "no member comes from there")
    read = number(0, MAX_EXTENT)
    return (items[0], *(read(item, f"{path}[{place}]") for place, item in enumerate(items[1:], 1)))


def _result(data: Any, path: str, depth: int = 0) -> ResultField:
    if depth > 16:
        raise fail(path, "the structs lie in one another too deep")

    def members(data: Any, path: str) -> Any:
        return many(row(text(), lambda item, path: _result(item, path, depth + 1)))(data, path)

    table = {"type": text(), "shape": many(size, 4), "offset_bytes": number(0, MAX_BYTES), "members": members}
    found: ResultField = read_object(data, path, table, ResultField)
    if found.type not in SCALARS and not found.type.startswith("struct "):
        raise fail(f"{path}.type", f"{found.type[:80]!r} is no type")
    return found


def _site(data: Any, path: str) -> dict[str, Any]:
    """Read how a print or a check is told of; which fields there are depends on its kind."""
    kind = data.get("kind") if type(data) is dict else None
    table = {**SITE, **SITE_KINDS.get(kind if type(kind) is str else "", {"message": text(MAX_TEXT)})}
    found: dict[str, Any] = read_object(data, path, table)
    return found


size = number(0, MAX_EXTENT)
identifier = text(256, IDENTIFIER)
expression: Read = _expression
shape = many(size, MAX_AXES)
slots = many(number(-1, MAX_EXTENT))

FRAME: dict[str, Read] = {
    "file": text(),
    "function": text(),
    "span": plain(number(0, MAX_EXTENT)),
    "text": text(MAX_TEXT),
}
SITE: dict[str, Read] = {
    "kind": text(64, IDENTIFIER),
    "frames": plain(lambda data, path: read_object(data, path, FRAME)),
    "task": number(0, 4095),
    "values": plain(
        lambda data, path: read_object(
            data,
            path,
            {
                "type": one_of("i32", "u32", "f32", "i64", "u64", "f64"),
                "python_type": one_of(*SCALARS),
                "shape": lambda data, path: [*many(number(1, 4096), 2)(data, path)],
            },
        )
    ),
}


def _part(data: Any, path: str) -> str | list[Any]:
    """Read a part of what is printed: a text, or the number of a value with its format specification."""
    if type(data) is str:
        found: str = text(MAX_TEXT)(data, path)
        return found
    return [*row(number(0, 4096), text(64))(data, path)]


SITE_KINDS: dict[str, dict[str, Read]] = {
    "print": {"parts": plain(_part)},
    "call": {},
    "bounds": {"message": text(MAX_TEXT), "array": text(), "axes": number(1, MAX_AXES)},
}
"""Fields of the sites of a kind; all others are checks with a message."""

PLACE: dict[str, Read] = {
    "slot": size,
    "begin_bytes": number(0, MAX_BYTES),
    "digits": many(row(number(0, MAX_AXES), number(1, MAX_EXTENT), number(1, MAX_EXTENT), number(0, MAX_BYTES))),
    "cells": many(number(0, MAX_BYTES), 2),
}
ARRAY: dict[str, Read] = {
    "name": text(),
    "element": text(1 << 16),
    "element_shape": many(number(1, MAX_EXTENT), 4),
    "ndim": number(0, MAX_AXES),
    "shape": optional(shape),
    "parameter": optional(size),
    "read": truth,
    "written": truth,
    "offset": many(number(-MAX_EXTENT, MAX_EXTENT), MAX_AXES),
    "place": optional(lambda data, path: read_object(data, path, PLACE, TreeAddress)),
}
MEMBER: dict[str, Read] = {
    "name": text(256),
    "type": one_of(*sorted(MEMBER_TYPES)),
    "offset_bytes": number(0, MAX_ARGS_BYTES),
    "size_bytes": number(1, 8),
    "source": _source,
}
TEXTURE: dict[str, Read] = {
    "name": text(),
    "parameter": size,
    "binding": size,
    "ndim": number(1, 3),
    "element": one_of("f32", "i32", "u32"),
    "format": optional(one_of(*FORMATS)),
    "storage": truth,
    "lod": size,
    "read": truth,
    "written": truth,
}
LOOP: dict[str, Read] = {
    "line": size,
    "names": many(text(), MAX_AXES),
    "begins": many(optional(expression), MAX_AXES),
    "steps": many(number(-MAX_NUMBER, MAX_NUMBER), MAX_AXES),
    "order": many(row(number(0, MAX_AXES), number(1, MAX_EXTENT), number(1, MAX_EXTENT))),
}
TASK: dict[str, Read] = {
    "name": text(),
    "kind": one_of(*KINDS),
    "entry": identifier,
    "file": size,
    "block_dim": number(1, MAX_BLOCK_DIM),
    "extents": optional(many(expression, MAX_AXES)),
    "reads": slots,
    "writes": slots,
    "strided": truth,
    "serial_turns": optional(expression),
    "loop": optional(lambda data, path: read_object(data, path, LOOP, LoopIndices)),
    "folded": truth,
    "items": number(1, MAX_EXTENT),
}
FILE: dict[str, Read] = {
    "name": text(256, FILE_NAME),
    "text": text(MAX_TEXT),
    "lines": many(row(size, text(), size), 1 << 20),
}
INTERFACE: dict[str, Read] = {
    "members": many(lambda data, path: read_object(data, path, MEMBER, Member)),
    "args_size_bytes": number(0, MAX_ARGS_BYTES),
    "arrays": many(lambda data, path: read_object(data, path, ARRAY, ArrayBinding)),
    "results": many(_result, 4096),
    "result_size_bytes": number(0, MAX_BYTES),
    "temporaries_size_bytes": number(0, MAX_BYTES),
    "reports": many(_site),
    "textures": many(lambda data, path: read_object(data, path, TEXTURE, TextureBinding)),
}
OPTIONS: dict[str, Read] = {"fast_math": truth, "debug": truth, "recursive": truth}


def _options(data: Any, path: str) -> dict[str, Any]:
    """Read what tools need; `recursive` is left out where it does not hold."""
    is_recursive = type(data) is dict and "recursive" in data
    table = OPTIONS if is_recursive else {name: OPTIONS[name] for name in ("fast_math", "debug")}
    found: dict[str, Any] = read_object(data, path, table)
    return found


MODULE: dict[str, Read] = {
    "kernel": text(),
    "target": one_of(*TARGETS),
    "files": many(lambda data, path: read_object(data, path, FILE, SourceFile), 4096),
    "tasks": many(lambda data, path: read_object(data, path, TASK, TaskSource), 4096),
    "interface": lambda data, path: read_object(data, path, INTERFACE, Interface),
    "options": _options,
}


# --- what the parts say of one another


def check_module(module: BackendModule) -> None:
    """Check that references lead somewhere and that memory does not overlap. Raises: ValueError naming the place."""
    interface = module.interface
    for number_, task in enumerate(module.tasks):
        path = f"$.tasks[{number_}]"
        if task.file >= len(module.files):
            raise fail(f"{path}.file", f"there are {len(module.files)} files")
        for name in ("reads", "writes"):
            if any(slot >= len(interface.arrays) for slot in getattr(task, name)):
                raise fail(f"{path}.{name}", f"there are {len(interface.arrays)} arrays")
        expressions = [*(task.extents or ()), task.serial_turns, *(task.loop.begins if task.loop else ())]
        for each in expressions:
            if each is not None:
                _check_members(each, path, len(interface.members))
        if task.loop is not None:
            _check_loop(task.loop, task, f"{path}.loop")
    _check_memory(interface)
    _check_arrays(interface)
    for place, texture in enumerate(interface.textures):
        if texture.binding != place or texture.storage != (texture.format is not None):
            raise fail(f"$.interface.textures[{place}]", "its binding or its format is not one of its kind")
    for place, site in enumerate(interface.reports):
        _check_site(site, len(module.tasks), f"$.interface.reports[{place}]")


def _check_site(site: dict[str, Any], tasks: int, path: str) -> None:
    """Check that a record can be shown: its text asks for values there are, in ways there are, and not in megabytes."""
    if site["task"] >= tasks or not site["frames"]:
        raise fail(path, "it is of no task, or stands nowhere")
    if any(len(frame["span"]) != 4 for frame in site["frames"]):
        raise fail(path, "a place is two lines and two columns")
    if site["kind"] == "call":
        return
    try:
        parts = site["parts"] if site["kind"] == "print" else message_parts(site["message"])
        if any(LONG_NUMBER.search(part[1]) for part in parts if not isinstance(part, str)):
            raise fail(path, "a number is to be written wider than 999")
        text_writer(site)
    except (ValueError, IndexError, KeyError) as error:
        raise fail(path, f"its text cannot be written: {error}") from None
    if site["kind"] == "bounds" and len(site["values"]) < site["axes"]:
        raise fail(path, "it has fewer values than axes")


def _check_members(each: Expression, path: str, count: int) -> None:
    """Check that an expression asks for members there are."""
    if each[0] == "member" and each[1] >= count:
        raise fail(path, f"an expression asks for member {each[1]} of {count}")
    for operand in each[1:]:
        if type(operand) is tuple:
            _check_members(operand, path, count)


def _check_loop(loop: LoopIndices, task: TaskSource, path: str) -> None:
    axes = len(loop.names)
    if not len(loop.begins) == len(loop.steps) == axes:
        raise fail(path, "names, begins and steps are of different lengths")
    if any(axis >= axes for axis, _, _ in loop.order):
        raise fail(f"{path}.order", f"there are {axes} axes")
    if task.extents is not None and not loop.order and len(task.extents) != axes:
        raise fail(path, f"there are {axes} indices and {len(task.extents)} extents")


def _check_memory(interface: Interface) -> None:
    """Check that the members of `Args` lie apart, aligned, in their order, and the results in their buffer."""
    end = 0
    for place, member in enumerate(interface.members):
        path = f"$.interface.members[{place}]"
        size_bytes = 8 if member.type == "pointer" else SCALARS[member.type].size_bytes
        if member.size_bytes != size_bytes:
            raise fail(f"{path}.size_bytes", f"{member.type} takes {size_bytes} bytes")
        if member.offset_bytes < end or member.offset_bytes % size_bytes:
            raise fail(f"{path}.offset_bytes", "it overlaps with the member before, or is not aligned")
        end = member.offset_bytes + size_bytes
        if end > interface.args_size_bytes:
            raise fail(path, f"it ends behind the block of {interface.args_size_bytes} bytes")
        _check_source(member, interface, path)
    for place, field in enumerate(interface.results):
        _check_result(field, interface.result_size_bytes, f"$.interface.results[{place}]")


def _check_source(member: Member, interface: Interface, path: str) -> None:
    kind = member.source[0]
    is_address = kind in ("pointer", "gradient", "temporaries", "result", "report", "texture", "texels")
    if is_address and member.size_bytes != 8:
        raise fail(path, "an address takes 8 bytes")
    if (kind == "temporaries" and not interface.temporaries_size_bytes) or (
        kind == "result" and not interface.result_size_bytes
    ):
        raise fail(path, "it is the address of nothing")
    if kind in ("pointer", "gradient", "shape", "capacity", "stride", "begin"):
        slot = member.source[1]
        if slot >= len(interface.arrays):
            raise fail(f"{path}.source", f"there are {len(interface.arrays)} arrays")
        if len(member.source) == 3 and member.source[2] >= interface.arrays[slot].ndim:
            raise fail(f"{path}.source", f"array {slot} has {interface.arrays[slot].ndim} axes")
    if kind in ("texture", "texels", "texture_channels", "texture_shape"):
        slot = member.source[1]
        if slot >= len(interface.textures):
            raise fail(f"{path}.source", f"there are {len(interface.textures)} textures")
        if len(member.source) == 3 and member.source[2] >= interface.textures[slot].ndim:
            raise fail(f"{path}.source", f"texture {slot} has {interface.textures[slot].ndim} axes")


def _check_result(field: ResultField, size_bytes: int, path: str) -> None:
    for name, member in field.members:
        _check_result(member, size_bytes, f"{path}.{name[:80]}")
    if field.type in SCALARS:
        count = 1
        for extent in field.shape:
            count *= extent
        alignment = SCALARS[field.type].size_bytes
        if field.offset_bytes % alignment or field.offset_bytes + count * alignment > size_bytes:
            raise fail(path, f"it does not lie in the result of {size_bytes} bytes")


def _check_arrays(interface: Interface) -> None:
    for place, array in enumerate(interface.arrays):
        path = f"$.interface.arrays[{place}]"
        if array.shape is not None and len(array.shape) != array.ndim:
            raise fail(f"{path}.shape", f"it has {len(array.shape)} axes, and ndim is {array.ndim}")
        if array.offset and len(array.offset) != array.ndim:
            raise fail(f"{path}.offset", f"it has {len(array.offset)} axes, and ndim is {array.ndim}")
        if array.place is not None:
            if array.place.slot >= len(interface.arrays):
                raise fail(f"{path}.place.slot", f"there are {len(interface.arrays)} arrays")
            if any(digit[0] >= max(1, array.ndim) for digit in array.place.digits):
                raise fail(f"{path}.place.digits", f"there are {array.ndim} axes")
