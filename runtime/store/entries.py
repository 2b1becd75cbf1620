"""The file of one cache entry: bytes that say themselves whether they are whole and whose they are.

    magic (8) | format u32 | key (32) | length of the payload u64 | sha256 of the payload (32) | payload
    payload: length of the summary u32 | summary, JSON | material | parts in the order of the summary

Numbers are little-endian. The material is all that the key was made of, so that two things of one key are told apart.
Nothing is unpickled or evaluated: a file is either exactly this, or `Damaged`.
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
from dataclasses import dataclass
from typing import Any

from .folders import ROOT

MAGIC = b"SHADEKEP"
FORMAT = 1
HEAD = struct.Struct("<8sI32sQ32s")
SUMMARY_LENGTH = struct.Struct("<I")
MAX_BYTES = 1 << 28
"""Of a whole entry; a longer file is not read."""


OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link is no entry, and a pipe in the place of one must not block."""

TEMPORARY = ".tmp-"
"""What names of files begin with that are not whole yet."""
NAME = re.compile(r"([0-9a-f]{64})\.([a-z]{1,16})")
"""Of an entry's file: key and stage. Files of other names in the folder are not ours, and left alone."""


class Damaged(Exception):
    """A file is no entry, or not the entry it should be; the text says why, in a few words."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What was put: `header` as JSON gives it back (tuples are lists), `parts` byte for byte."""

    header: dict[str, Any]
    parts: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Summary:
    """What an entry says of itself. version: of our own sources; what: whose it is, for people; sizes in bytes."""

    stage: str
    version: str
    what: str
    material_bytes: int
    parts: dict[str, int]
    header: dict[str, Any]


def key_of(stage: str, version: str, material: bytes) -> bytes:
    """Return the 32 bytes by which an entry is found."""
    digest = hashlib.sha256(f"shadesmith {FORMAT}\0{stage}\0{version}\0".encode())
    digest.update(material)
    return digest.digest()


def file_name(key: bytes, stage: str) -> str:
    """Return the name of an entry's file."""
    return f"{key.hex()}.{stage}"


def pack(
    key: bytes, summary: tuple[str, str, str], material: bytes, header: Mapping[str, Any], parts: Mapping[str, bytes]
) -> bytes:
    """Return the bytes of an entry's file. summary: stage, version and whose it is. Raises: TypeError if no JSON."""
    stage, version, what = summary
    said = {
        "stage": stage,
        "version": version,
        "what": what,
        "material": len(material),
        "parts": {name: len(part) for name, part in parts.items()},
        "header": dict(header),
    }
    text = json.dumps(said, separators=(",", ":")).encode()
    payload = b"".join((SUMMARY_LENGTH.pack(len(text)), text, material, *parts.values()))
    return HEAD.pack(MAGIC, FORMAT, key, len(payload), hashlib.sha256(payload).digest()) + payload


def unpack(data: bytes, key: bytes | None = None) -> tuple[Summary, bytes, dict[str, bytes]]:
    """Return what an entry's file holds: its summary, material and parts.

    key: by which it was found; None: whatever it is. Raises: Damaged.
    """
    payload = _payload(data, key)
    summary, begin = _summary(payload)
    sizes = (summary.material_bytes, *summary.parts.values())
    if begin + sum(sizes) != len(payload):
        raise Damaged("sizes of parts")
    pieces = []
    for size in sizes:
        pieces.append(bytes(payload[begin : begin + size]))
        begin += size
    return summary, pieces[0], dict(zip(summary.parts, pieces[1:]))


def _payload(data: bytes, key: bytes | None) -> memoryview:
    if len(data) < HEAD.size:
        raise Damaged("length" if data else "length: the file is empty")
    magic, form, its_key, length, checksum = HEAD.unpack_from(data)
    if magic != MAGIC:
        raise Damaged("no entry: it begins with other bytes")
    if form != FORMAT:
        raise Damaged(f"format {form}, not {FORMAT}")
    if key is not None and its_key != key:
        raise Damaged("key: the file is that of another entry")
    payload = memoryview(data)[HEAD.size :]
    if len(payload) != length:
        raise Damaged("length")
    if hashlib.sha256(payload).digest() != checksum:
        raise Damaged("checksum")
    return payload


def _summary(payload: memoryview) -> tuple[Summary, int]:
    """Return the summary and where the material begins. The checksum is right here, but anybody can make one."""
    if len(payload) < SUMMARY_LENGTH.size:
        raise Damaged("length")
    (length,) = SUMMARY_LENGTH.unpack_from(payload)
    begin = SUMMARY_LENGTH.size + length
    try:
        said = json.loads(bytes(payload[SUMMARY_LENGTH.size : begin]))
        summary = Summary(
            said["stage"], said["version"], said["what"], said["material"], said["parts"], said["header"]
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Damaged("summary") from None
    texts = (summary.stage, summary.version, summary.what)
    if not all(isinstance(text, str) for text in texts) or not isinstance(summary.header, dict):
        raise Damaged("summary")
    sizes = (summary.material_bytes, *summary.parts.values()) if isinstance(summary.parts, dict) else (-1,)
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise Damaged("summary")
    return summary, begin


def read_file(path: str) -> bytes:
    """Read an entry's file whole.

    Raises: OSError; Damaged for what is no file of a sensible size, and for one of another user: the folder may have
    been made by somebody else since it was looked at, or be one that a group may write to.
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
    """Return what an entry says of itself, from the begin of its file; parts are not looked at.

    Raises: OSError, Damaged.
    """
    with open(os.open(path, OPEN_FLAGS), "rb") as file:
        head = file.read(HEAD.size + SUMMARY_LENGTH.size)
        if len(head) < HEAD.size + SUMMARY_LENGTH.size or head[: len(MAGIC)] != MAGIC:
            raise Damaged("no entry")
        (length,) = SUMMARY_LENGTH.unpack_from(head, HEAD.size)
        return _summary(memoryview(head[HEAD.size :] + file.read(min(length, MAX_BYTES))))[0]
