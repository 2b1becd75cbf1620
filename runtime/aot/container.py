"""The zip file of a module: equal members give equal bytes; when it is read, it is untrusted input.

In: members by name. Out: bytes; and back, within the limits of docs/archive.md. A member is inflated piece by piece and
never beyond the size in the directory, which may be wrong. Nothing is ever extracted to disk.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...transpiler.errors import TaichiRuntimeError

MAX_MEMBERS = 4096
MAX_MEMBER_BYTES = 64 << 20
MAX_BYTES = 256 << 20
MAX_RATIO = 200
PIECE_BYTES = 1 << 16
"""Inflated at a time."""
MAX_DIRECTORY_BYTES = 4 << 20
SMALL_BYTES = 4096
"""Members up to this size may have any ratio."""
MAX_NAME = 200
NAME = re.compile(r"[a-z0-9_-][a-z0-9_.-]*(?:/[a-z0-9_-][a-z0-9_.-]*)*")
"""No part starts with a dot, so that none is `.` or `..`."""

LOCAL, CENTRAL, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
CENTRAL_HEADER = struct.Struct("<4sHHHHHHIIIHHHHHII")
END_RECORD = struct.Struct("<4sHHHHIIH")
VERSION = 20
MADE_BY = 3 << 8 | VERSION
"""Made on Unix, so that the mode is valid."""
DATE = (1980 - 1980) << 9 | 1 << 5 | 1
MODE = 0o100644 << 16
FILE_TYPES, REGULAR = 0o170000, (0, 0o100000)
OTHER_FLAGS = ~(1 << 11 | 6)
"""All but those for names in UTF-8 and the effort of deflate; files with any of them are refused."""
STORED, DEFLATED = 0, 8


class ArchiveError(TaichiRuntimeError):
    """An archive that is damaged, or not one of shadesmith."""


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
    """The entry of a member in the central directory."""

    name: str
    method: int
    crc: int
    packed_bytes: int
    size_bytes: int
    offset: int


class Container:
    """A zip file whose members are read on demand. Raises: ArchiveError for anything but a plain one.

    at: takes an offset and a size; returns these bytes of the file, fewer at its end. size_bytes: of the file.
    """

    def __init__(self, at: Callable[[int, int], bytes], size_bytes: int) -> None:
        self._at = at
        entries = _directory(at, size_bytes)
        self._starts: dict[str, int] = {}
        end = 0
        for entry in sorted(entries, key=lambda entry: entry.offset):
            start = _start_of_data(at, entry, end, size_bytes)
            self._starts[entry.name] = start
            end = start + entry.packed_bytes
        self._entries = {entry.name: entry for entry in entries}

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the members in the directory [bytes]."""
        return {name: entry.size_bytes for name, entry in self._entries.items()}

    def read(self, name: str, sha256: str | None = None) -> bytes:
        """Return a member, if its digest and size are right.

        Raises: ArchiveError.
        """
        entry = self._entries[name]
        if sha256 is not None and self._digest(entry) != sha256:
            raise ArchiveError(f"member `{name}` is not what the manifest says: its SHA-256 is another")
        return b"".join(self._pieces(entry))

    def _digest(self, entry: _Entry) -> str:
        digest = hashlib.sha256()
        for piece in self._pieces(entry):
            digest.update(piece)
        return digest.hexdigest()

    def _pieces(self, entry: _Entry) -> Iterator[bytes]:
        """Yield an inflated member in pieces, and check it at its end."""
        size = crc = 0
        for piece in self._unpacked(entry):
            size += len(piece)
            if size > entry.size_bytes:
                break
            crc = zlib.crc32(piece, crc)
            yield piece
        if size != entry.size_bytes:
            raise ArchiveError(f"member `{entry.name}` does not have the size it says")
        if crc != entry.crc:
            raise ArchiveError(f"member `{entry.name}` is damaged: its CRC is wrong")

    def _unpacked(self, entry: _Entry) -> Iterator[bytes]:
        start = self._starts[entry.name]
        inflater = zlib.decompressobj(-15) if entry.method == DEFLATED else None
        for offset in range(0, entry.packed_bytes, PIECE_BYTES):
            piece = self._at(start + offset, min(PIECE_BYTES, entry.packed_bytes - offset))
            if inflater is None:
                yield piece
                continue
            try:
                while piece:
                    yield inflater.decompress(piece, PIECE_BYTES)
                    piece = inflater.unconsumed_tail
            except zlib.error as error:
                raise ArchiveError(f"member `{entry.name}` cannot be inflated: {error}") from None
        if inflater is not None and (not inflater.eof or inflater.unused_data):
            raise ArchiveError(f"member `{entry.name}` does not inflate to the size it says")


def container_of(data: bytes) -> Container:
    """Return the container in some bytes. Raises: ArchiveError."""
    return Container(lambda offset, size: data[offset : offset + size], len(data))


def _directory(at: Callable[[int, int], bytes], size_bytes: int) -> list[_Entry]:
    """Read the central directory, which must reach from the last member to the record at the very end."""
    begin = size_bytes - END_RECORD.size
    record = at(begin, END_RECORD.size) if begin >= 0 else b""
    if record[:4] != END:
        raise ArchiveError("it is no zip file, or was cut off: its last record is missing")
    _, disk, first_disk, here, count, size, offset, comment = END_RECORD.unpack(record)
    if disk or first_disk or here != count or comment:
        raise ArchiveError("it is a zip file of several parts, or damaged")
    if count > MAX_MEMBERS or size > MAX_DIRECTORY_BYTES:
        raise ArchiveError(f"it has {count} members; at most {MAX_MEMBERS} are taken")
    if offset + size != begin:
        raise ArchiveError("its directory does not end where the archive does")
    data = at(offset, size)
    entries: list[_Entry] = []
    position = 0
    for _ in range(count):
        entry, position = _entry(data, position)
        entries.append(entry)
    if position != size:
        raise ArchiveError("its directory is longer than its members")
    _check_entries(entries, offset)
    return entries


def _check_entries(entries: Sequence[_Entry], end: int) -> None:
    """Check names and sizes of all members. end: start of the directory."""
    names: set[str] = set()
    for entry in entries:
        if entry.name in names:
            raise ArchiveError(f"there are two members `{entry.name}`")
        names.add(entry.name)
        if entry.offset + LOCAL_HEADER.size + entry.packed_bytes > end:
            raise ArchiveError(f"member `{entry.name}` is after the directory")
    total = sum(entry.size_bytes for entry in entries)
    if total > MAX_BYTES:
        raise ArchiveError(f"its members have {total:,} bytes; at most {MAX_BYTES:,} are taken")


def _entry(data: bytes, position: int) -> tuple[_Entry, int]:
    if position + CENTRAL_HEADER.size > len(data) or data[position : position + 4] != CENTRAL:
        raise ArchiveError("its directory is damaged")
    (_, made_by, _, flags, method, _, _, crc, packed, size, length, extra, comment, disk, _, external, offset) = (
        CENTRAL_HEADER.unpack_from(data, position)
    )
    begin = position + CENTRAL_HEADER.size
    name = _name(data[begin : begin + length], length)
    if flags & OTHER_FLAGS or method not in (STORED, DEFLATED) or disk or comment:
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


def _start_of_data(at: Callable[[int, int], bytes], entry: _Entry, least: int, size_bytes: int) -> int:
    """Return the start of a member's data; the local header must agree with the directory."""
    if entry.offset < least:
        raise ArchiveError(f"member `{entry.name}` overlaps another")
    header = at(entry.offset, LOCAL_HEADER.size)
    if header[:4] != LOCAL or len(header) != LOCAL_HEADER.size:
        raise ArchiveError(f"member `{entry.name}` is not where the directory says")
    _, _, flags, method, _, _, crc, packed, size, length, extra = LOCAL_HEADER.unpack(header)
    begin = entry.offset + LOCAL_HEADER.size
    header_facts = (method, crc, packed, size, at(begin, length))
    if flags & OTHER_FLAGS or header_facts != (
        entry.method, entry.crc, entry.packed_bytes, entry.size_bytes, entry.name.encode()
    ):  # fmt: skip
        raise ArchiveError(f"member `{entry.name}`: its header and the directory disagree")
    begin += int(length + extra)
    if begin + entry.packed_bytes > size_bytes:
        raise ArchiveError(f"member `{entry.name}` was cut off")
    return begin
