"""The generated source that an edit was made from, as it would be generated now: the driver is not in the edit.

A generated source may depend on the device: an atomic operation that it lacks, a fault of its driver that the source
avoids. An edit is of the source for one device, which it names by what differs from the portable capabilities. It is
stale only if the Python, or the compiler's version, gives another source for that same device.

In: a specialization and its module for the present device. Out: `Bases`; the line `@device` of an edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ....transpiler.frontend.source.specialization import Specialization
from ....transpiler.options import Capabilities
from ...cache.compiler import compile_source
from ...devices.capabilities import portable
from ..check.edit_error import EditError
from .header import base_digest
from .merge import same_source

FAULTS = ("volatile_vectors", "loop_iteration_limit", "branch_depth_limit")
"""Capabilities that describe faults of a driver: a source without what avoids them may compute wrong numbers there."""
APART = ("target", "extra")
"""Members that no emitted source depends on, for one target."""


class Bases:
    """The sources generated now for a kernel, by device. module: for the present one."""

    def __init__(self, specialization: Specialization, module: BackendModule) -> None:
        self.specialization, self.module = specialization, module
        self._found: dict[str, BackendModule | None] = {}

    def source(self, name: str, device: str) -> str | None:
        """Return the source of one file for the device of an edit, None if none is generated for it.

        device: as in the edit. Raises: EditError if it describes none.
        """
        if device not in self._found:
            capabilities = capabilities_of(device, portable(self.module.target))
            self._found[device] = _generated(self.specialization, capabilities)
        module = self._found[device]
        return None if module is None else source_of(module, name)

    def base(self, name: str, device: str, digest: str) -> str | None:
        """Return the generated source that has this digest, for the present device or that of the edit."""
        here = source_of(self.module, name)
        if here is not None and base_digest(here) == digest:
            return here
        there = self.source(name, device)
        return there if there is not None and base_digest(there) == digest else None

    def avoids_faults(self, device: str) -> bool:
        """Return whether a source for this device avoids all faults of the present one."""
        there, here = capabilities_of(device, portable(self.module.target)), self.specialization.capabilities
        clean = portable(self.module.target)
        return all(getattr(here, name) in (getattr(there, name), getattr(clean, name)) for name in FAULTS)


def source_of(module: BackendModule, name: str) -> str | None:
    """Return the source of a file of a module, None if it has no such file."""
    return next((file.text for file in module.files if file.name == name), None)


def device_of(specialization: Specialization, module: BackendModule) -> str:
    """Return what a source depends on of its device, "" if every device is assumed to have it.

    The kernel is compiled once, and again for each capability if the source depends on some.
    """
    clean, rest = portable(module.target), specialization.capabilities
    if _is_same(_generated(specialization, clean), module):
        return ""
    for name in (member.name for member in fields(Capabilities) if member.name not in APART):
        trial = replace(rest, **{name: getattr(clean, name)})
        if trial != rest and _is_same(_generated(specialization, trial), module):
            rest = trial
    return "; ".join(f"{name} = {_shown(value)}" for name, value in _differences(rest, clean))


def capabilities_of(device: str, clean: Capabilities) -> Capabilities:
    """Return the capabilities that the line of an edit describes. Raises: EditError if it describes none."""
    changed: dict[str, Any] = {}
    for part in filter(None, device.split("; ")):
        name, _, text = part.partition(" = ")
        if name in APART or name not in Capabilities.__slots__:
            raise EditError(f"`// @device {part}` names no capability", "restore the line, or start the edit again")
        changed[name] = _value(part, text, getattr(clean, name))
    return replace(clean, **changed)


def _value(part: str, text: str, like: Any) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = ...
    if isinstance(like, frozenset) and isinstance(value, list) and _are_plain(value):
        return frozenset(value)
    if not isinstance(like, frozenset) and (value is None or isinstance(value, bool | int)):
        return value
    raise EditError(f"`// @device {part}` has no value of a capability", "restore the line, or start the edit again")


def _are_plain(items: list[Any]) -> bool:
    return all(isinstance(part, str | int) for item in items for part in (item if isinstance(item, tuple) else (item,)))


def _shown(value: Any) -> str:
    return repr(sorted(value)) if isinstance(value, frozenset) else repr(value)


def _differences(one: Capabilities, other: Capabilities) -> Iterator[tuple[str, Any]]:
    for member in fields(Capabilities):
        value = getattr(one, member.name)
        if member.name not in APART and value != getattr(other, member.name):
            yield member.name, value


def _generated(specialization: Specialization, capabilities: Capabilities) -> BackendModule | None:
    """Return the module for other capabilities, None if the kernel cannot be compiled for them."""
    try:
        return compile_source(replace(specialization, capabilities=capabilities)).module
    except (TaichiCompilationError, TaichiRuntimeError):
        return None


def _is_same(one: BackendModule | None, other: BackendModule) -> bool:
    if one is None or [file.name for file in one.files] != [file.name for file in other.files]:
        return False
    return all(same_source(a.text, b.text) for a, b in zip(one.files, other.files, strict=True))
