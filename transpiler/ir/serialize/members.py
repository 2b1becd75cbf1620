"""How members of the IR's dataclasses are serialized, by the types with which they are declared.

Input: the classes. Output: their members, each with a `Codec`, of which there is one per declared type. A codec is
strict in both directions: it writes only what the declaration allows, and reads only what it would have written.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import MISSING
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ...errors import SourceLocation
from ...lazy_dataclasses import dataclass
from .. import functions, nodes, remarks, snodes, sparse, statements, tasks, textures, threads
from ..types import Scalar, Type
from .tables import TableReader, TableWriter, fail, list_at

MODULES = (nodes, snodes, statements, functions, tasks, sparse, textures, threads, remarks)
"""Modules with the classes of which a kernel consists."""
NO_NUMBERS = {"nan": math.nan, "-nan": -math.nan, "inf": math.inf, "-inf": -math.inf}
"""Floats that JSON lacks, as strings."""


@dataclass(frozen=True, slots=True)
class Codec:
    """Conversion of one declared type.

    Attributes:
        write: a value to JSON. Raises: TypeError for a value that is not as declared.
        read: JSON and its path to a value. Raises: ValueError.
        objects: adds the objects that a value refers to; None if it refers to none.
    """

    write: Callable[[Any, TableWriter], Any]
    read: Callable[[Any, TableReader, str], Any]
    objects: Callable[[Any, list[Any]], None] | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a class.

    Attributes:
        name: of the member.
        codec: of its declared type.
        has_default: it may be omitted if it equals `default`.
        default: the default value, or its factory.
        is_factory: `default` is a factory.
        path: its name in errors.
    """

    name: str
    codec: Codec
    has_default: bool
    default: Any
    is_factory: bool
    path: str

    def is_default(self, value: Any) -> bool:
        """Return whether the serialized form omits this value."""
        if not self.has_default:
            return False
        default = self.default
        if self.is_factory:
            return type(value) is default and not value
        return value is default or (type(value) is type(default) is not SourceLocation and bool(value == default))


@cache
def classes() -> dict[str, type]:
    """Return the classes of objects, which are compared by identity, by name."""
    by_name = {}
    for module in MODULES:
        for name, item in vars(module).items():
            if isinstance(item, type) and item.__module__ == module.__name__ and _is_object(item):
                by_name[name] = item
    return by_name


def members_of(item: object) -> tuple[Member, ...]:
    """Return the members of an object's class, in order."""
    kind: Any = type(item)  # type[...] is not hashable to mypy
    return _members_of_class(kind)


@cache
def _members_of_class(kind: Any) -> tuple[Member, ...]:
    hints = get_type_hints(kind)
    members = []
    for member in dataclasses.fields(kind):
        default = member.default
        if member.default_factory is not MISSING and member.default_factory in (list, dict):
            default = member.default_factory
        codec = codec_of(hints[member.name])
        is_factory = default in (list, dict)
        members.append(Member(member.name, codec, default is not MISSING, default, is_factory, f".{member.name}"))
    return tuple(members)


def references_of(item: object) -> tuple[Member, ...]:
    """Return those members of an object's class that refer to other objects."""
    kind: Any = type(item)
    return _references_of_class(kind)


@cache
def _references_of_class(kind: Any) -> tuple[Member, ...]:
    return tuple(member for member in _members_of_class(kind) if member.codec.objects is not None)


def _is_object(kind: Any) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind) and not kind.__dataclass_params__.eq  # type: ignore[attr-defined]


@cache
def codec_of(declared: Any) -> Codec:
    """Return the codec of a declared type."""
    if declared in _PLAIN:
        return _plain(declared)
    if declared is float or declared == int | float | bool:
        return Codec(_write_number, _read_number)
    if declared == Type or declared is Scalar:
        return Codec(lambda value, writer: writer.type(value), lambda data, reader, path: reader.type(data, path))
    if declared is SourceLocation:
        return Codec(
            lambda value, writer: writer.location(value), lambda data, reader, path: reader.location(data, path)
        )
    origin, arguments = get_origin(declared), get_args(declared)
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin in (list, tuple, frozenset, dict):
        return _container(origin, arguments)
    if _is_object(declared):
        return _reference((declared,))
    if isinstance(declared, type) and issubclass(declared, Enum):
        return _enum(declared)
    if isinstance(declared, type) and (dataclasses.is_dataclass(declared) or issubclass(declared, tuple)):
        return _record(declared)
    raise TypeError(f"a kernel cannot be serialized with {declared!r}")


# --- numbers, strings, enums ------------------------------------------------------------------------------------------

_PLAIN = (int, bool, str)


def _plain(kind: type) -> Codec:
    def write(value: Any, writer: TableWriter) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return value

    def read(data: Any, reader: TableReader, path: str) -> Any:
        if type(data) is not kind:
            fail(path, f"expected {kind.__name__}, found {data!r:.40}")
        return data

    return Codec(write, read)


def _write_number(value: Any, writer: TableWriter) -> Any:
    if type(value) not in (int, float, bool):
        raise TypeError(f"{value!r} is not a Python number")
    if type(value) is float and not math.isfinite(value):
        sign = "-" if math.copysign(1, value) < 0 else ""
        return f"{sign}{'nan' if math.isnan(value) else 'inf'}"
    return value


def _read_number(data: Any, reader: TableReader, path: str) -> Any:
    if type(data) in (int, float, bool):
        return data
    if type(data) is not str or data not in NO_NUMBERS:
        fail(path, f"expected a number, found {data!r:.40}")
    return NO_NUMBERS[data]


def _enum(kind: type[Enum]) -> Codec:
    values = {member.value: member for member in kind}

    def read(data: Any, reader: TableReader, path: str) -> Any:
        if type(data) is not str or data not in values:
            fail(path, f"{data!r:.40} is none of {sorted(values)}")
        return values[data]

    return Codec(lambda value, writer: kind(value).value, read)


# --- objects and records --------------------------------------------------------------------------------------------


def _reference(kinds: tuple[type, ...]) -> Codec:
    def write(value: Any, writer: TableWriter) -> Any:
        if not isinstance(value, kinds):
            raise TypeError(f"{value!r:.80} is no {kinds[0].__name__}")
        return writer.objects[id(value)]

    def read(data: Any, reader: TableReader, path: str) -> Any:
        referenced = reader.objects[data] if type(data) is int and 0 <= data < len(reader.objects) else None
        if not isinstance(referenced, kinds):
            fail(path, f"{data!r:.40} is not the number of a {kinds[0].__name__}")
        return referenced

    return Codec(write, read, lambda value, found: found.append(value))


def _record(kind: Any) -> Codec:
    """Return the codec of a value compared by content: the list of its members. It may contain values of its kind."""
    names = kind._fields if issubclass(kind, tuple) else [member.name for member in dataclasses.fields(kind)]

    @cache
    def codecs() -> list[Codec]:
        hints = get_type_hints(kind)
        found = [codec_of(hints[name]) for name in names]
        assert all(codec.objects is None for codec in found)
        return found

    def write(value: Any, writer: TableWriter) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return [codec.write(getattr(value, name), writer) for name, codec in zip(names, codecs(), strict=True)]

    def read(data: Any, reader: TableReader, path: str) -> Any:
        if len(list_at(data, path)) != len(names):
            fail(path, f"expected {', '.join(names)}")
        return kind(*(codec.read(item, reader, path) for codec, item in zip(codecs(), data, strict=True)))

    return Codec(write, read)


# --- what holds others ----------------------------------------------------------------------------------------------


def _union(arguments: tuple[Any, ...]) -> Codec:
    """Return the codec of `X | None`, several classes of objects, or `str | tuple[...]`, distinguished in JSON."""
    rest = tuple(argument for argument in arguments if argument is not type(None))
    if set(get_args(Type)) <= set(rest):
        inner = codec_of(Type)
    elif len(rest) == 1:
        inner = codec_of(rest[0])
    elif all(map(_is_object, rest)):
        inner = _reference(rest)
    elif rest[0] is str and len(rest) == 2 and get_origin(rest[1]) is tuple:
        inner = _text_or_tuple(codec_of(rest[1]))
    else:
        raise TypeError(f"a kernel cannot be serialized with {arguments!r}")
    if len(rest) == len(arguments):
        return inner
    objects = inner.objects
    return Codec(
        lambda value, writer: None if value is None else inner.write(value, writer),
        lambda data, reader, path: None if data is None else inner.read(data, reader, path),
        None if objects is None else lambda value, found: None if value is None else objects(value, found),
    )


def _text_or_tuple(codec: Codec) -> Codec:
    text = codec_of(str)
    return Codec(
        lambda value, writer: (text if isinstance(value, str) else codec).write(value, writer),
        lambda data, reader, path: (text if isinstance(data, str) else codec).read(data, reader, path),
    )


def _container(kind: Any, arguments: tuple[Any, ...]) -> Codec:
    if kind is dict:
        return _pairs(codec_of(arguments[0]), codec_of(arguments[1]))
    if kind is tuple and arguments[-1] is not Ellipsis:
        return _fixed([codec_of(argument) for argument in arguments])
    return _sequence(kind, codec_of(arguments[0]))


def _sequence(kind: Any, codec: Codec) -> Codec:
    write_one, read_one, objects_of_one = codec.write, codec.read, codec.objects

    def write(value: Any, writer: TableWriter) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r:.80} is no {kind.__name__}")
        written = [write_one(item, writer) for item in value]
        return sorted(written) if kind is frozenset else written

    def read(data: Any, reader: TableReader, path: str) -> Any:
        items = [read_one(item, reader, path) for item in list_at(data, path)]
        return items if kind is list else kind(items)

    def objects(value: Any, result: list[Any]) -> None:
        assert objects_of_one is not None
        for item in value:
            objects_of_one(item, result)

    return Codec(write, read, None if objects_of_one is None else objects)


def _fixed(codecs: list[Codec]) -> Codec:
    assert all(codec.objects is None for codec in codecs)

    def write(value: Any, writer: TableWriter) -> Any:
        if type(value) is not tuple or len(value) != len(codecs):
            raise TypeError(f"{value!r:.80} is no tuple of {len(codecs)}")
        return [codec.write(item, writer) for codec, item in zip(codecs, value, strict=True)]

    def read(data: Any, reader: TableReader, path: str) -> Any:
        if len(list_at(data, path)) != len(codecs):
            fail(path, f"expected {len(codecs)} values")
        return tuple(codec.read(item, reader, path) for codec, item in zip(codecs, data, strict=True))

    return Codec(write, read)


def _pairs(key: Codec, value: Codec) -> Codec:
    """Return the codec of a dictionary: pairs in its order."""

    def write(values: Any, writer: TableWriter) -> Any:
        return [[key.write(name, writer), value.write(item, writer)] for name, item in values.items()]

    def read(data: Any, reader: TableReader, path: str) -> Any:
        pairs = {}
        for pair in list_at(data, path):
            if len(list_at(pair, path)) != 2:
                fail(path, "expected pairs")
            pairs[key.read(pair[0], reader, path)] = value.read(pair[1], reader, path)
        if len(pairs) != len(data):
            fail(path, "a key is repeated")
        return pairs

    def objects(values: Any, result: list[Any]) -> None:
        for name, item in values.items():
            for codec, part in ((key, name), (value, item)):
                if codec.objects is not None:
                    codec.objects(part, result)

    return Codec(write, read, None if key.objects is value.objects is None else objects)
