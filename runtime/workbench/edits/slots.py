"""Where the edited sources of one specialization are stored.

    edits/<python file>.<kernel>/<arguments>-<digest>/jacobi.cu          the source that a person edits
                                                      jacobi@tiled.cu    a named variant of it
                                                      .base/jacobi.cu    the generated source of which it is an edit
                                                      .base/slot.json    kernel, Python file and arguments

In: a specialization and an emitted module. Out: `Slot`, the only class that knows names of files. `edits` is next to
the Python file, so both go into version control and into a package together; `ti.init(edits_dir=...)` names another.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ....transpiler.frontend.source.definition import KernelDefinition
from ....transpiler.frontend.source.specialization import Argument, ArrayArgument, Specialization, TemplateArgument
from ....transpiler.ir.snodes import index_components_of
from ....transpiler.ir.types import described
from ....transpiler.lang.describe import ArrayDescription, is_described, safe_attribute
from ....transpiler.options import CompileOptions
from ...config import EDITS_FOLDER, UNNAMED_FILE, plain_name
from ...store.atomic_files import write_text
from ..check.edit_error import EditError

BASE = ".base"
FACTS = "slot.json"
MAX_LABEL = 48
"""Characters of a slot's name before its digest: file systems have limits, and people read it."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The folder of one specialization's edits. It need not exist."""

    folder: Path

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

    def facts(self) -> dict[str, Any]:
        """Return the content of `slot.json`: kernel, file, arguments; {} if there is none."""
        text = read_text(self.folder / BASE / FACTS)
        try:
            found = json.loads(text) if text is not None else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def write_facts(self, facts: dict[str, Any]) -> None:
        """Write `slot.json`."""
        write_text(self.folder / BASE / FACTS, json.dumps(facts, indent=1) + "\n")


def slot_of(specialization: Specialization, edits_dir: str = "") -> Slot:
    """Return the slot of a specialization. edits_dir: the folder of all slots; "": next to the kernel's file.

    It depends on the arguments' types, template values and options, and not on the kernel's source, so that an edit is
    found again after the Python has changed.
    """
    definition = specialization.definition
    label = "-".join(map(_label, specialization.arguments)) or "no_arguments"
    material = [*map(_identity, specialization.arguments), _options(specialization.options)]
    digest = hashlib.sha256("\x00".join(material).encode()).hexdigest()[:6]
    kernel = f"{_stem(definition)}.{plain_name(definition.function.__qualname__.replace('<locals>', 'in'))}"
    return Slot(folder_of(definition, edits_dir) / kernel / f"{label[:MAX_LABEL].rstrip('-_.')}-{digest}")


def folder_of(definition: KernelDefinition, edits_dir: str = "") -> Path:
    """Return the folder that holds the slots of a kernel's file."""
    if edits_dir:
        return Path(edits_dir).expanduser().absolute()
    file = python_file(definition)
    return (file.parent if file is not None else Path.cwd()) / EDITS_FOLDER


def python_file(definition: KernelDefinition) -> Path | None:
    """Return the file that defines a kernel, None if it was typed into a shell or a notebook."""
    path = Path(inspect.getfile(inspect.unwrap(definition.function)))
    return path.absolute() if path.is_file() else None


def without_checks(options: CompileOptions) -> CompileOptions:
    """Return the options of the same program without debug: edits are of that program."""
    return replace(options, debug=False, check_out_of_bound=False, check_overflow=False, verify=False)


def read_text(path: Path) -> str | None:
    """Return a file with plain line ends, None if it does not exist. Raises: EditError if it is not UTF-8 text."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
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


def is_writable(path: Path) -> bool:
    """Return whether a file or folder may be changed; those of an installed package mostly may not."""
    return os.access(path, os.W_OK)


def _literal(name: str) -> str:
    """Return a pattern of `glob` that matches only this name."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _stem(definition: KernelDefinition) -> str:
    file = python_file(definition)
    return plain_name(file.stem) if file is not None else UNNAMED_FILE


def _label(argument: Argument) -> str:
    """Return how a slot's name shows an argument."""
    if isinstance(argument, ArrayArgument):
        flags = f"{'_strided' if argument.strided else ''}{'_clamped' if argument.clamped else ''}"
        return plain_name(f"{described(argument.element)}_{argument.ndim}d{flags}")
    if isinstance(argument, TemplateArgument):
        value: Any = argument.value
        if value is None or isinstance(value, bool | int | float | str):
            return plain_name(str(value))
        return (
            "field" if is_described(value) else plain_name(safe_attribute(value, "__name__", str, type(value).__name__))
        )
    return plain_name(str(argument))


def _identity(argument: Argument) -> str:
    """Return what distinguishes the arguments of slots: types, shapes of fields, numbers; of other objects their class.

    Whatever else a kernel reads of an object is in the generated source, where a change is merged.
    """
    if not isinstance(argument, TemplateArgument):
        return str(argument)
    value: Any = argument.value
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"({', '.join(_identity(TemplateArgument(item)) for item in value)})"
    if not is_described(value):
        return safe_attribute(value, "__qualname__", str, type(value).__qualname__)
    found = value.describe_array()
    place = "" if found.place is None else f" {[tuple(component) for component in index_components_of(found.place)]}"
    return f"{array_text(found)}{found.offset or ''}{place}"


def shown(argument: Argument) -> str:
    """Return an argument's type or number for people; for objects the class, since their `str` has addresses."""
    if not isinstance(argument, TemplateArgument):
        return str(argument)
    value: Any = argument.value
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if not is_described(value):
        return safe_attribute(value, "__name__", str, type(value).__name__)
    return array_text(value.describe_array())


def array_text(array: ArrayDescription) -> str:
    """Return an array's type for people: `field[f32[2], 64x32]`."""
    return f"{array.kind}[{described(array.element)}, {'x'.join(map(str, array.shape)) or '0-D'}]"


def _options(options: CompileOptions) -> str:
    """Return the options that are not the default, so that a new option of shadesmith moves no slot."""
    plain = CompileOptions()
    names = [name for name in CompileOptions.__slots__ if getattr(options, name) != getattr(plain, name)]
    values = (getattr(options, name) for name in names)
    shown = (sorted(value) if isinstance(value, frozenset) else value for value in values)
    return ", ".join(f"{name}={value!r}" for name, value in zip(names, shown))
