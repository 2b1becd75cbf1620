"""The file of one cache entry: it contains its own length, checksum and key.

    magic (8) | format u32 | key (32) | length of the payload u64 | sha256 of the payload (32) | payload
    payload: length of the summary u32 | summary, JSON | material | parts in the order of the summary

Numbers are little-endian. The material is the input of the key's hash, so that a hash collision is detected. Nothing is
unpickled or evaluated: a file has exactly this form, or is `Damaged`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import struct
import sys
from collections.abc import Mapping
from typing import Any

from ...transpiler.lazy_dataclasses import dataclass
from .folders import ROOT

MAGIC = b"SHADEKEP"
FORMAT = 1
HEAD = struct.Struct("<8sI32sQ32s")
SUMMARY_LENGTH = struct.Struct("<I")
MAX_BYTES = 1 << 28
"""Size limit of an entry; a longer file is not read."""


OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link is no entry, and opening a pipe must not block."""

TEMPORARY = ".tmp-"
"""Prefix of the names of temporary files."""
NAME = re.compile(r"([0-9a-f]{64})\.([a-z]{1,16})")
"""Name of an entry's file: key and stage. Files of other names are never touched."""


class Damaged(Exception):
    """A file is no entry, or not the entry it should be; the message gives the reason in a few words."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The contents of an entry: `header` as read from JSON (tuples are lists), `parts` byte for byte."""

    header: dict[str, Any]
    parts: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Summary:
    """The header of an entry. version: of shadesmith's sources; what: its owner, for people; sizes in bytes."""

    stage: str
    version: str
    what: str
    material_bytes: int
    parts: dict[str, int]
    header: dict[str, Any]


def key_of(stage: str, version: str, material: bytes) -> bytes:
    """Return the 32 bytes of an entry's key."""
    digest = hashlib.sha256(f"shadesmith {FORMAT}\0{stage}\0{version}\0".encode())
    digest.update(material)
    return digest.digest()


def file_name(key: bytes, stage: str) -> str:
    """Return the name of an entry's file."""
    return f"{key.hex()}.{stage}"


def pack(
    key: bytes, summary: tuple[str, str, str], material: bytes, header: Mapping[str, Any], parts: Mapping[str, bytes]
) -> bytes:
    """Return the bytes of an entry's file. summary: stage, version and owner. Raises: TypeError if no JSON."""
    stage, version, what = summary
    fields = {
        "stage": stage,
        "version": version,
        "what": what,
        "material": len(material),
        "parts": {name: len(part) for name, part in parts.items()},
        "header": dict(header),
    }
    encoded = json.dumps(fields, separators=(",", ":")).encode()
    payload = b"".join((SUMMARY_LENGTH.pack(len(encoded)), encoded, material, *parts.values()))
    return HEAD.pack(MAGIC, FORMAT, key, len(payload), hashlib.sha256(payload).digest()) + payload


def unpack(data: bytes, key: bytes | None = None) -> tuple[Summary, bytes, dict[str, bytes]]:
    """Return the summary, material and parts in an entry's file.

    key: the expected key; None accepts any. Raises: Damaged.
    """
    payload = _payload(data, key)
    summary, start = _summary(payload)
    sizes = (summary.material_bytes, *summary.parts.values())
    if start + sum(sizes) != len(payload):
        raise Damaged("sizes of parts")
    pieces = []
    for size in sizes:
        pieces.append(bytes(payload[start : start + size]))
        start += size
    return summary, pieces[0], dict(zip(summary.parts, pieces[1:]))


def _payload(data: bytes, key: bytes | None) -> memoryview:
    if len(data) < HEAD.size:
        raise Damaged("length" if data else "length: the file is empty")
    magic, form, its_key, length, checksum = HEAD.unpack_from(data)
    if magic != MAGIC:
        raise Damaged("no entry: it starts with other bytes")
    if form != FORMAT:
        raise Damaged(f"format {form}, not {FORMAT}")
    if key is not None and its_key != key:
        raise Damaged("key: the file belongs to another entry")
    payload = memoryview(data)[HEAD.size :]
    if len(payload) != length:
        raise Damaged("length")
    if hashlib.sha256(payload).digest() != checksum:
        raise Damaged("checksum")
    return payload


def _summary(payload: memoryview) -> tuple[Summary, int]:
    """Return the summary and where the material starts. The checksum was right, but anybody can compute one."""
    if len(payload) < SUMMARY_LENGTH.size:
        raise Damaged("length")
    (length,) = SUMMARY_LENGTH.unpack_from(payload)
    start = SUMMARY_LENGTH.size + length
    try:
        fields = json.loads(bytes(payload[SUMMARY_LENGTH.size : start]))
        summary = Summary(
            fields["stage"], fields["version"], fields["what"], fields["material"], fields["parts"], fields["header"]
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Damaged("summary") from None
    names = (summary.stage, summary.version, summary.what)
    if not all(isinstance(name, str) for name in names) or not isinstance(summary.header, dict):
        raise Damaged("summary")
    sizes = (summary.material_bytes, *summary.parts.values()) if isinstance(summary.parts, dict) else (-1,)
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise Damaged("summary")
    return summary, start


def read_file(path: str) -> bytes:
    """Read the whole file of an entry.

    Raises: OSError; Damaged if it is no regular file of a sensible size, or belongs to another user: somebody else may
    have replaced the folder since it was checked, or a group may write to it.
    """
    descriptor = os.open(path, OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Damaged("not a file")
        if sys.platform != "win32" and status.st_uid not in (os.geteuid(), ROOT):
            raise Damaged("owner: another user wrote it")
        if status.st_size > MAX_BYTES:
            raise Damaged("length")
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def read_summary(path: str) -> Summary:
    """Return the summary from the start of an entry's file; parts are not read.

    Raises: OSError, Damaged.
    """
    with open(os.open(path, OPEN_FLAGS), "rb") as file:
        head = file.read(HEAD.size + SUMMARY_LENGTH.size)
        if len(head) < HEAD.size + SUMMARY_LENGTH.size or head[: len(MAGIC)] != MAGIC:
            raise Damaged("no entry")
        (length,) = SUMMARY_LENGTH.unpack_from(head, HEAD.size)
        return _summary(memoryview(head[HEAD.size :] + file.read(min(length, MAX_BYTES))))[0]
