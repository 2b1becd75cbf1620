"""Where the edited sources of one specialization are stored.

    edits/<python file>.<kernel>/<arguments>-<digest>/jacobi.cu          the source that a person edits
                                                      jacobi@tiled.cu    a named variant of it
                                                      .base/jacobi.cu    the generated source of which it is an edit
                                                      .base/slot.json    kernel, Python file and arguments

In: a specialization and an emitted module. Out: `Slot`, the only class that knows names of files. `edits` is next to
the Python file, so both go into version control and into a package together; `ti.init(edits_dir=...)` names another.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....transpiler.frontend.source.definition import KernelDefinition
from ....transpiler.frontend.source.specialization import Specialization
from ...config import EDITS_FOLDER, UNNAMED_FILE, plain_name
from ...devices.target_tools import source_tools
from ...session.program_file import program_file, stem_of
from ...store.atomic_files import write_text
from ...store.folders import ROOT, check_mode
from ..check.edit_error import EditError
from .header import header_of
from .identity import DIGITS, argument_digest, label_of, value_digest, values_of

BASE = ".base"
FACTS = "slot.json"
MAX_BYTES = 1 << 25
"""Size limit of a file in a slot; sources have kilobytes."""
SAVING_SECONDS, SAVING_TRIES = 0.2, 10
"""How long a file that has just been emptied may stay so while it is saved, and how often it is read then."""
OTHER_NAME = "name it otherwise, such as `mine`"
IR_SUFFIX = ".ssa"
"""Of the final IR as text; `.ir` is the file of a module of the interpreter."""
SUFFIXES = frozenset(tools.suffix for tools in source_tools()) | {IR_SUFFIX}
"""Of the sources that people edit."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The folder of one specialization's edits. It need not exist."""

    folder: Path

    @property
    def awaited(self) -> tuple[Path, ...]:
        """What changes when a slot that does not exist is made."""
        return self.folder, self.folder.parent

    def path(self, name: str, variant: str = "") -> Path:
        """Return the path of the edit of the module's file `name`. variant: of a named one, without `@`."""
        if not variant:
            return self.folder / name
        stem, dot, suffix = name.rpartition(".")
        return self.folder / f"{stem}@{variant}{dot}{suffix}"

    def base(self, name: str, variant: str = "") -> Path:
        """Return the path of the generated source of which a file is an edit."""
        return self.folder / BASE / self.path(name, variant).name

    def variants(self, names: tuple[str, ...]) -> list[str]:
        """Return the named variants that have a source for one of the module's files, in alphabetical order."""
        found = set()
        for name in names:
            stem, dot, suffix = name.rpartition(".")
            for path in self.folder.glob(f"{_literal(stem)}@*{dot}{suffix}"):
                found.add(path.name.removeprefix(f"{stem}@").removesuffix(f"{dot}{suffix}"))
        return sorted(found)

    def sources(self) -> Iterator[Path]:
        """Yield the sources in the slot, in order."""
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if not path.name.startswith(".") and path.suffix in SUFFIXES and path.is_file():
                yield path

    def differences(self, values: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
        """Return the values that an edit in the slot was made for and that are others now: (name, then, now)."""
        now = dict(values)
        for path in self.sources():
            try:
                recorded = header_of(read_text(path) or "").values
            except EditError:
                continue
            return [(name, value, now[name]) for name, value in recorded if now.get(name, value) != value]
        return []

    def check(self) -> None:
        """Check that this is a folder in which only those who can change the program can have written.

        What is here is executed. Raises: EditError.
        """
        if not self.folder.is_dir():
            hint = "delete it, or restore the folder with the edit"
            raise EditError(f"{self.folder}:1: the folder of an edit is a file, or a link to nothing", hint)
        if sys.platform == "win32":  # access lists protect folders of the user
            return
        slots = self.folder.parent.parent
        for path in (slots, self.folder.parent, self.folder, *self.sources()):
            try:
                status = path.stat()
                if status.st_uid not in (os.geteuid(), ROOT, slots.parent.stat().st_uid):
                    raise OSError(0, "it belongs to another user")
                check_mode(status)
            except FileNotFoundError:
                continue
            except OSError as error:
                hint = f"`chmod go-w {path}`, once its content is as you want it"
                raise EditError(f"{path}:1: edits here are not used, since {error.strerror}", hint) from None

    def facts(self) -> dict[str, Any]:
        """Return the content of `slot.json`: kernel, file, arguments; {} if there is none."""
        text = read_text(self.folder / BASE / FACTS)
        try:
            found = json.loads(text) if text is not None else {}
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def write_facts(self, facts: dict[str, Any]) -> None:
        """Write `slot.json`."""
        write_text(self.folder / BASE / FACTS, json.dumps(facts, indent=1) + "\n")


def slot_of(specialization: Specialization, edits_dir: str = "", may_be_new: bool = False) -> Slot:
    """Return the slot of a specialization. edits_dir: the folder of all slots; "": next to the kernel's file.

    It depends on the arguments' types, template values, options, and on the values that the kernel reads of its objects
    and enclosing functions, and not on the kernel's source. If the Python reads other values since an edit was made,
    its slot has another name than a new one would have; it is found by the values that it records.

    may_be_new: something will be written there if it does not exist; without it the values of a kernel that has no
    slots are not asked for, since the frontend runs for them.
    """
    kernel = kernel_folder(specialization, edits_dir)
    name = f"{label_of(specialization)}-{argument_digest(specialization)}"
    if not may_be_new and not kernel.is_dir():
        return Slot(kernel / name)
    exact = exact_slot(specialization, edits_dir)
    if exact.folder.is_dir() or not kernel.is_dir():
        return exact
    values = values_of(specialization)
    return next((slot for slot in _related(kernel, name) if not slot.differences(values)), exact)


def exact_slot(specialization: Specialization, edits_dir: str = "") -> Slot:
    """Return the slot that a new edit of a specialization gets."""
    parts = (label_of(specialization), argument_digest(specialization), value_digest(specialization))
    return Slot(kernel_folder(specialization, edits_dir) / "-".join(filter(None, parts)))


def kernel_folder(specialization: Specialization, edits_dir: str = "") -> Path:
    """Return the folder that holds the slots of a kernel."""
    definition = specialization.definition
    name = plain_name(definition.qualname.replace("<locals>", "in"))
    return folder_of(definition, edits_dir) / f"{_stem(definition)}.{name}"


def _related(kernel: Path, name: str) -> list[Slot]:
    """Return the slots for the same arguments, whatever values the kernel read of them when they were made."""
    pattern = re.compile(rf"{re.escape(name)}(-[0-9a-f]{{{DIGITS}}})?")
    return [Slot(kernel / found) for found in sorted(os.listdir(kernel)) if pattern.fullmatch(found)]


def folder_of(definition: KernelDefinition, edits_dir: str = "") -> Path:
    """Return the folder that holds the slots of a kernel's file."""
    if edits_dir:
        return Path(edits_dir).expanduser().absolute()
    file = python_file(definition)
    return (file.parent if file is not None else Path.cwd()) / EDITS_FOLDER


def python_file(definition: KernelDefinition) -> Path | None:
    """Return the Python file or notebook that defines a kernel, None if it was typed into a shell.

    All shells in a folder share their slots, so unnamed edits are not for them.
    """
    function = inspect.unwrap(definition.function)
    found = program_file(function.__code__.co_filename, function.__globals__)
    return Path(found) if found else None


def read_text(path: Path) -> str | None:
    """Return a file with plain line ends, None if it does not exist.

    Raises: EditError for what is there and is no file of UTF-8 text, such as a folder or a link to nothing.
    """
    return source_text(path) if os.path.lexists(path) else None


def source_text(path: Path) -> str:
    """Return a file with plain line ends. Raises: EditError if it is none of UTF-8 text."""
    try:
        data = _saved_content(path)
    except FileNotFoundError:
        hint = "restore its target, or delete the link"
        raise EditError(f"{path}:1: the edited source is a link to nothing", hint) from None
    except IsADirectoryError:
        raise EditError(f"{path}:1: the edited source is a folder", "replace it by a file, or delete it") from None
    except OSError as error:
        raise EditError(f"{path}:1: the edited source cannot be read: {error.strerror}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise EditError(f"{path}:{line}: byte {data[error.start]:#04x} is not UTF-8", "save it as UTF-8") from None
    if "\x00" in text:
        line = text[: text.index("\x00")].count("\n") + 1
        raise EditError(f"{path}:{line}: the source contains a NUL character", "remove it")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _saved_content(path: Path) -> bytes:
    """Return the content of a file; an editor that empties it before it writes is waited for."""
    data = _content(path)
    for _ in range(SAVING_TRIES):
        if data or abs(time.time() - path.stat().st_mtime) > SAVING_SECONDS:
            break
        time.sleep(SAVING_SECONDS / SAVING_TRIES)
        data = _content(path)
    return data


def _content(path: Path) -> bytes:
    """Return the content of a plain file; a pipe or device is not waited for. Raises: OSError; EditError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise EditError(f"{path}:1: the edited source is no plain file", "replace it by one")
        if status.st_size > MAX_BYTES:
            raise EditError(f"{path}:1: the file has {status.st_size} bytes, more than any source", "delete it")
        return file.read(MAX_BYTES)


def is_writable(path: Path) -> bool:
    """Return whether a file or folder may be changed; those of an installed package mostly may not."""
    return os.access(path, os.W_OK)


def _literal(name: str) -> str:
    """Return a pattern of `glob` that matches only this name."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _stem(definition: KernelDefinition) -> str:
    file = python_file(definition)
    return plain_name(stem_of(str(file))) if file is not None else UNNAMED_FILE
