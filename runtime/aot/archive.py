"""An archive as data: opened, checked in every part, and read member by member. Nothing in it is run.

In: a path of a `.tcm` file or of a folder that `save` wrote, or bytes. Out: `Archive`. Its manifest has been read
strictly, every member has the digest that the manifest names, and shaders have been checked as far as that can be done
without a device. What is wrong is an ArchiveError that names the file and the place.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Protocol

from ..devices.cuda.cubin import CubinError, read_cubin
from ..devices.target_tools import part_of
from .archive_data import Archive, Kernel
from .archive_tools import ArchiveTools
from .container import MAX_BYTES, MAX_DIRECTORY_BYTES, MAX_MEMBERS, ArchiveError, Container, container_of
from .manifest import FOLDER, MANIFEST
from .read_manifest import MAX_MANIFEST_BYTES, StoredKernel, read_manifest

TAICHI_METADATA = "metadata.json"
MAX_FILE_BYTES = MAX_BYTES + MAX_DIRECTORY_BYTES
SHARED_OBJECTS = (b"\x7fELF", b"\xcf\xfa\xed\xfe")
"""First bytes of machine code: ELF, and Mach-O of 64 bit."""


class Members(Protocol):
    """A source of the members of an archive."""

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all members [bytes]."""

    def read(self, name: str, sha256: str | None = None) -> bytes:
        """Return a member, whose digest is checked. Raises: ArchiveError."""


def open_archive(source: str | os.PathLike[str] | bytes) -> Archive:
    """Read and check an archive. Raises: ArchiveError for one that is damaged; OSError for one that cannot be read."""
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        return _named("the archive", lambda: _read(container_of(data), "the archive"))
    path = Path(source)
    title = f"{path}"
    if path.is_dir():
        return _named(title, lambda: _read(_Folder(path), title))
    with _open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size

        def at(offset: int, count: int) -> bytes:
            file.seek(offset)
            return file.read(count)

        if size > MAX_FILE_BYTES:
            raise ArchiveError(f"{title}: it has {size:,} bytes; at most {MAX_FILE_BYTES:,} are taken")
        return _named(title, lambda: _read(Container(at, size), title))


def _open_plain(path: Path) -> BinaryIO:
    """Open a plain file; a pipe or a device, which could block or never end, is refused.

    Raises: ArchiveError; OSError.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError as error:  # a NUL in the path
        raise ArchiveError(f"{str(path)!r} is no path: {error}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ArchiveError(f"{path} is no plain file", "name an archive or a folder that `ti.aot.Module` wrote")
    return os.fdopen(descriptor, "rb")


def _named(title: str, read: Callable[[], Archive]) -> Archive:
    try:
        return read()
    except ArchiveError as error:
        raise ArchiveError(f"{title} cannot be loaded: {error.message}", error.hint) from None


def _read(members: Members, title: str) -> Archive:
    sizes = members.sizes()
    if MANIFEST not in sizes and TAICHI_METADATA in [*sizes, *getattr(members, "others", ())]:
        hint = "build it again from the Python program: `ti.aot.Module` of shadesmith, or `shadesmith build`"
        raise ArchiveError("it is a module of Taichi, whose shaders take their arguments otherwise", hint)
    if MANIFEST not in sizes:
        raise ArchiveError(f"there is no {MANIFEST} in it, so it is no module of shadesmith")
    if sizes[MANIFEST] > MAX_MANIFEST_BYTES:
        raise ArchiveError(f"{MANIFEST} has {sizes[MANIFEST]:,} bytes; at most {MAX_MANIFEST_BYTES:,} are taken")
    manifest = read_manifest(members.read(MANIFEST), sizes)
    data = {name: members.read(name, sha256) for name, (_, sha256) in manifest.members.items()}
    kernels = {name: _kernel(stored, data) for name, stored in manifest.kernels.items()}
    part_of(manifest.target, ArchiveTools).check(manifest, kernels)
    return Archive(title, manifest, kernels)


def _kernel(stored: StoredKernel, members: Mapping[str, bytes]) -> Kernel:
    files = []
    for file, place in zip(stored.module.files, stored.files, strict=True):
        try:
            files.append(replace(file, text=members[place.source].decode("utf-8")))
        except UnicodeDecodeError:
            raise ArchiveError(f"member `{place.source}` is no text") from None
    codes = tuple({kind: members[name] for kind, name in place.binaries.items()} for place in stored.files)
    for place in stored.files:
        for kind, name in place.binaries.items():
            _check_code(kind, members[name], f"member `{name}`")
    return Kernel(stored, replace(stored.module, files=tuple(files)), codes)


def _check_code(kind: str, code: bytes, where: str) -> None:
    """Check that machine code is of its kind; a CUDA driver finds errors inside it."""
    if kind == "shared_object" and code[:4] not in SHARED_OBJECTS:
        raise ArchiveError(f"{where} is no shared object")
    if kind == "cubin":
        try:
            read_cubin(code)
        except CubinError as error:
            raise ArchiveError(f"{where} is damaged: {error}") from None
    if kind == "ptx" and (b"\0" in code or b".version" not in code):
        raise ArchiveError(f"{where} is no PTX")


class _Folder:
    """The members of a module that `save` wrote. Links are not followed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[str, int] = {}
        self.others: list[str] = []
        for root, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                path = Path(root, name)
                member = path.relative_to(folder).as_posix()
                if member != MANIFEST and not member.startswith(f"{FOLDER}/"):
                    self.others.append(member)
                    continue  # a file of the user, or for readers of Taichi's modules
                if path.is_symlink() or len(self._sizes) >= MAX_MEMBERS:
                    raise ArchiveError(f"`{path}` is a link, or there are more than {MAX_MEMBERS} files")
                status = path.stat()
                if not stat.S_ISREG(status.st_mode):
                    raise ArchiveError(f"`{path}` is no plain file")
                self._sizes[member] = status.st_size

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files [bytes]."""
        return self._sizes

    def read(self, name: str, sha256: str | None = None) -> bytes:
        """Return a file, whose digest is checked. Raises: ArchiveError."""
        with (self._folder / name).open("rb") as file:
            data = file.read(self._sizes[name] + 1)
        if len(data) != self._sizes[name] or (sha256 is not None and hashlib.sha256(data).hexdigest() != sha256):
            raise ArchiveError(f"`{name}` is not what the manifest says: its SHA-256 is another")
        return data
