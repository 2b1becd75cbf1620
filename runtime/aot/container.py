"""The zip file of a module: written so that equal members give equal bytes, read as if it came from an enemy.

In: members by name. Out: bytes; and back, within the limits of docs/archive.md. A member is inflated piece by piece and
never beyond what the archive says of it, for what it says may be a lie. Nothing is ever extracted to a disk.
"""

from __future__ import annotations

import binascii
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from ...transpiler.errors import TaichiRuntimeError

MAX_MEMBERS = 4096
MAX_MEMBER_BYTES = 64 << 20
MAX_BYTES = 256 << 20
MAX_RATIO = 200
SMALL_BYTES = 4096
"""Members up to this size may have any ratio."""
MAX_NAME = 200
NAME = re.compile(r"[a-z0-9_-][a-z0-9_.-]*(?:/[a-z0-9_-][a-z0-9_.-]*)*")
"""No part begins with a dot, so that none is `.` or `..`."""

LOCAL, CENTRAL, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
CENTRAL_HEADER = struct.Struct("<4sHHHHHHIIIHHHHHII")
END_RECORD = struct.Struct("<4sHHHHIIH")
VERSION = 20
MADE_BY = 3 << 8 | VERSION
"""By Unix, so that the mode counts."""
DATE = (1980 - 1980) << 9 | 1 << 5 | 1
MODE = 0o100644 << 16
FILE_TYPES, REGULAR = 0o170000, (0, 0o100000)
UTF_8, ENCRYPTED_OR_LATER = 1 << 11, ~(1 << 11 | 6)
"""Flags: names in UTF-8, and the two bits that say how hard deflate tried; any other is a thing we do not read."""
STORED, DEFLATED = 0, 8


class ArchiveError(TaichiRuntimeError):
    """An archive that is damaged, or not one of ours."""


def write_container(members: Mapping[str, bytes]) -> bytes:
    """Return the zip file of `members`, stored in the order of their names."""
    pieces: list[bytes] = []
    central: list[bytes] = []
    offset = 0
    for name, data in sorted(members.items()):
        assert NAME.fullmatch(name) is not None, name
        encoded = name.encode()
        facts = (zlib.crc32(data), len(data), len(data), len(encoded))
        header = LOCAL_HEADER.pack(LOCAL, VERSION, 0, STORED, 0, DATE, *facts, 0)
        entry = (MADE_BY, VERSION, 0, STORED, 0, DATE, *facts, 0, 0, 0, 0, MODE, offset)
        central += [CENTRAL_HEADER.pack(CENTRAL, *entry), encoded]
        pieces += [header, encoded, data]
        offset += len(header) + len(encoded) + len(data)
    directory = b"".join(central)
    end = END_RECORD.pack(END, 0, 0, len(members), len(members), len(directory), offset, 0)
    return b"".join([*pieces, directory, end])


@dataclass(frozen=True, slots=True)
class _Entry:
    """What the central directory says of a member."""

    name: str
    method: int
    crc: int
    packed_bytes: int
    size_bytes: int
    offset: int


def read_container(data: bytes) -> dict[str, bytes]:
    """Return the members of a zip file by name. Raises: ArchiveError for anything but a whole and plain one."""
    entries = _directory(data)
    found: dict[str, bytes] = {}
    place = 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        begin = _begin_of_data(data, entry, place)
        place = begin + entry.packed_bytes
        found[entry.name] = _unpack(entry, data[begin:place])
    return found


def _directory(data: bytes) -> list[_Entry]:
    """Read the central directory, which must reach from the last member to the record at the very end."""
    begin = len(data) - END_RECORD.size
    if begin < 0 or data[begin : begin + 4] != END:
        raise ArchiveError("it is no zip file, or was cut off: its last record is missing")
    _, disk, first_disk, here, count, size, offset, comment = END_RECORD.unpack_from(data, begin)
    if disk or first_disk or here != count or comment:
        raise ArchiveError("it is a zip file of several parts, or damaged")
    if count > MAX_MEMBERS:
        raise ArchiveError(f"it has {count} members; at most {MAX_MEMBERS} are taken")
    if offset + size != begin:
        raise ArchiveError("its directory does not end where the archive does")
    entries: list[_Entry] = []
    names: set[str] = set()
    position, total = offset, 0
    for _ in range(count):
        entry, position = _entry(data, position, begin)
        if entry.name in names:
            raise ArchiveError(f"there are two members `{entry.name}`")
        names.add(entry.name)
        total += entry.size_bytes
        entries.append(entry)
    if position != begin:
        raise ArchiveError("its directory is longer than its members")
    if total > MAX_BYTES:
        raise ArchiveError(f"its members have {total:,} bytes; at most {MAX_BYTES:,} are taken")
    if any(entry.offset + LOCAL_HEADER.size > offset for entry in entries):
        raise ArchiveError("a member lies behind the directory")
    return entries


def _entry(data: bytes, position: int, end: int) -> tuple[_Entry, int]:
    if position + CENTRAL_HEADER.size > end or data[position : position + 4] != CENTRAL:
        raise ArchiveError("its directory is damaged")
    (_, made_by, _, flags, method, _, _, crc, packed, size, length, extra, comment, disk, _, external, offset) = (
        CENTRAL_HEADER.unpack_from(data, position)
    )
    begin = position + CENTRAL_HEADER.size
    name = _name(data[begin : begin + length], length)
    if flags & ENCRYPTED_OR_LATER or method not in (STORED, DEFLATED) or disk or comment:
        raise ArchiveError(f"member `{name}` is encrypted, or packed in a way that is not taken")
    if made_by >> 8 == 3 and (external >> 16) & FILE_TYPES not in REGULAR:
        raise ArchiveError(f"member `{name}` is a link or a folder")
    if size > MAX_MEMBER_BYTES:
        raise ArchiveError(f"member `{name}` has {size:,} bytes; at most {MAX_MEMBER_BYTES:,} are taken")
    if method == STORED and size != packed:
        raise ArchiveError(f"member `{name}` is stored and has two sizes")
    if size > SMALL_BYTES and size > MAX_RATIO * packed:
        raise ArchiveError(f"member `{name}` would grow more than {MAX_RATIO} times")
    return _Entry(name, method, crc, packed, size, offset), begin + length + extra


def _name(raw: bytes, length: int) -> str:
    try:
        name = raw.decode("ascii")
    except UnicodeDecodeError:
        name = ""
    if len(raw) != length or length > MAX_NAME or NAME.fullmatch(name) is None:
        shown = raw[:60].decode("ascii", "backslashreplace")
        raise ArchiveError(f"a member is called {shown!r}; names are of a-z 0-9 _ . - and /, and lead nowhere else")
    return name


def _begin_of_data(data: bytes, entry: _Entry, least: int) -> int:
    """Return where a member's data begin; the local header must say the same as the directory."""
    if entry.offset < least:
        raise ArchiveError(f"member `{entry.name}` lies over another")
    if data[entry.offset : entry.offset + 4] != LOCAL:
        raise ArchiveError(f"member `{entry.name}` is not where the directory says")
    _, _, flags, method, _, _, crc, packed, size, length, extra = LOCAL_HEADER.unpack_from(data, entry.offset)
    begin = entry.offset + LOCAL_HEADER.size
    said = (method, crc, packed, size, data[begin : begin + length])
    if flags & ENCRYPTED_OR_LATER or said != (
        entry.method, entry.crc, entry.packed_bytes, entry.size_bytes, entry.name.encode()
    ):  # fmt: skip
        raise ArchiveError(f"member `{entry.name}`: its header and the directory disagree")
    begin += int(length + extra)
    if begin + entry.packed_bytes > len(data):
        raise ArchiveError(f"member `{entry.name}` was cut off")
    return begin


def _unpack(entry: _Entry, packed: bytes) -> bytes:
    data = packed
    if entry.method == DEFLATED:
        inflater = zlib.decompressobj(-15)
        try:
            data = inflater.decompress(packed, entry.size_bytes + 1)
        except zlib.error as error:
            raise ArchiveError(f"member `{entry.name}` cannot be inflated: {error}") from None
        if not inflater.eof or inflater.unused_data or inflater.unconsumed_tail:
            raise ArchiveError(f"member `{entry.name}` does not inflate to the size it says")
    if len(data) != entry.size_bytes:
        raise ArchiveError(f"member `{entry.name}` does not have the size it says")
    if binascii.crc32(data) != entry.crc:
        raise ArchiveError(f"member `{entry.name}` is damaged: its CRC is wrong")
    return data
